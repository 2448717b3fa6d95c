"""Variant by check: nothing is red on a conforming node, whoever judges; what is not judged there it says itself."""

from __future__ import annotations

import pytest
from faulty_nodes import find_faulty_node
from on_the_reference import OnReference
from slices import in_slice

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.cases.controls import WORKS, Ground
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.own_side import own_faults
from zenoh_conformance.messages import Init, Open, Response
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import INVALID, Action, Refused
from zenoh_harness.reference.link import Link
from zenoh_harness.reference.memory import over_datagrams
from zenoh_harness.variants import all_variants
from zenoh_harness.variants.table import Came, cases_named_by, in_memory, judged, left_out, once, row, spread

pytestmark = pytest.mark.spread

FEW = 2
"""Values of each case that a variant is tried with here; other ones on each variant."""


@pytest.fixture(scope="session")
def plain(on_the_reference: OnReference) -> frozenset[str]:
    """What is judged on the reference."""
    return frozenset(on_the_reference.green)


SLICES = 12
"""A variant is tried with one case in so many, other ones on each variant: each case meets five of them."""


def test_there_are_many_variants() -> None:
    assert len(all_variants()) >= 40


def test_everything_is_green_or_idle_on_the_reference(on_the_reference: OnReference) -> None:
    assert on_the_reference.red == {}


@pytest.mark.parametrize("name", all_variants())
def test_nothing_is_red_on_a_variant(name: str, plain: frozenset[str], on_the_reference: OnReference) -> None:
    """By what it names and a slice of the others, with a few values; what laws meet in so little says nothing."""
    met = frozenset(label for label in plain if not label.startswith("law/"))
    variant = all_variants()[name]
    others = {case for case in all_cases() if not in_slice(name, case, of=SLICES)} - cases_named_by(
        variant, all_cases()
    )
    found = row(variant, met, most=FEW, without=others | left_out(variant, on_the_reference.long))

    assert {label: one.why for label, one in found.red.items()} == {}
    assert {label: one.why for label, one in found.unexplained.items()} == {}


@pytest.mark.soak
@pytest.mark.parametrize("name", all_variants())
def test_nothing_is_red_on_a_variant_with_any_value(name: str, plain: frozenset[str]) -> None:
    found = row(all_variants()[name], plain)

    assert {label: one.why for label, one in found.red.items()} == {}
    assert {label: one.why for label, one in found.unexplained.items()} == {}
    assert found.stale == []


@pytest.mark.parametrize("name", [name for name in all_variants() if in_slice(name, of=SLICES)])
def test_nothing_is_red_on_a_variant_over_datagrams(name: str) -> None:
    cases = [case for case in all_cases().values() if in_slice(name, case.id, of=SLICES) or case.id in WORKS.values()]
    red = judged(over_datagrams(all_variants()[name].node), cases, most=1).of(Came.RED)

    assert {label: one.why for label, one in red.items()} == {}


@pytest.mark.soak
@pytest.mark.parametrize("name", all_variants())
def test_nothing_is_red_on_a_variant_over_datagrams_in_any_case(name: str) -> None:
    red = judged(over_datagrams(all_variants()[name].node), most=FEW).of(Came.RED)

    assert {label: one.why for label, one in red.items()} == {}


def test_what_is_tried_is_spread_and_another_turn_tries_other_ones() -> None:
    assert list(spread(range(10), 3)) == [0, 3, 6]
    assert list(spread(range(10), 3, 4)) == [4, 7, 0]
    assert list(spread(range(2), 3)) == [0, 1]


