"""Nodes that are wrong in one circumstance only: a full run sees each, and says which circumstance it is."""

from __future__ import annotations

from typing import Any

import pytest
from faulty_nodes import BY_RULE

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.cases.establishment.circumstances import BEFORE
from zenoh_conformance.cases.routing.circumstances import FOLLOWED, MEANWHILE, ODD, ODD_AS, PAST
from zenoh_conformance.cases.varied import AFTER_OTHERS
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.variation import coverage_of, row_with
from zenoh_conformance.messages import Push, Request
from zenoh_conformance.reading.connection import priority_of
from zenoh_harness.cli import main
from zenoh_harness.faulty import FaultyNode
from zenoh_harness.faulty.chains import LosesAChain
from zenoh_harness.faulty.circumstances import LosesSomewhere
from zenoh_harness.faulty.handshakes import WrongSomewhere
from zenoh_harness.faulty.table import provoke
from zenoh_harness.reference import Link, Reference
from zenoh_harness.reference.memory import MemoryScene

WRONG_ONCE = [node for node in BY_RULE.values() if issubclass(node.node, LosesSomewhere)]
"""A node for each kind of message, dimension and value."""
WRONG_HANDSHAKES = [node for node in BY_RULE.values() if issubclass(node.node, WrongSomewhere)]
"""A node for each fault in a handshake, dimension and value."""
WRONG_CHAINS = [node for node in BY_RULE.values() if issubclass(node.node, LosesAChain)]
"""A node for each fault in a chain of fragments, dimension and value."""
SPREAD = 12
"""A short run takes one in so many; each is among the soak tests of the table."""
VARIED = [case for case in all_cases().values() if case.varies]


def seen_at_full(node: FaultyNode) -> Finding:
    """What its case finds with all pairs."""
    [finding] = provoke(all_cases()[node.caught_by[0]], {}, node.node, "full")[0]
    return finding


def test_there_is_one_for_each_value_of_each_dimension() -> None:
    assert len(WRONG_ONCE) >= 170


@pytest.mark.parametrize("node", WRONG_ONCE[::SPREAD], ids=lambda node: node.name)
def test_a_node_that_is_wrong_in_one_circumstance_is_seen_and_the_circumstance_named(node: FaultyNode) -> None:
    _, dimension, value = node.node.loses
    names = [
        f"{'' if dimension is ODD_AS else ', only '}{dimension.says.format(value)}"
    ]  # of an extension it says both
    names += [f", {AFTER_OTHERS}"] * (dimension in (PAST, MEANWHILE))
    names += [", only after another query"] * (dimension in (ODD, ODD_AS))  # which has such an extension, in full dress

    assert seen_at_full(node).cause.endswith(tuple(names))


def test_there_is_one_for_each_value_of_each_dimension_of_a_handshake() -> None:
    assert len(WRONG_HANDSHAKES) >= 79


@pytest.mark.parametrize("node", WRONG_HANDSHAKES[:: SPREAD // 2], ids=lambda node: node.name)
def test_a_responder_that_is_wrong_in_one_circumstance_is_seen_and_the_circumstance_named(node: FaultyNode) -> None:
    dimension, value = node.node.circumstance
    names = [f", only {dimension.says.format(value)}"] + [f", {AFTER_OTHERS}"] * (dimension is BEFORE)

    assert seen_at_full(node).cause.endswith(tuple(names))


@pytest.mark.parametrize("node", WRONG_CHAINS[:: SPREAD // 3], ids=lambda node: node.name)
def test_a_router_that_is_wrong_about_a_chain_in_one_circumstance_is_seen(node: FaultyNode) -> None:
    assert seen_at_full(node).reached


@pytest.mark.parametrize("case", VARIED, ids=lambda case: case.id)
def test_nothing_is_red_on_the_reference_with_any_pair(case: Case) -> None:
    assert provoke(case, case.parameters[0], Reference, "full")[0] == []


def test_a_case_is_shown_with_its_dimensions_and_how_many_pairs_each_depth_has(capsys) -> None:
    [case] = [case for case in VARIED if "publication" in case.id]
    with pytest.raises(SystemExit):
        main(["cases", "show", case.id])
    shown, full = capsys.readouterr().out, coverage_of(case.varies, "full")

    assert "varies   lane: 5, 1, 2, 3, 4, 6, 7" in shown
    assert f"rows     full: {full.rows}, with {full.of:,} of {full.of:,} pairs of values" in shown


class SwapsTwoOfALane(Reference):
    """Holds a publication until the next message of its session, and forwards the next first if it has the same key and lane."""

    held_back: Any = None

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        before, self.held_back = self.held_back, (link, push, reliable)
        if before is not None and before[1].key == push.key and priority_of(before[1]) == priority_of(push):
            before, self.held_back = self.held_back, before
        if before is not None:
            super().on_push(*before[:2], reliable=before[2])

    def on_request(self, link: Link, request: Request) -> None:
        before, self.held_back = self.held_back, None
        if before is not None:
            super().on_push(*before[:2], reliable=before[2])
        super().on_request(link, request)


def test_two_values_of_a_lane_that_change_places_are_seen() -> None:
    case = all_cases()["routing-varied/a-publication-comes-in-any-circumstances"]
    scene = MemoryScene(case.requirement, SwapsTwoOfALane, role=case.role, profile=case.profile)

    with pytest.raises(Deviation, match=r"push.put.payload.*, only followed by another value in its lane"):
        case.run(scene, {}, row_with(case.varies, {FOLLOWED.name: str(FOLLOWED.values[1])}))
