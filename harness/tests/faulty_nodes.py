"""Faulty nodes by name, the requirements that one breaks, and the checks that miss it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase
from operator import itemgetter

from zenoh_conformance.cases.case import Case, Parameters, all_cases
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.law import all_laws
from zenoh_harness.faulty import FaultyNode, all_faulty_nodes
from zenoh_harness.faulty.table import concerned, provoke, runs_in_memory, sample

BY_RULE = {name: node for name, node in all_faulty_nodes().items() if node.shown_in}
"""Those that are generated, a fault of each field in each circumstance."""
SOME_BY_RULE = sorted({node.caught_by: name for name, node in BY_RULE.items()}.values())
"""One for each law, which stands for the others among the short tests."""
SEVERAL = sorted({*all_faulty_nodes()} - {*BY_RULE} | {*SOME_BY_RULE})


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

    The named cases run first, until each is red, and the others only for laws that found nothing yet.
    """
    wanted, laws = set(faulty_node.caught_by), all_laws()
    for case, parameters in tried(faulty_node):
        if not wanted:
            break
        unheard = [laws[check] for check in wanted if check in laws]
        if case.id in wanted or unheard:
            findings, scene = provoke(case, parameters, faulty_node.node, "full" if case.id in wanted else "quick")
            wanted -= {case.id} if findings else set()
            said = judge(scene.conversation, unheard) if unheard else ()
            wanted -= {one.law.id for one in said if one.findings and one.sender is case.role}
    return sorted(wanted)


def tried(faulty_node: FaultyNode) -> Iterator[tuple[Case, Parameters]]:
    """The cases that may show its faults, with their values: first all of those that it names, then a few of every family in turn.

    A law is met in some families and in no other: families one after the other had hundreds of cases run before the first SCOUT.
    """
    cases, named = all_cases().values(), (*faulty_node.caught_by, *faulty_node.shown_in)
    for case in cases:
        if case.id in named and runs_in_memory(case):
            yield from ((case, each) for each in (*sample(case, named), *faulty_node.values))
    families = Counter[str]()
    turns: list[tuple[int, Case, Parameters]] = []
    for case in cases:
        if case.id not in named and runs_in_memory(case) and concerned(faulty_node.node, case):
            family = case.id.partition("/")[0]
            turns += [(families[family] + at, case, each) for at, each in enumerate(sample(case, named))]
            families[family] += 1
    yield from ((case, each) for _, case, each in sorted(turns, key=itemgetter(0)))