def test_a_long_case_is_left_out_on_most_variants_and_on_none_that_names_it(on_the_reference: OnReference) -> None:
    variants, long = all_variants().values(), on_the_reference.long
    tried = {check: [one.name for one in variants if check not in left_out(one, long)] for check in long}

    assert 5 < len(long) < 30
    assert all(len(variants) // 5 < len(names) < len(variants) // 3 for names in tried.values())
    assert "has-room-for-sixteen-of-each" in tried["routing-ids/a-session-may-declare-many"]


def about(*words: str) -> list[Case]:
    """The cases with one of these words in their names, and what they rest on."""
    every = all_cases()
    wanted = {ident for ident in every if any(word in ident for word in words)} | set(WORKS.values())
    while below := {every[ident].control for ident in wanted} & every.keys() - wanted:
        wanted |= below
    return [case for ident, case in every.items() if ident in wanted]


def test_a_faulty_node_is_red_by_the_same_way() -> None:
    found = judged(find_faulty_node("believes-any-cookie").node, about("cookie"), most=FEW).of(Came.RED)

    assert any(one.check == "establishment-cookie/a-changed-cookie-is-refused" for one in found.values())


def test_who_answers_nothing_passes_no_refusal() -> None:
    found = judged(find_faulty_node("answers-nothing").node, about("cookie"), most=FEW)

    assert found.of(Came.RED)
    refusals = [one for one in found.of(Came.GREEN) if one.startswith("establishment-cookie/")]
    assert refusals == []


def test_a_router_that_ends_no_query_is_red_for_that_alone() -> None:
    """Who says that it does not do it has nothing to judge there; a router is not asked."""
    red = judged(find_faulty_node("ends-no-query").node, most=1).of(Came.RED)

    assert {one.requirement for one in red.values()} == {"reply/final-always-comes"}
    assert "establishment-sane/a-session-does-work" in red


class RefusesEverything(Reference):
    """Answers whatever comes with Close(INVALID)."""

    def received(self, name: str, data: bytes, now: float) -> list[Action]:
        self.now = now
        self.refuse(self.links[name], INVALID)
        return self.drain()


def test_who_refuses_everything_passes_nothing() -> None:
    """No refusal counts without a plain session beside it; groups have no sessions."""
    found = judged(RefusesEverything, most=1)

    without = ("law/", "multicast/", "scouting/")
    green = {one.check for one in found.of(Came.GREEN).values() if not one.check.startswith(without)}
    assert green == set()
    assert "establishment-sane/a-sane-proposal-is-answered" in found.of(Came.RED)


class IssuesNoCookie(Reference):
    """A responder that keeps what it settled, and issues an empty cookie: any proof is as good as another."""

    def make_cookie(self, link: Link, syn: Init) -> bytes:
        return b""

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        return True


def test_without_a_cookie_nothing_is_said_of_old_ones() -> None:
    found = judged(IssuesNoCookie, about("cookie", "too-soon"), most=1)

    assert WORKS[Side.RESPONDER] in {one.check for one in found.of(Came.GREEN).values()}
    assert [label for label in found.of(Came.RED) if "cookie" in label or "too-soon" in label] == []


class RefusesLargeIds(all_variants()["requests-of-8-bits"].node):
    """Has request ids of 8 bits, and ends a session that answers under a larger one."""

    def on_response(self, link: Link, response: Response) -> None:
        self.fits(response.id)
        super().on_response(link, response)

    def on_final(self, link: Link, request_id: int) -> None:
        self.fits(request_id)
        super().on_final(link, request_id)

    def fits(self, request_id: int) -> None:
        if request_id > 0xFF:
            raise Refused(INVALID)


def test_toward_small_request_ids_what_we_answer_fits() -> None:
    found = [
        once(case, parameters, RefusesLargeIds, Ground(all_cases()))[0]
        for case in in_memory() if case.id.startswith("query-") for parameters in case.parameters[:FEW]
    ]  # fmt: skip

    assert [one.label for one in found if one.came is Came.RED] == []
    assert Came.GREEN in {one.came for one in found}


@pytest.mark.parametrize("name", ["no-extensions", pytest.param("no-lanes", marks=pytest.mark.soak)])
def test_toward_who_offers_little_our_side_breaks_only_what_it_declares(name: str) -> None:
    """What our answers offer by themselves, that node never did."""
    broken = []
    for case in in_memory():
        for parameters in case.parameters if case.role is Side.INITIATOR else ():
            _, said = once(case, parameters, all_variants()[name].node, Ground(all_cases()))
            if said is not None:
                broken += [(case.id, fault) for fault in own_faults(said, judge(said), Side.RESPONDER, case.breaks)]

    assert broken == []
