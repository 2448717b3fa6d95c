"""`zconform vectors confirm`: ask other implementations about each golden vector, and store their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from fnmatch import fnmatchcase
from typing import Final

import click

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import UsageError
from zenoh_harness.foreign.confirm.codec import CodecWitness
from zenoh_harness.foreign.confirm.record import Disagreement, disagreements, idle_rows, keep
from zenoh_harness.foreign.confirm.statement import Statement, Witness, Word
from zenoh_harness.foreign.confirm.wheel import WheelWitness
from zenoh_harness.targets.adapters.stdio import StdioCodec
from zenoh_harness.targets.build import builder
from zenoh_vectors.loader import VectorError, load

RELEASES: Final = ("1.10.2", "1.9.0")
"""The releases that are asked: the baseline, and the one before its extensions."""


@click.command("confirm")
@click.option(
    "--release",
    "releases",
    multiple=True,
    default=RELEASES,
    show_default=True,
    help="Release of zenoh-rust to ask; repeatable.",
)
@click.option("--only", metavar="GLOB", default="*", help="Ask only about the vectors whose id matches.")
@click.option("--live/--no-live", default=True, help="Also ask live nodes of these releases.")
@click.option("--write/--no-write", default=True, help="Store the answers beside the vectors.")
@shell_options()
def command(releases: Sequence[str], only: str, live: bool, write: bool, shell: Shell) -> int:
    """Ask zenoh-rust about each golden vector.

    Asks its codec, and live nodes, and stores the answers: the releases that agree become the vector's `confirmed_by`.

    \b
    Example:  zconform vectors confirm && python -m zenoh_vectors.build
    Exit codes: 0 done, 1 a disagreement is neither an erratum nor explained, 2 usage, 3 zenoh-rust is not available.
    """
    try:
        vectors = [vector for vector in load() if fnmatchcase(vector.id, only)]
    except VectorError as why:
        raise UsageError("the vectors cannot be read", step="confirm", seen=str(why)) from why
    if not vectors:
        raise UsageError(f"no vector {only!r}", step="confirm", hint="zconform vectors list")
    with ExitStack() as stack:
        witnesses = _witnesses(releases, live, shell.note, stack)
        said = {witness.name: list(witness.statements(vectors)) for witness in witnesses}
    if write:
        keep(vectors, said, whole=only == "*")
    found = disagreements(vectors, said)
    return _report(shell, said, found, idle_rows(found, list(said)) if only == "*" else [])


def _witnesses(releases: Sequence[str], live: bool, tell: Callable[[str], None], stack: ExitStack) -> list[Witness]:
    witnesses: list[Witness] = []
    for release in releases:
        made = builder("zenoh-codec").make(release, None, tell)
        codec = CodecWitness(stack.enter_context(StdioCodec([made.what])))
        witnesses += [codec, WheelWitness(codec)] if live else [codec]
    return witnesses


def _report(shell: Shell, said: dict[str, list[Statement]], found: list[Disagreement], idle: list[str]) -> int:
    loose = [one for one in found if not one.explained]
    if shell.as_json:
        counts = {name: _counts(statements) for name, statements in said.items()}
        rows = [{"witness": o.witness, "vector": o.vector, "why": o.why, "explained": o.explained} for o in found]
        shell.print_json({"witnesses": counts, "disagreements": rows, "idle": idle})
    else:
        for name, statements in said.items():
            words = ", ".join(f"{count} {word}" for word, count in _counts(statements).items())
            shell.out.print(f"{name}: {words} ({100 * _counts(statements)['agrees'] / len(statements):.1f} % agree)")
        for one in found if shell.verbose else loose:
            shell.out.print(f"{one.witness} on {one.vector}: {one.why} [{one.explained or 'unexplained'}]")
        for row in idle:
            shell.out.print(f"explains nothing any more: {row}")
    return int(Exit.NOT_CONFORMING if loose or idle else Exit.CONFORMING)


def _counts(statements: Sequence[Statement]) -> dict[str, int]:
    counts = Counter(statement.word for statement in statements)
    return {word.value: counts[word] for word in Word}
