"""Cases in drawn orders on one node that is never started anew: nothing is red there that is not red alone."""

from __future__ import annotations

import random

import pytest
from drawn_orders import depends, drawn, together

from zenoh_conformance.cases.case import find_case
from zenoh_conformance.messages import Request
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link
from zenoh_harness.variants import all_variants

pytestmark = pytest.mark.spread

FEW = 1
MANY = 100
"""Orders on the reference."""
OF_EACH = 3
"""Orders on each variant."""


def test_an_order_is_drawn_again_from_its_seed() -> None:
    once, again, other = (drawn(random.Random(seed), Reference, 1) for seed in (1, 1, 2))

    assert once == again != other
    assert {case.id for case, _ in once} == {case.id for case, _ in other}


def test_the_clock_and_the_node_go_on() -> None:
    """Each conversation begins where the one before it ended."""
    waits = find_case("query-ends/a-query-ends-at-its-timeout")

    first, then = together([(waits, {}), (waits, {})], Reference)

    assert first.red == then.red == []
    assert then.world.node is first.world.node
    assert then.world.conversation.events[0].time >= first.world.now > 0


class Forgets(Reference):
    """Serves six hundred queries in its life."""

    served = 0

    def on_request(self, link: Link, request: Request) -> None:
        self.served += 1
        if self.served <= 600:
            super().on_request(link, request)


def test_what_wears_out_is_seen() -> None:
    assert depends(0, Forgets, 1, crowds=False)


@pytest.mark.parametrize("seed", range(FEW))
def test_no_order_matters_on_the_reference(seed: int) -> None:
    assert depends(seed, Reference, 1, crowds=False) == []


@pytest.mark.soak
def test_no_order_of_many_matters_on_the_reference() -> None:
    assert {seed: red for seed in range(MANY) if (red := depends(seed, Reference, 1))} == {}


@pytest.mark.soak
@pytest.mark.parametrize("name", all_variants())
def test_no_order_matters_on_a_variant(name: str) -> None:
    node = all_variants()[name].node

    assert {seed: red for seed in range(OF_EACH) if (red := depends(seed, node, 1))} == {}
