"""Faults planted in our codec are noticed by the vectors alone."""

from __future__ import annotations

from collections import Counter

import pytest
from mutation import by_hand, facts
from mutation.engine import Entry, Mutant, NoSuchPlace, Text, edited, noticed, planted

from zenoh_conformance.spec.requirement import requirements

pytestmark = pytest.mark.long


def survivors(mutants, vectors, ours):
    """Names of the faults that no vector notices."""
    return [mutant.name for mutant in mutants if not noticed(mutant, vectors, ours.disagreements)]


def test_a_fault_made_by_hand_is_noticed(vectors, ours):
    mutants = list(by_hand.mutants())
    assert len(mutants) >= 60
    assert survivors(mutants[::4], vectors, ours) == []


def test_a_fault_made_from_a_fact_is_noticed(vectors, ours):
    mutants = list(facts.mutants())
    assert survivors(mutants[::20], vectors, ours) == []


def test_every_layout_has_a_fault():
    have = {mutant.requirement for mutant in (*facts.mutants(), *by_hand.mutants())}
    want = {each.id for each in requirements().values() if each.by_codec and not each.unobservable}
    assert sorted(want - have) == []


@pytest.mark.soak
def test_every_fault_is_noticed(vectors, ours, capsys):
    mutants = [*facts.mutants(), *by_hand.mutants()]
    lost = survivors(mutants, vectors, ours)
    layouts = {mutant.requirement for mutant in mutants} - {""}
    with capsys.disabled():
        print(f"\n{len(mutants)} faults of {len(layouts)} layouts, {len(mutants) - len(lost)} noticed")
    assert lost == []


def test_every_fault_has_its_place():
    for mutant in (*facts.mutants(), *by_hand.mutants()):
        with planted(mutant):
            pass


def test_names_are_told_apart():
    counts = Counter(mutant.name for mutant in (*facts.mutants(), *by_hand.mutants()))
    assert [name for name, count in counts.items() if count > 1] == []


# --- the engine ---------------------------------------------------------------------------------------------------------


def double(value):
    return value * 2


def test_a_fault_is_taken_back():
    table = {"a": 1}
    with planted(Mutant("x", (Text(double, "* 2", "* 3"), Entry(table, "a", 2), Entry(table, "b", 3)))):
        assert double(2) == 6 and table == {"a": 2, "b": 3}
    assert double(2) == 4 and table == {"a": 1}


def test_a_fault_without_a_place_is_said():
    with pytest.raises(NoSuchPlace, match="double"):
        edited(double, [Text(double, "* 4", "* 3")])


def test_what_changes_nothing_is_not_noticed(vectors, ours):
    assert noticed(Mutant("the same", ()), vectors, ours.disagreements) == ""
