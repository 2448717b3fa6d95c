"""Our own side toward faulty nodes: what they say leads us to break nothing that a case does not declare."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

import pytest
from faulty_nodes import SEVERAL
from slices import in_slice

from zenoh_conformance.cases.case import Case, Parameters, all_cases
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.own_side import own_faults
from zenoh_harness.faulty import FaultyNode, all_faulty_nodes
from zenoh_harness.faulty.table import concerned, provoke, runs_in_memory, sample
from zenoh_harness.run.attempt.attempt import AT_THE_END

pytestmark = pytest.mark.spread

ODD = ("raises-the-resolution", "adds-the-resolutions-up", "drops-routers-silently", "asks-under-another-key")
"""Nodes that settle oddly, refuse oddly, or ask us what nobody would: the last one had us finish a query twice."""

SLICES = 3
"""Each of them is tried with one case in so many, others for each."""


def values(node: FaultyNode, case: Case, *, whole: bool) -> Iterator[Parameters]:
    """A few of the values of a case; or of a slice of the cases one, others for each node."""
    if whole:
        yield from sample(case, frozenset())
    elif not case.alone and in_slice(node.name, case.id, of=SLICES):
        yield case.parameters[crc32(f"{node.name} {case.id}".encode()) % len(case.parameters)]


def slips(name: str, *, whole: bool) -> list[tuple[str, Parameters, str]]:
    """What we broke and did not mean to, in cases that the node held: there it would be an `error`."""
    node, found = all_faulty_nodes()[name], []
    for case in all_cases().values():
        if not runs_in_memory(case) or not concerned(node.node, case):
            continue
        for parameters in values(node, case, whole=whole):
            findings, scene = provoke(case, parameters, node.node)
            if findings:
                continue
            every, meant = judge(scene.conversation), (*case.breaks, *AT_THE_END)
            texts = own_faults(scene.conversation, every, case.role.other, meant)
            found += [(case.id, parameters, text) for text in texts]
    return found


@pytest.mark.parametrize("name", ODD)
def test_a_few_lead_us_into_nothing(name: str) -> None:
    """With one value of each case of a slice."""
    assert slips(name, whole=False) == []


@pytest.mark.soak
@pytest.mark.parametrize("name", SEVERAL)
def test_none_leads_us_to_break_what_we_do_not_declare(name: str) -> None:
    assert slips(name, whole=True) == []
