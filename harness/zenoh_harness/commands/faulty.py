"""`zconform faulty`: list the faulty nodes, and the checks that are red on each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Any

import click

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.commands import _completing as completing
from zenoh_harness.console import Shell, shell_options
from zenoh_harness.errors import unknown
from zenoh_harness.faulty import FaultyNode, all_faulty_nodes
from zenoh_harness.faulty.table import Row, row, runs_in_memory
from zenoh_harness.scripting.convicting import Convicts, Says, convictions, counts_of


@click.command()
@click.argument("pattern", metavar="[GLOB]", default="*", shell_complete=completing.faulty)
@click.option(
    "--run", is_flag=True, help="Judge each node by every case and law, in memory; print what is red and why."
)
@click.option(
    "--by-check", is_flag=True, help="With --run: print one line per check, with the nodes on which it is red."
)
@click.option(
    "--scripts",
    "recorded",
    is_flag=True,
    help="Record each deviation as a script; replay it to the node and to the reference.",
)
@shell_options()
def command(shell: Shell, pattern: str, run: bool, by_check: bool, recorded: bool) -> int:
    """List the faulty nodes, or judge them (--run).

    A faulty node is the reference node with one named fault; it shows that a check can fail. Prints each node with the checks
    that must detect its fault.

    \b
    Example:  zconform faulty 'believes-*' --run
    Exit codes: 0 as declared, 1 a fault is not detected, or a check is red and the node does not say why; with --scripts,
    1 a script is red on the reference.
    """
    found = [node for name, node in all_faulty_nodes().items() if fnmatchcase(name, pattern)]
    if not found:
        raise unknown("faulty node", pattern, all_faulty_nodes())
    if recorded:
        return _show_scripts(shell, found)
    if not run and not by_check:
        list_nodes(shell, found)
        return int(Exit.CONFORMING)
    rows = [row(node) for node in shell.steps(found, "faulty nodes", attrgetter("name"))]
    whole = pattern == "*"
    _show(shell, rows, by_check, whole)
    return int(Exit.NOT_CONFORMING if any(map(wrong_with, rows)) or (whole and never_red(rows)) else Exit.CONFORMING)


def list_nodes(shell: Shell, nodes: Sequence[FaultyNode]) -> None:
    """Print each faulty node with the checks that must detect its fault."""
    rows = [{"name": node.name, "about": node.about, "caught_by": list(node.caught_by)} for node in nodes]
    shell.show(rows, (f"{node.name:38} {', '.join(node.caught_by)}" for node in nodes))


def _show(shell: Shell, rows: Sequence[Row], by_check: bool, whole: bool) -> None:
    lines = checks(rows, whole) if by_check else (line for row in rows for line in lines_of(row))
    shell.show([as_json(row) for row in rows], lines)
    reds, bad = sum(len(row.red) for row in rows), sum(bool(wrong_with(row)) for row in rows)
    if not shell.as_json:
        shell.note(f"{len(rows)} faulty nodes, {reds} red checks; {bad} faulty nodes are not as declared")


def _show_scripts(shell: Shell, found: Sequence[FaultyNode]) -> int:
    """Print the scripts that do not tell a faulty node from the reference, and how many do; return the exit code."""
    steps = shell.steps(found, "faulty nodes", attrgetter("name"))
    rows = [each for node in steps for each in convictions(node)]
    shell.show(
        [
            {
                "node": row.node,
                "check": row.label,
                "cause": row.cause,
                "faulty": row.faulty.value,
                "healthy": row.healthy.value,
                "why": row.why,
            }
            for row in rows
        ],
        _script_lines(rows),
    )
    return int(Exit.NOT_CONFORMING if any(row.healthy is Says.RED for row in rows) else Exit.CONFORMING)


def _script_lines(rows: list[Convicts]) -> Iterator[str]:
    for it in rows:
        if not it.holds:
            yield f"{it.node}: {it.label}: {it.faulty.value} on it, {it.healthy.value} on the reference: {it.why}"
    for (bad, good), count in counts_of(rows).most_common():
        yield f"{count:6} scripts: {bad.value} on the faulty node, {good.value} on the reference"


def lines_of(each: Row) -> Iterator[str]:
    """Yield the lines of one faulty node: the checks that detect it, the other red checks and why, and what is wrong."""
    yield f"{each.faulty_node.name}: {' '.join(each.faulty_node.about.split())}"
    for check, red in each.red.items():
        yield f"    {kind(each, check):11} {check}: {reason(each, check) or min(red.causes)}"
    yield from (f"    WRONG       {fault}" for fault in wrong_with(each))


def kind(each: Row, check: str) -> str:
    """Return why a check is red: it detects the fault, the node explains it, its point was not reached, or none of these."""
    if check in each.faulty_node.caught_by:
        return "caught by"
    if check in each.unexplained:
        return "unexplained"
    return "also" if reason(each, check) else "not reached"


def reason(each: Row, check: str) -> str:
    """Return the node's explanation of a red check that is not there to detect the fault, or an empty string."""
    if check in each.faulty_node.caught_by:
        return ""
    return next((why for pattern, why in each.faulty_node.also.items() if fnmatchcase(check, pattern)), "")


def wrong_with(each: Row) -> list[str]:
    """Return what is not as the faulty node declares."""
    return [
        *(f"{check} must detect the fault and is not red" for check in each.missed),
        *(f"{check} is red, and the node does not say why" for check in each.unexplained),
        *(f"the node explains {pattern}, and no such check is red" for pattern in each.stale),
    ]


def checks(rows: Sequence[Row], whole: bool) -> Iterator[str]:
    """Yield one line per red check with its nodes; if all nodes were judged, also the checks that are red on none."""
    on: dict[str, list[str]] = defaultdict(list)
    for each in rows:
        for check in each.red:
            on[check].append(each.faulty_node.name)
    yield from (f"{check}: {', '.join(names)}" for check, names in sorted(on.items()))
    yield from (f"{check}: RED ON NONE" for check in (never_red(rows) if whole else ()))


def never_red(rows: Iterable[Row]) -> list[str]:
    """Return the laws, and the cases that run in memory, that are red on no faulty node: they have never failed."""
    red = {check for each in rows for check in each.red}
    in_memory = (name for name, case in all_cases().items() if runs_in_memory(case))
    return [check for check in (*in_memory, *all_laws()) if check not in red]


def as_json(each: Row) -> dict[str, Any]:
    """Return one faulty node as the value that `--format json` prints."""
    reds = [
        {"check": check, "is": kind(each, check), "why": reason(each, check), "causes": sorted(red.causes)}
        for check, red in each.red.items()
    ]
    return {"name": each.faulty_node.name, "about": each.faulty_node.about, "red": reds, "wrong": wrong_with(each)}
