"""`zconform faulty`: the faulty nodes, and the table of what is red on which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import click

from zenoh_conformance.case import all_cases
from zenoh_conformance.law import all_laws
from zenoh_conformance.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, plain, shell_options
from zenoh_harness.errors import unknown
from zenoh_harness.faulty import FaultyNode, all_faulty_nodes
from zenoh_harness.faulty.table import Row, row, runs_in_memory
from zenoh_harness.scripting.convicting import Convicts, Says, convictions, counted


@click.command()
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.faulty)
@click.option("--run", is_flag=True, help="Judge each by every case and law, in memory, and show what is red and why.")
@click.option("--by-check", is_flag=True, help="With --run: a line a check, with the faulty nodes on which it is red.")
@click.option(
    "--scripts",
    "recorded",
    is_flag=True,
    help="Record each red as a script, and say it to the node and to a healthy one.",
)
@shell_options()
def command(shell: Shell, pattern: str, run: bool, by_check: bool, recorded: bool) -> int:
    """The faulty nodes whose name matches: the reference with one fault each, and what catches them.

    \b
    Example:  zconform faulty 'believes-*' --run
    Exit code 1 when one is not caught by what should catch it, or when a check is red on it that it does not explain; with
    --scripts when one accuses the healthy node.
    """
    found = [each for name, each in all_faulty_nodes().items() if fnmatchcase(name, pattern)]
    if not found:
        raise unknown("faulty node", pattern, all_faulty_nodes())
    if recorded:
        return _show_scripts(shell, found)
    if not run and not by_check:
        _list(shell, found)
        return int(Exit.CONFORMING)
    rows = []
    with shell.progress(len(found), "faulty nodes") as advance:
        for each in found:
            rows.append(row(each))
            advance(1, each.name)
    whole = pattern == "*"
    _show(shell, rows, by_check, whole)
    return int(Exit.NOT_CONFORMING if any(map(wrong_with, rows)) or (whole and unfailed(rows)) else Exit.CONFORMING)


def _list(shell: Shell, found: Sequence[FaultyNode]) -> None:
    if shell.as_json:
        shell.print_json(
            [{"name": each.name, "about": each.about, "caught_by": list(each.caught_by)} for each in found]
        )
        return
    for each in found:
        shell.out.print(plain(f"{each.name:38} {', '.join(each.caught_by)}"), soft_wrap=True)


def _show(shell: Shell, rows: Sequence[Row], by_check: bool, whole: bool) -> None:
    if shell.as_json:
        shell.print_json([as_json(each) for each in rows])
        return
    lines = checks(rows, whole) if by_check else [line for each in rows for line in told(each)]
    for line in lines:
        shell.out.print(plain(line), soft_wrap=True)
    bad = sum(bool(wrong_with(each)) for each in rows)
    shell.note(
        f"{len(rows)} faulty nodes, {sum(len(each.red) for each in rows)} reds; {bad} faulty nodes are not as they should be"
    )


def _show_scripts(shell: Shell, found: Sequence[FaultyNode]) -> int:
    """What the scripts of their reds say of them, and of the healthy node; by name those that do not tell them apart."""
    rows: list[Convicts] = []
    with shell.progress(len(found), "faulty nodes") as advance:
        for each in found:
            rows += convictions(each)
            advance(1, each.name)
    if shell.as_json:
        shell.print_json(
            [
                {"node": one.node, "check": one.label, "cause": one.cause, "faulty": one.faulty.value,
                 "healthy": one.healthy.value, "why": one.why}
                for one in rows
            ]
        )  # fmt: skip
    else:
        for one in rows:
            if not one.holds:
                text = f"{one.node}: {one.label}: {one.faulty.value} on it, {one.healthy.value} on the healthy one: {one.why}"
                shell.out.print(plain(text), soft_wrap=True)
        for (bad, good), count in counted(rows).most_common():
            text = f"{count:6} scripts: {bad.value} on the faulty node, {good.value} on the healthy one"
            shell.out.print(text, soft_wrap=True)
    accused = any(one.healthy is Says.RED for one in rows)
    return int(Exit.NOT_CONFORMING if accused else Exit.CONFORMING)


def told(each: Row) -> Iterator[str]:
    """One faulty node: what catches it, what else is red and why, and what is not as it should be."""
    yield f"{each.faulty_node.name}: {' '.join(each.faulty_node.about.split())}"
    for check, red in each.red.items():
        yield f"    {kind(each, check):11} {check}: {explained(each, check) or min(red.causes)}"
    yield from (f"    WRONG       {fault}" for fault in wrong_with(each))


def kind(each: Row, check: str) -> str:
    """What a red is: the one that it is there for, one that it explains, one that never came to its point, or none of them."""
    if check in each.faulty_node.caught_by:
        return "caught by"
    if check in each.unexplained:
        return "unexplained"
    return "also" if explained(each, check) else "not reached"


def explained(each: Row, check: str) -> str:
    """Why a check is red beside those that catch it; empty where the faulty node does not say."""
    if check in each.faulty_node.caught_by:
        return ""
    return next((why for pattern, why in each.faulty_node.also.items() if fnmatchcase(check, pattern)), "")


def wrong_with(each: Row) -> list[str]:
    """What is not as it should be with one faulty node."""
    return [
        *(f"{check} should catch it and does not" for check in each.missed),
        *(f"{check} is red, and it does not say why" for check in each.unexplained),
        *(f"it explains {pattern}, and nothing of that name is red" for pattern in each.stale),
    ]


def checks(rows: Sequence[Row], whole: bool) -> Iterator[str]:
    """A line a check that is red anywhere; of all faulty nodes, also those that are red on none."""
    on: dict[str, list[str]] = defaultdict(list)
    for each in rows:
        for check in each.red:
            on[check].append(each.faulty_node.name)
    yield from (f"{check}: {', '.join(names)}" for check, names in sorted(on.items()))
    yield from (f"{check}: RED ON NONE" for check in (unfailed(rows) if whole else ()))


def unfailed(rows: Iterable[Row]) -> list[str]:
    """Cases that run in memory, and laws, that are red on none of them: no checks."""
    red = {check for each in rows for check in each.red}
    return [
        check
        for check in (*(name for name, case in all_cases().items() if runs_in_memory(case)), *all_laws())
        if check not in red
    ]


def as_json(each: Row) -> dict[str, Any]:
    """One faulty node for a program."""
    reds = [
        {"check": check, "is": kind(each, check), "why": explained(each, check), "causes": sorted(red.causes)}
        for check, red in each.red.items()
    ]
    return {"name": each.faulty_node.name, "about": each.faulty_node.about, "red": reds, "wrong": wrong_with(each)}
