"""The faults of readers in a whole node in memory, where vectors do not show them: which checks do."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from mutation import in_nodes, in_writing
from mutation.engine import Mutant, compiled
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.run.vectors.rows import INITIATOR, KINDS, ROUTER, judged_on

NODES = {Side.RESPONDER: ROUTER, Side.INITIATOR: INITIATOR}
"""The kind of node whose cases are tried."""

ENOUGH = 2
"""Checks that show a fault, after which no other is tried."""


def every_fault(role: Side) -> list[Mutant]:
    """The faults in rows that vectors judge on no kind of node of that role."""
    by_vectors = frozenset().union(*(frozenset(judged_on()[kind]) for kind in KINDS[role]))
    here = (one for one in in_nodes.every_fault() if one.requirement and one.requirement not in by_vectors)
    return [one for one in here if not one.requirement.startswith(in_nodes.UNHEARD)]


def checks_that_show(fault: Mutant, role: Side, among: frozenset[str] = frozenset()) -> list[str]:
    """The checks that are red on a node with the fault, of cases in which the harness writes the row.

    `among`: the cases that are run; all where empty.
    """
    node, cases = in_nodes.with_fault(in_nodes.BASES[NODES[role]], compiled(fault)), set[str]()
    found: dict[str, None] = {}
    for one in in_writing.tries(role, among):
        if len(cases) == in_writing.MOST_TRIED or len(found) >= ENOUGH:
            break
        if fault.requirement in one.told and one.case.id not in cases:
            cases.add(one.case.id)
            found.update(dict.fromkeys(sorted(in_writing.reds_of(one.case, one.parameters, node)[0] - one.red)))
    return list(found)[:ENOUGH]


def judged_by_checks(role: Side, faults: Iterable[Mutant]) -> dict[str, list[list[str]]]:
    """Each row with the checks that show each fault in it that any shows."""
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for fault in faults:
        if checks := checks_that_show(fault, role):
            found[fault.requirement].add(tuple(sorted(checks)))
    return {row: [list(checks) for checks in sorted(every)] for row, every in sorted(found.items())}


def write(folder: Path) -> None:
    """Write the table by which a run judges what a node reads in its cases."""
    table = {role.value: judged_by_checks(role, every_fault(role)) for role in Side}
    (folder / "read_on.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
