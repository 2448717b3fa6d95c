"""`zconform fuzz`: campaigns over codecs, and what to do with what they find."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import click

from zenoh_conformance.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import CannotGoOn, UsageError, unknown
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow
from zenoh_harness.files.places import check_folders
from zenoh_harness.targets.named import checked
from zenoh_harness.targets.reach import Face

UNITS: Final = {"s": 1, "m": 60, "h": 3600}
OUT: Final = Path("fuzz-out")


def _oracles(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """For a shell: the oracles that begin so."""
    from .oracle import names

    return completing.begun(names(), incomplete)


@click.group("fuzz")
def command() -> None:
    """Look for the inputs that nobody thought of.

    \b
    Example:
      zconform fuzz codec decode --time 20s
    """


def targets_option(function: Any) -> Any:
    """`--target`, as every command here takes it."""
    return click.option("--target", "targets", multiple=True, metavar="TARGET", shell_complete=completing.targets,
                        help="A codec: lib:PATH, lib:zenoh-codec@VERSION, stdio:COMMAND.")(function)  # fmt: skip


@command.command("codec")
@click.argument("oracle", shell_complete=_oracles)
@targets_option
@click.option("--time", "duration", default="20s", show_default=True, help="How long: 20s, 5m, 1h.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 64), help="Workers on one corpus.")
@click.option("--seed", default=1, show_default=True, help="The engine's seed.")
@click.option("--layer", "layers", multiple=True, help="Only inputs of this layer; all unless told.")
@click.option("--mutators", type=click.Choice(("structure", "bytes")), default="structure", show_default=True,
              help="Change messages by their segments, or bytes as the engine does.")  # fmt: skip
@click.option("--corpus", "corpora", multiple=True, type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="A folder of further inputs to begin with.")  # fmt: skip
@click.option("--no-seeds", is_flag=True, help="Begin from nothing instead of the golden vectors.")
@click.option("--no-merge", is_flag=True, help="Leave the corpus as it grew.")
@click.option(
    "--on",
    "engine",
    metavar="URL",
    help="Spark: local[N], spark://HOST:PORT or sc://HOST:PORT; --jobs shards at a time.",
)
@click.option(
    "--rounds",
    default=2,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="With --on: how often the shards share.",
)
@click.option("--no-behaviour", is_flag=True, help="Do not count behaviours as coverage.")
@click.option("--out", default=OUT, show_default=True, type=click.Path(path_type=Path, file_okay=False),
              help="A folder for each oracle goes here.")  # fmt: skip
@shell_options()
def codec(shell: Shell, oracle: str, targets: tuple[str, ...], duration: str, layers: tuple[str, ...], mutators: str,
          no_seeds: bool, no_merge: bool, no_behaviour: bool, engine: str | None, rounds: int, **options: Any) -> int:  # fmt: skip
    """Fuzz codecs against ORACLE, a promise that every input must keep; go on after a finding. Exit 1 when there is one.

    \b
    Oracles: decode, roundtrip, differential, keyexpr, explain, files, laws
    Example:
      zconform fuzz codec differential --target lib:./mycodec.so --time 10m --jobs 2
    """
    from . import inputs
    from .campaign import Campaign, Order
    from .launcher import check_atheris
    from .oracle import kind_of

    if strange := [layer for layer in layers if layer not in inputs.LAYERS]:
        raise unknown("layer", strange[0], inputs.LAYERS, step="fuzz codec")
    kind, seconds = kind_of(oracle), seconds_of(duration)
    check_folders(options["out"])
    _check(oracle, targets)
    check_atheris()
    versions = _versions(shell, targets, coverage=True)
    order = Order(oracle=oracle, targets=targets, seconds=seconds, layers=layers, folder=options.pop("out"),
                  structure=mutators == "structure", with_seeds=not no_seeds, merge=not no_merge,
                  behaviour=not no_behaviour, **options)  # fmt: skip
    shell.note(f"{oracle}: {kind.promise}; {order.seconds:g} s, into {order.folder / oracle}")
    if engine is None:
        outcome = Campaign(order, versions, _shower(shell)).run()
    else:
        from . import on_spark

        with on_spark.engine(engine) as spark:
            outcome = on_spark.run(spark, order, versions, rounds=rounds, show=_shower(shell))
    _tell(shell, order.folder / oracle, outcome)
    return int(Exit.NOT_CONFORMING if outcome.findings else Exit.CONFORMING if outcome.inputs else Exit.NOTHING_JUDGED)


def _check(oracle: str, targets: Sequence[str]) -> None:
    """Raise UsageError for an oracle or a codec that there is not; nothing is built or started."""
    from .oracle import kind_of

    if kind_of(oracle).wants_targets and not any(text != "reference" for text in targets):
        raise UsageError(f"the oracle {oracle} compares codecs, and there is only ours", step="fuzz",
                         hint="--target lib:zenoh-codec@1.10.2, or lib: and stdio: with a codec of yours")  # fmt: skip
    for text in targets:
        if Face.CODEC not in checked(text).faces:
            raise UsageError(
                f"{text} is no codec", step="--target", hint="lib:PATH, lib:zenoh-codec@VERSION, stdio:COMMAND"
            )


def _versions(shell: Shell, targets: Sequence[str], *, coverage: bool) -> dict[str, str]:
    """Who takes part; whatever cannot be had is said now, and what must be built is built."""
    from .launcher import environment, preload
    from .targets import identities, library_of

    for text in targets:
        shell.detail(f"looking at {text}")
        library_of(text, coverage=coverage)
    runtime = {"LD_PRELOAD": " ".join(map(str, preload(structure=False)))} if targets and _has_atheris() else {}
    return {"ours": _ours(), **identities(targets, environment() | runtime)}


def _has_atheris() -> bool:
    import importlib.util

    return importlib.util.find_spec("atheris") is not None


def _ours() -> str:
    try:
        return version("zenoh-conformance")
    except PackageNotFoundError:
        return "unknown"


def _shower(shell: Shell) -> Any:
    watched = sys.stderr.isatty() and not shell.quiet

    def show(outcome: Any) -> None:
        if watched:
            line = f"{outcome.inputs:>9} inputs  {outcome.rate:>7.0f}/s  {outcome.edges} edges  {len(outcome.findings)} findings"
            click.echo(f"\r{line[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)

    return show


def _tell(shell: Shell, folder: Path, outcome: Any) -> None:
    from .coverage import report_of
    from .telling import lines_of

    if shell.as_json:
        shell.print_json(outcome.to_json() | {"folder": str(folder)})
        return
    if sys.stderr.isatty():
        click.echo("", err=True)
    shell.out.print(f"{outcome.inputs} inputs in {outcome.seconds:.0f} s ({outcome.rate:.0f} a second), {outcome.edges} edges, "
                    f"corpus of {outcome.corpus}, {len(outcome.findings)} findings ({len(outcome.fresh)} new)")  # fmt: skip
    if outcome.tolerated:
        shell.out.print(
            "known differences: " + ", ".join(f"{name} {count}" for name, count in outcome.tolerated.most_common())
        )
    for row in sorted(outcome.findings.values(), key=lambda one: one.signature):
        for line in lines_of(_with_command(row, folder)):
            shell.out.print(line)
    if shell.verbose:
        for name, used in sorted(outcome.used.items(), key=lambda one: -outcome.brought[one[0]]):
            shell.out.print(f"    {name:<10} brought something new {outcome.brought[name]} times of {used}")
        for line in report_of(folder).lines():
            shell.out.print(line)


def _with_command(row: FindingRow, folder: Path) -> FindingRow:
    from .telling import command as again

    return row if row.embargo else replace(row, repeat=again(row, str(folder / campaigns.FINDINGS / row.id)))


def seconds_of(text: str) -> float:
    """`20s`, `5m`, `1h` in seconds. Raises UsageError for anything else."""
    found = re.fullmatch(r"(\d+)([smh]?)", text)
    if not found or not int(found[1]):
        raise UsageError(f"{text!r} is no duration", step="--time", hint="write 20s, 5m or 1h")
    return float(int(found[1]) * UNITS[found[2] or "s"])


# --- one input --------------------------------------------------------------------------------------------------------


def input_of(text: str) -> tuple[bytes, FindingRow | None]:
    """The input in a finding's folder, in a file, or in hexadecimal; with the finding where it is one.  UsageError."""
    path = Path(text)
    if path.is_dir() and (path / campaigns.FINDING).exists():
        row = campaigns.read_finding(path)
        return bytes.fromhex(row.input), row
    if path.is_file():
        return path.read_bytes(), None
    try:
        return bytes.fromhex(text), None
    except ValueError as why:
        raise UsageError(f"{text!r} is neither a finding, nor a file, nor hexadecimal", step="input",
                         hint="as in fuzz-out/decode/findings/0123456789ab, or 000300") from why  # fmt: skip


