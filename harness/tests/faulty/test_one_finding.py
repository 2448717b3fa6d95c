"""Faulty nodes in memory: each is one finding, of the requirement that its table names; of two faults both are named."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

import pytest
from faulty_nodes import broken_by
from judged_in_memory import items_for, judgements_of

from zenoh_conformance.cases.causes import PLAIN
from zenoh_conformance.cases.faults import faults
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Judgement
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import FORWARDED
from zenoh_harness.reference import Reference
from zenoh_harness.run.plan.plan import Item

pytestmark = pytest.mark.spread

SEED, PAIRS, SHORT = 31, 100, 6


def findings(node: type[Reference], items: Iterable[Item]) -> frozenset[str]:
    """The requirements of the findings on a node."""
    return frozenset(fault.requirement for fault in faults(judgements_of(node, items)))


def items_of(name: str, *, named: bool) -> list[Item]:
    """The cases that may be red on a faulty node; `named`: those alone that must be."""
    one = all_faulty_nodes()[name]
    every = items_for(one.node, one.caught_by, one.values, most=1)
    return [item for item in every if not named or item.case.id in one.caught_by]


@cache
def judged(name: str, *, named: bool = False) -> tuple[Judgement, ...]:
    """The judgements on one faulty node."""
    return tuple(judgements_of(all_faulty_nodes()[name].node, items_of(name, named=named)))


def first_of(name: str, *, named: bool = False) -> tuple[str, ...]:
    """The requirements of the findings on one faulty node, the one that is told first at the beginning."""
    return tuple(fault.requirement for fault in faults(judged(name, named=named)))


def alone(name: str, *, named: bool = False) -> frozenset[str]:
    """The requirements of the findings on one faulty node."""
    return frozenset(first_of(name, named=named))


def drawn() -> list[tuple[str, str]]:
    """Pairs of faulty nodes that can be one class: the hooks of each are others'."""
    names, found, draw = list(all_faulty_nodes()), [], random.Random(SEED)
    while len(found) < PAIRS:
        one, other = draw.sample(names, 2)
        if not changed(one) & changed(other):
            found.append((one, other))
    return found


def changed(name: str) -> set[str]:
    """What a faulty node replaces of the reference."""
    node = all_faulty_nodes()[name].node
    every = {hook for cls in node.__mro__[: node.__mro__.index(Reference)] for hook in vars(cls)}
    return {hook for hook in every if hasattr(Reference, hook) and not hook.startswith("__")}


def both_named(pair: tuple[str, str], *, named: bool = False) -> bool:
    """Whether the findings on a node with two faults name a requirement of each."""
    one, other = (all_faulty_nodes()[name].node for name in pair)
    node = type(f"{one.__name__}And{other.__name__}", (one, other), {})
    items = {item.label: item for name in pair for item in items_of(name, named=named)}
    heads = findings(node, items.values())
    seen = [
        name
        for name, beside in (pair, pair[::-1])
        if alone(name, named=named) and not opens_nothing(beside, named=named)
    ]
    return all(heads & (alone(name, named=named) | caught(name)) for name in seen)


def opens_nothing(name: str, *, named: bool = False) -> bool:
    """Whether a node lets no plain session live: nobody can see what else is wrong with it."""
    return any(fault.first.key.check in PLAIN for fault in faults(judged(name, named=named)))


def caught(name: str) -> frozenset[str]:
    """The requirements of the checks that must be red on a faulty node."""
    one = all_faulty_nodes()[name]
    return broken_by(replace(one, also={}))


def test_of_a_few_pairs_both_are_named() -> None:
    """By the cases that must be red on them; one may hide another, as a snapshot that has no end hides what is not in it."""
    missed = [pair for pair in drawn()[:SHORT] if not both_named(pair, named=True)]

    assert len(missed) <= 1, missed


@pytest.mark.soak
def test_of_a_hundred_pairs_both_are_named_in_ninety_five() -> None:
    missed = [pair for pair in drawn() if not both_named(pair)]

    assert len(missed) <= PAIRS // 20, missed


@pytest.mark.parametrize(
    ("name", "more", "requirement"),
    [
        ("changed-push-put-qos-priority", "push-values/priority-and-congestion-control-pass", "push/qos-is-forwarded"),
        ("changed-answer-put-payload-from-the-second-on", "", "reply/reply-delivers-value"),
        ("changed-query-parameters", "query-many/request-ids-begin-anew", "query/parameters-opaque"),
        ("believes-any-version", "", "session-establishment/refused-version-closes"),
        ("has-no-flush-timer", "routing-plain/a-publication-reaches-a-subscriber", "batching/flush-on-timer"),
        ("drops-a-version-silently", "establishment-init/its-own-zid-is-refused", "session-establishment/refused-version-closes"),
    ],
)  # fmt: skip
def test_a_field_that_a_law_names_tells_what_cases_noticed(name: str, more: str, requirement: str) -> None:
    one = all_faulty_nodes()[name]
    named = {*one.caught_by, *one.shown_in, more}
    items = [item for item in items_for(one.node, one.caught_by, one.values, most=1) if item.case.id in named]

    assert findings(one.node, items) == {requirement}


SAMPLE = 300
"""Faulty nodes that are drawn."""

ONE_IN = 20
"""Of so many faulty nodes at most one has a second finding, and of as many is one told under another requirement than its own."""


def fits(name: str) -> frozenset[str]:
    """The requirements of a node's own checks, those that they found broken, and those of the fields that routers forward."""
    own = all_faulty_nodes()[name].caught_by
    found = (one.key.requirement for one in judged(name) if one.key.check in own and one.verdict.is_wrong)
    laws = (law.requirement for law in all_laws().values() if fnmatchcase(law.id, FORWARDED))
    return broken_by(all_faulty_nodes()[name]) | {*laws, *found}


@pytest.mark.soak
def test_nearly_every_faulty_node_is_one_finding_and_names_its_own_requirement_first() -> None:
    told = {name: first_of(name) for name in random.Random(SEED).sample([*all_faulty_nodes()], SAMPLE)}
    many = [name for name, heads in told.items() if len(heads) > 1]
    others = [name for name, heads in told.items() if heads and heads[0] not in fits(name)]

    assert len(many) <= len(told) // ONE_IN, many
    assert len(others) <= len(told) // ONE_IN, others
