"""`zconform fuzz`: campaigns over codecs, and what to do with what they find."""

from __future__ import annotations

import importlib.util
import pkgutil
import re
import sys
from pathlib import Path

import click

from zenoh_conformance.verdict import Exit
from zenoh_harness.errors import CannotGoOn, UsageError, unknown

from . import oracles
from .campaign import PROGRESS, Outcome, run
from .seeds import decode_seeds, write_corpus

UNITS = {"s": 1, "m": 60, "h": 3600}


@click.group("fuzz")
def command() -> None:
    """Look for the inputs that nobody thought of.

    \b
    Example:
      zconform fuzz codec decode --time 20s
    """


@command.command("codec")
@click.argument("oracle")
@click.option("--time", "duration", default="20s", show_default=True, help="How long: 20s, 5m, 1h.")
@click.option("--seed", default=1, show_default=True, help="The engine's seed.")
@click.option(
    "--out",
    "out",
    default=Path("fuzz-out"),
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Corpus, findings, log.",
)
def codec(oracle: str, duration: str, seed: int, out: Path) -> None:
    """Fuzz our codec against ORACLE, from the golden vectors on. Exit 1 when something is found.

    \b
    Example:
      zconform fuzz codec decode --time 20s --out fuzz-out
    """
    if oracle not in known_oracles():
        raise unknown("oracle", oracle, known_oracles(), step="fuzz codec")
    if importlib.util.find_spec("atheris") is None:
        raise CannotGoOn(
            "atheris is not installed",
            step="fuzz codec",
            hint="install zenoh-conformance[fuzz] (Linux x86-64, Python 3.11 to 3.13)",
        )
    seconds = seconds_of(duration)
    folder = out / oracle
    count = write_corpus(folder / "seeds", decode_seeds())
    click.echo(f"{oracle}: {count} seeds, {seconds} s, into {folder}")
    outcome = run(oracle, folder, seconds=seconds, seed=seed, seeds=[folder / "seeds"], show=_progress)
    _tell(outcome)
    sys.exit(
        Exit.NOT_CONFORMING
        if outcome.findings
        else Exit.CONFORMING
        if outcome.ended == 0 and outcome.inputs
        else Exit.CANNOT_GO_ON
    )


def _progress(line: str) -> None:
    if sys.stderr.isatty() and (found := PROGRESS.match(line)):
        click.echo(f"\r{found[1]:>9} inputs, {found[3]} edges, {found[5] or '?'} a second", nl=False, err=True)


def _tell(outcome: Outcome) -> None:
    click.echo(
        f"{outcome.inputs} inputs, {outcome.coverage} edges, {len(outcome.findings)} findings; log in {outcome.log}"
    )
    for finding in outcome.findings:
        click.echo(f"  {finding}  {outcome.why}")
        click.echo(f"    {finding.read_bytes()[:64].hex()}")
    if outcome.ended and not outcome.findings:
        last = outcome.log.read_text(errors="replace").splitlines()[-5:]
        raise CannotGoOn(
            f"the engine ended with {outcome.ended}", step="fuzz codec", seen=last, hint=f"read {outcome.log}"
        )


def known_oracles() -> list[str]:
    """The names of all oracles."""
    return sorted(module.name for module in pkgutil.iter_modules(oracles.__path__))


def seconds_of(text: str) -> int:
    """`20s`, `5m`, `1h` in seconds. Raises UsageError for anything else."""
    found = re.fullmatch(r"(\d+)([smh]?)", text)
    if not found or not int(found[1]):
        raise UsageError(f"{text!r} is no duration", step="--time", hint="write 20s, 5m or 1h")
    return int(found[1]) * UNITS[found[2] or "s"]
