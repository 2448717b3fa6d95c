"""Faulty nodes that deal with each session at a pace of its own: what catches them waits for the session that spoke."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from faulty_nodes import find_faulty_node

from zenoh_conformance.cases.case import all_cases
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import reds
from zenoh_harness.variants.pacing import AtItsOwnPace

pytestmark = pytest.mark.spread

PACES = [(0.0, 0.05, 0.1), (0.1, 0.05, 0.0), (0.05, 0.0, 0.0), (0.0, 0.0, 0.1), (0.0, 0.1, 0.0)]
ONCE_MISSED = (
    "never-releases-a-number", "passes-a-budget-of-zero-on", "passes-marked-payloads", "serves-ids-out-of-range",
    "takes-a-number-of-nobody-for-nothing", "takes-any-text-for-a-key",
)  # fmt: skip
"""What was fenced on another session than the one that said it."""

ROUTING = [
    name for name, faulty in all_faulty_nodes().items()
    if fnmatchcase(faulty.node.__module__.rpartition(".")[2], "routing_*")
]  # fmt: skip


def missed(name: str, pace: tuple[float, ...]) -> list[str]:
    """The cases that catch a faulty node, and do not catch it at this pace."""
    faulty = find_faulty_node(name)
    paced = type(f"Paced{faulty.node.__name__}", (AtItsOwnPace, faulty.node), {"pace": pace})
    cases = [all_cases()[check] for check in faulty.caught_by if check in all_cases()]
    return [
        case.id for case in cases
        if case.id in reds(faulty.node, [case], whole=(case.id,)) and case.id not in reds(paced, [case], whole=(case.id,))
    ]  # fmt: skip


@pytest.mark.parametrize("name", ONCE_MISSED)
def test_what_was_missed_is_caught_at_any_pace(name: str) -> None:
    assert [missed(name, pace) for pace in PACES] == [[]] * len(PACES)


@pytest.mark.soak
@pytest.mark.parametrize("name", ROUTING)
def test_each_fault_in_routing_is_caught_at_any_pace(name: str) -> None:
    assert [missed(name, pace) for pace in PACES] == [[]] * len(PACES)
