"""Faulty nodes by name, the requirements that one breaks, and the checks that miss it."""

from __future__ import annotations

from difflib import get_close_matches
from fnmatch import fnmatchcase

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.law import all_laws
from zenoh_harness.faulty import FaultyNode, all_faulty_nodes
from zenoh_harness.faulty.table import reds


def find_faulty_node(name: str) -> FaultyNode:
    """The faulty node of that name. Raises KeyError with the nearest names."""
    known = all_faulty_nodes()
    if name not in known:
        near = get_close_matches(name, known, n=3, cutoff=0.4)
        raise KeyError(f"no faulty node {name!r}; nearest: {', '.join(near) or 'none'}")
    return known[name]


def broken_by(faulty_node: FaultyNode) -> frozenset[str]:
    """The requirements that a faulty node breaks: those of the checks in its `caught_by` and `also`."""
    judges = {name: case.requirement for name, case in all_cases().items()}
    judges |= {name: law.requirement for name, law in all_laws().items()}
    patterns = (*faulty_node.caught_by, *faulty_node.also)
    return frozenset(judges[check] for check in judges if any(fnmatchcase(check, pattern) for pattern in patterns))


def uncaught(faulty_node: FaultyNode) -> list[str]:
    """
    The checks that must be red on a faulty node and are not; quicker than its whole row.

    The named cases run first, the others only for laws that had nothing to judge yet.
    """
    wanted = set(faulty_node.caught_by)
    named = [case for ident, case in all_cases().items() if ident in wanted]
    others = [case for ident, case in all_cases().items() if ident not in wanted]
    for case in (*named, *others):
        if not wanted:
            break
        wanted -= reds(faulty_node.node, [case], whole=faulty_node.caught_by, more=faulty_node.values).keys()
    return sorted(wanted)
