"""`zconform variants`: the conforming nodes that nothing may be red on, and the table of what is judged on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import click

from zenoh_conformance.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import unknown
from zenoh_harness.variants import Variant, all_variants
from zenoh_harness.variants.table import Came, Result, Row, on_the_reference, row


@click.command()
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.variants)
@click.option(
    "--run", is_flag=True, help="Judge each by every case and law, in memory, and show what is not judged and why."
)
@shell_options()
def command(shell: Shell, pattern: str, run: bool) -> int:
    """The variants whose name matches: the reference with one permitted peculiarity each. Each is a target, variant:NAME.

    \b
    Example:  zconform variants 'answers-*' --run
    Exit code 1 when a check is red on one, or has nothing to judge on it and the variant does not say why.
    """
    found = [each for name, each in all_variants().items() if fnmatchcase(name, pattern)]
    if not found:
        raise unknown("variant", pattern, all_variants())
    if not run:
        _list(shell, found)
        return int(Exit.CONFORMING)
    rows = []
    with shell.progress(len(found), "variants") as advance:
        plain_ones = on_the_reference()
        for each in found:
            rows.append(row(each, plain_ones))
            advance(1, each.name)
    _show(shell, rows)
    return int(Exit.NOT_CONFORMING if any(map(wrong_with, rows)) else Exit.CONFORMING)


def _list(shell: Shell, found: Sequence[Variant]) -> None:
    if shell.as_json:
        shell.print_json([{"name": one.name, "about": one.about, "permitted": one.permitted} for one in found])
        return
    for each in found:
        shell.out.print(plain(f"{each.name:38} {' '.join(each.about.split())}"), soft_wrap=True)


def _show(shell: Shell, rows: Sequence[Row]) -> None:
    if shell.as_json:
        shell.print_json([as_json(each) for each in rows])
        return
    for each in rows:
        for line in told(each):
            shell.out.print(plain(line), soft_wrap=True)
    bad = sum(bool(wrong_with(each)) for each in rows)
    green = sum(len(each.judged.of(Came.GREEN)) for each in rows)
    shell.note(f"{len(rows)} variants, {green} judgements green; {bad} variants are not as they should be")


def told(each: Row) -> Iterator[str]:
    """One variant: how much is green on it, what has nothing to judge and why, and what is not as it should be."""
    yield f"{each.variant.name}: {' '.join(each.variant.about.split())} ({each.variant.permitted})"
    yield f"    {len(each.judged.of(Came.GREEN)):>6} green"
    for (check, why), count in unjudged(each).items():
        yield f"    {count:>6} not judged  {check}: {why}"
    yield from (f"    WRONG  {fault}" for fault in wrong_with(each))


def unjudged(each: Row) -> Counter[tuple[str, str]]:
    """What has nothing to judge: (check, why) to how many of its values."""
    return Counter((one.check, each.reason(one) or one.why) for one in each.idle.values())


def wrong_with(each: Row) -> list[str]:
    """What is not as it should be with one variant."""
    return [
        *(f"{told_short(one)} is red" for one in each.red.values()),
        *(f"{told_short(one)} has nothing to judge, and it does not say why" for one in each.unexplained.values()),
        *(f"it explains {glob}, and everything of that name is judged" for glob in each.stale),
    ]


def told_short(one: Result) -> str:
    """A result in a line."""
    return f"{one.label} ({one.why})"


def as_json(each: Row) -> dict[str, Any]:
    """One variant for a program."""
    idle = [{"check": check, "why": why, "count": count} for (check, why), count in unjudged(each).items()]
    return {
        "name": each.variant.name, "about": each.variant.about, "permitted": each.variant.permitted,
        "green": len(each.judged.of(Came.GREEN)), "not_judged": idle, "wrong": wrong_with(each),
    }  # fmt: skip
