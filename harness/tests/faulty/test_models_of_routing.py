"""The models of queries and declarations in memory: silent on who is right, red on faulty nodes, the same for the same seed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from faulty_nodes import broken_by, find_faulty_node
from joined_routers import Joined

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.variation import Variation
from zenoh_conformance.messages import Request
from zenoh_conformance.models import declaring, querying, questions
from zenoh_conformance.models.modelled import is_known
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files import known as lists
from zenoh_harness.reference import Config, Reference
from zenoh_harness.reference.exploring import explored
from zenoh_harness.reference.link import Link
from zenoh_harness.variants.pacing import (
    FIRST_SESSIONS_LAST,
    LATER_SESSIONS_LATER,
    AsksLateWhoHasLeftOff,
    PassesOnLater,
    TakesBackLater,
)

pytestmark = pytest.mark.spread


class Consolidating(Reference):
    """A router that thins answers out itself."""

    def __init__(self, config: Config | None = None) -> None:
        from dataclasses import replace

        super().__init__(replace(config or Config(), consolidates=True))


def test_who_takes_back_later_is_right() -> None:
    assert explored(querying, TakesBackLater, seed=0, examples=25) is None


def test_who_asks_late_who_has_left_off_is_right() -> None:
    assert explored(querying, AsksLateWhoHasLeftOff, seed=0, examples=25) is None


def test_who_asks_late_who_has_left_off_is_right_in_all_circumstances() -> None:
    """With a declaration that comes again under its id, and is asked before what was there is forgotten."""
    assert explored(querying, AsksLateWhoHasLeftOff, seed=0, examples=25, depth="full") is None


class KeepsUndeclaredSubscribers(Reference):
    """Tells that a subscriber is undeclared, and publishes to it for ever."""

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        held = self.table(link, kind).get(entity)
        super().on_entity_gone(link, kind, entity)
        if kind == "subscriber" and held is not None:
            self.table(link, kind)[entity] = held


def test_who_publishes_to_an_undeclared_subscriber_for_ever_is_found() -> None:
    found = explored(declaring, KeepsUndeclaredSubscribers, seed=0, examples=60, depth="full")
    assert found is not None and found.requirement == "push/push-only-intersecting"


class AsksAStrangerLate(AsksLateWhoHasLeftOff):
    """Asks somebody whose key does not meet the query's, late, and waits for his final."""

    def targets(self, link: Link, request: Request, key: str) -> list[Link]:
        asked = super().targets(link, request, key)
        strangers = [other for other in self.others(link) if other.queryables and "/fence/" not in key]
        return asked or strangers[:1]

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if isinstance(message, Request):
            self.after(0.5, super().say, link, message, while_live=True)
        else:
            super().say(link, message, reliable=reliable)


def test_who_asks_a_stranger_late_is_not() -> None:
    """That somebody got the query late excuses a missing final only where he serves its key."""
    found = [explored(querying, AsksAStrangerLate, seed=seed, examples=25) for seed in range(3)]
    assert {one.requirement for one in found if one is not None} <= {
        "reply/final-always-comes",
        "query/query-only-intersecting",
    }
    assert any(found)


FORWARDED = "declarations/forwarded-on-interest"
WITHOUT_A_KEY = "what is declared: * not told (token asked for without a key)*"


def test_a_known_deviation_hides_no_other_of_its_requirement() -> None:
    """The list that ships tells of tokens without a key; a router that tells nobody of anything deviates in another way."""
    node = find_faulty_node("tells-nobody").node
    listed = [entry for path in lists.shipped_lists() for entry in lists.read(path)]
    known = lists.of(listed, kind="wheel").requirements("1.10.2")
    assert known[FORWARDED] == (WITHOUT_A_KEY,)

    found = explored(declaring, node, seed=0, examples=25, known=known)

    assert found is not None
    assert found.requirement == FORWARDED
    assert explored(declaring, node, seed=0, examples=25, known={FORWARDED: (found.cause,)}) != found


def test_what_came_is_compared_at_whatever_step() -> None:
    finding = Finding(
        requirement="r",
        sender=Side.RESPONDER,
        path="await-init: wrong",
        expected="Close(UNSUPPORTED)",
        got="Close(INVALID)",
    )

    assert is_known({"r": ("stage init: Close(INVALID) where Close(UNSUPPORTED) is required",)}, finding)
    assert not is_known({"r": ("stage init: silence where Close(UNSUPPORTED) is required",)}, finding)
    assert not is_known({"s": ("*",)}, finding)
    assert is_known(frozenset({"r"}), finding)


@pytest.mark.parametrize("model", [querying, declaring])
@pytest.mark.parametrize(
    "node", [Reference, Joined, Consolidating, PassesOnLater, LATER_SESSIONS_LATER, FIRST_SESSIONS_LAST]
)
def test_nothing_is_found_on_who_is_right(model: ModuleType, node: type[Reference]) -> None:
    assert explored(model, node, seed=1, examples=6) is None