@command.command("replay")
@click.argument("oracle", shell_complete=_oracles)
@click.argument("inputs", nargs=-1, required=True)
@targets_option
@shell_options()
def replay(shell: Shell, oracle: str, inputs: tuple[str, ...], targets: tuple[str, ...]) -> int:
    """Judge INPUTS again, each check in full: folders of findings, files, or hexadecimal. Exit 1 when a promise is broken.

    \b
    Example:
      zconform fuzz replay decode fuzz-out/decode/findings/0123456789ab
    """
    from .judging import Judge
    from .telling import explained, lines_of

    read = [input_of(text) for text in inputs]
    _check(oracle, targets)
    versions = _versions(shell, targets, coverage=False)
    with Judge(oracle, targets, versions) as judge:
        found = [explained(row) for data, _ in read for row in judge(data)]
    if shell.as_json:
        shell.print_json([row.to_json() for row in found])
    else:
        shell.out.print(f"{len(read)} inputs, {len(found)} findings")
        for row in found:
            for line in lines_of(replace(row, embargo=False)):
                shell.out.print(line)
    return int(Exit.NOT_CONFORMING if found else Exit.CONFORMING)


@command.command("minimise")
@click.argument("places", metavar="FINDING...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@shell_options()
def minimise(shell: Shell, places: tuple[Path, ...]) -> None:
    """Make the input of each FINDING (a folder under findings/) as small as it gets while it is the same finding.

    \b
    Example:
      zconform fuzz minimise fuzz-out/differential/findings/*
    """
    from .reducing import reduced
    from .telling import lines_of

    rows = []
    for place in places:
        row = reduced(place)
        rows.append(row)
        for line in [] if shell.as_json else lines_of(row):
            shell.out.print(line)
    if shell.as_json:
        shell.print_json([row.to_json() for row in rows if not row.embargo])


@command.command("promote")
@click.argument("place", metavar="FINDING", type=click.Path(exists=True, path_type=Path))
@click.option("--as", "kind", required=True, type=click.Choice(("vector", "test", "deviation", "fixed")),
              help="What it becomes; `fixed` only marks it.")  # fmt: skip
@click.option("--into", type=click.Path(path_type=Path), help="The file to write; printed when left out.")
@shell_options()
def promote(shell: Shell, place: Path, kind: str, into: Path | None) -> None:
    """Make of a FINDING that a person has looked at a vector, a regression test, or a listed deviation.

    \b
    Example:
      zconform fuzz promote fuzz-out/decode/findings/0123456789ab --as test
    """
    from .promote import promoted

    text = promoted(place, kind)
    if shell.as_json:
        shell.print_json({"kind": kind, "into": str(into) if into else None, "text": text})
    if into is None:
        click.echo("" if shell.as_json else text, nl=False)
        return
    try:
        with into.open("a" if kind == "deviation" else "x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError as why:
        raise UsageError(f"{into} is there already", step="promote", hint="name another file") from why
    except OSError as why:
        raise CannotGoOn(f"cannot write {into}", step="promote", seen=str(why)) from why


@command.command("coverage")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@shell_options()
def coverage(shell: Shell, folder: Path) -> None:
    """Say which messages, flags, extensions and fields the inputs in FOLDER reach, and which they never did.

    \b
    Example:
      zconform fuzz coverage fuzz-out/differential
    """
    from .coverage import report_of

    report = report_of(folder)
    if shell.as_json:
        shell.print_json(report.to_json())
        return
    for line in report.lines():
        shell.out.print(line)


@command.command("merge")
@click.argument("oracle", shell_complete=_oracles)
@click.option("--out", default=OUT, show_default=True, type=click.Path(path_type=Path))
@click.option("--from", "others", multiple=True, type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="A further corpus.")  # fmt: skip
@shell_options()
def merge(shell: Shell, oracle: str, out: Path, others: tuple[Path, ...]) -> None:
    """Make the corpus of ORACLE small again: of inputs that reach the same the smallest stays; take in others.

    \b
    Example:
      zconform fuzz merge decode --from /elsewhere/corpus
    """
    from .campaign import alone
    from .crew import corpus_files
    from .launcher import check_atheris
    from .merging import merged
    from .oracle import made_for_seeds
    from .plan import Plan

    made, folder = made_for_seeds(oracle), out / oracle
    check_folders(folder)
    check_atheris()
    with alone(folder):
        manifest = campaigns.read_manifest(folder) if (folder / campaigns.MANIFEST).exists() else {"targets": []}
        (folder / "corpus").mkdir(exist_ok=True)
        before = len(corpus_files(folder / "corpus"))
        plan = Plan(oracle=oracle, folder=folder / "workers" / "merge", corpus=folder / "corpus", largest=made.largest,
                    targets=tuple(manifest["targets"]), structure=False)  # fmt: skip
        after = merged(plan, folder / "corpus", folder, others)
    if shell.as_json:
        shell.print_json({"before": before, "after": after, "folder": str(folder)})
    else:
        click.echo(f"{before} inputs before, {after} now")
