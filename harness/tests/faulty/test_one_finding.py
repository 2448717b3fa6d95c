"""Faulty nodes in memory: each is one finding, of the requirement that its table names; of two faults both are named."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import cache

import pytest
from faulty_nodes import broken_by
from judged_in_memory import items_for, judgements_of

from zenoh_conformance.cases.faults import faults
from zenoh_harness.faulty import all_faulty_nodes
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
def alone(name: str, *, named: bool = False) -> frozenset[str]:
    """The requirements of the findings on one faulty node."""
    return findings(all_faulty_nodes()[name].node, items_of(name, named=named))


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
    return all(heads & alone(name, named=named) for name in pair if alone(name, named=named))


def test_of_a_few_pairs_both_are_named() -> None:
    """By the cases that must be red on them; one may hide another, as a snapshot that has no end hides what is not in it."""
    missed = [pair for pair in drawn()[:SHORT] if not both_named(pair, named=True)]

    assert len(missed) <= 1, missed


@pytest.mark.soak
def test_of_a_hundred_pairs_both_are_named_in_ninety_five() -> None:
    missed = [pair for pair in drawn() if not both_named(pair)]

    assert len(missed) <= PAIRS // 20, missed


ONE_IN = 7
"""Of so many faulty nodes at most one has a second finding; the goal is one in twenty."""


@pytest.mark.soak
def test_nearly_every_faulty_node_is_one_finding() -> None:
    many, named = [], []
    for name, one in all_faulty_nodes().items():
        heads = alone(name)
        many += [name] if len(heads) > 1 else []
        named += [name] if heads and not heads & broken_by(one) else []

    assert len(many) <= len(all_faulty_nodes()) // ONE_IN, many
    assert len(named) <= len(all_faulty_nodes()) // ONE_IN, named