PLANTED = {
    querying: (
        "answers-one-in-three", "asks-all-for-all-complete", "asks-all-for-the-best", "asks-for-equal-keys-only",
        "asks-one-for-all", "asks-nobody-where-none-is-complete", "takes-all-for-the-default-target", "counts-finals",
        "ends-twice", "ends-with-the-first-source", "passes-every-final-on", "passes-ids-on", "loses-errors",
        "takes-anybodys-answer", "forgets-the-encoding-of-errors",
    ),
    declaring: (
        "ends-a-snapshot-twice", "keeps-what-the-dead-declared", "names-the-interest-later-too",
        "publishes-for-each-subscriber", "publishes-to-equal-keys-only", "publishes-to-everybody", "takes-another-thing-back",
        "takes-a-key-back-with-its-first", "sends-all-in-one-lane", "forgets-encodings", "publishes-under-another-key",
    ),
}  # fmt: skip
"""Faulty nodes by the model that finds them."""

BREAKS_AS_WELL = {
    "counts-finals": {
        "query/query-complete-on-finals": "two finals of one source end it while another one has sent none"
    },
    "passes-ids-on": {"reply/final-always-comes": "of two queries with one number one never hears its end"},
    "takes-anybodys-answer": {
        "query/query-complete-on-finals": "another source's final is the end of it",
        "reply/final-always-comes": "the final of whom it waits for was given to another query",
        "query/consolidation-none-forwards-all": "an answer that went to another query is missing here",
    },
}
"""What else a faulty node breaks, that no case shows on it, and how."""


@pytest.mark.parametrize(("model", "name"), [(model, name) for model, names in PLANTED.items() for name in names])
def test_what_is_planted_is_found_and_filed_where_it_belongs(model: ModuleType, name: str) -> None:
    found = (explored(model, find_faulty_node(name).node, seed=seed, examples=25) for seed in range(8))
    first = next((one for one in found if one is not None), None)

    assert first is not None, "not found with any of eight seeds"
    assert first.requirement in broken_by(find_faulty_node(name)) | BREAKS_AS_WELL.get(name, {}).keys()


@pytest.mark.parametrize("name", ["loses-answer-in-lane-2", "changed-answer-err-encoding"])
def test_what_shows_in_some_circumstances_is_found_beyond_a_quick_run(name: str) -> None:
    node = find_faulty_node(name).node

    assert any(explored(querying, node, seed=seed, examples=25, depth="full") for seed in range(8))


def test_a_query_of_ours_that_comes_to_a_stranger_is_no_silence() -> None:
    """The fence goes astray: the law says so, where the model only misses its end."""
    found = explored(querying, find_faulty_node("leaks-query-declared-by-wildcard").node, seed=4101, examples=25)

    assert found is not None
    assert found.requirement == "query/query-only-intersecting"


def test_a_finding_is_about_a_requirement_that_there_is() -> None:
    found = explored(querying, find_faulty_node("asks-one-for-all").node, seed=1, examples=25)

    assert found is not None
    assert found.requirement in requirements()


def test_the_models_table_is_that_of_the_key_expressions() -> None:
    """The table is by hand; that of the key expressions agrees with the wheel's."""
    pairs = [(one, other) for one in questions.KEYS for other in questions.KEYS]

    assert [pair for pair in pairs if questions.meets(*pair) != keyexpr.intersects(*pair)] == []
    assert [pair for pair in pairs if questions.holds(*pair) != keyexpr.includes(*pair)] == []


def test_the_same_seed_finds_the_same() -> None:
    node = find_faulty_node("counts-finals").node
    first, second = (explored(querying, node, seed=2, examples=25) for _ in range(2))

    assert first == second


@pytest.mark.parametrize("model", [querying, declaring])
def test_a_model_names_requirements_that_there_are(model: ModuleType) -> None:
    assert [each for each in (model.REQUIREMENT, *model.ALSO) if each not in requirements()] == []


def test_models_stand_beside_cases_and_laws() -> None:
    """What a model names is judged by something else, too: a model says that something is wrong, a case what."""
    judged = {case.requirement for case in all_cases().values()} | {law.requirement for law in all_laws().values()}

    for model in (querying, declaring):
        assert [each for each in (model.REQUIREMENT, *model.ALSO) if each not in judged] == []


@pytest.mark.parametrize(
    ("drawn", "passed_over"),
    [
        ({"meanwhile": "another of its key came and went", "targeted": "AllComplete", "lane": 7}, True),
        ({"meanwhile": "another of its key came and went", "lane": 7}, False),
        ({}, False),
    ],
    ids=str,
)
def test_what_a_case_is_known_for_in_some_circumstances_is_passed_over_in_these(drawn: Any, passed_over: bool) -> None:
    listed = {
        "routing-varied/a-query-is-answered-in-any-circumstances": (
            "to receiver-*: silence where Request is required, only where meanwhile another of its key came and went, for *",
        )
    }
    finding = Finding(
        requirement="query/query-reaches-intersecting", sender=Side.RESPONDER, path="to receiver-1", got="silence",
        expected="Request",
    )  # fmt: skip
    assert querying.ANSWERED.is_listed(listed, finding, Variation(drawn)) == passed_over
