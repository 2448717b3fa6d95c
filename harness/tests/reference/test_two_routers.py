"""Other nodes that are right: two routers in a row, and one that thins answers out itself. No case about routing is red on them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from joined_routers import Joined
from slices import in_slice

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.judging.engine import judge
from zenoh_harness.faulty.table import ROUTING, provoke
from zenoh_harness.reference import Config, Reference

CASES = [case for case in all_cases().values() if ROUTING in case.needs and case.profile == "default"]


class Consolidating(Reference):
    """A router that thins answers out itself."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(replace(config or Config(), consolidates=True))


BOTH = [(case, node) for node in (Joined, Consolidating) for case in CASES]
SLICES = 3


@pytest.mark.parametrize(
    ("case", "node"), [(case, node) for case, node in BOTH if in_slice(case.id, node.__name__, of=SLICES)]
)
def test_no_case_and_no_law_is_red(case: Case, node: type[Reference]) -> None:
    is_right_in(case, node)


@pytest.mark.soak
@pytest.mark.parametrize(("case", "node"), BOTH)
def test_no_case_of_all_and_no_law_is_red(case: Case, node: type[Reference]) -> None:
    is_right_in(case, node)


def is_right_in(case: Case, node: type[Reference]) -> None:
    """With the first and the last values of the case."""
    for parameters in {str(each): each for each in (case.parameters[0], case.parameters[-1])}.values():
        findings, scene = provoke(case, parameters, node)
        found = [one.cause for one in findings]
        found += [one.cause for said in judge(scene.conversation) if said.sender is case.role for one in said.findings]
        assert found == []


def test_the_reading_tells_who_thins_out() -> None:
    case = all_cases()["reply-values/latest-loses-no-newest"]

    readings = [provoke(case, {}, node)[1].reading for node in (Reference, Consolidating)]

    assert readings == ["as erratum:consolidation-by-querier", "as written"]


def test_a_link_goes_to_the_one_and_the_next_to_the_other() -> None:
    case = all_cases()["push-delivery/each-session-gets-it-once"]
    _, scene = provoke(case, {}, Joined)
    node = scene.world.node

    assert isinstance(node, Joined)
    assert {len([home for home in node.home.values() if home is each]) for each in node.nodes} == {2}
