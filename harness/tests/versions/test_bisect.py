"""Where a verdict turns is found in a logarithm of runs, each target asked once, none claimed that was not judged."""

import math

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.versions.bisect import turns

TARGETS = [str(number) for number in range(32)]


def asking(bad, unjudged=()):
    """Answers `fail` for the bad ones; and the list of those that were asked."""
    asked = []

    def ask(target):
        asked.append(target)
        number = int(target)
        return Verdict.ERROR if number in unjudged else Verdict.FAIL if number in bad else Verdict.PASS

    return ask, asked


@pytest.mark.parametrize("first", range(1, 32))
def test_a_fault_that_came_is_found_by_halving(first):
    ask, asked = asking(range(first, 32))
    assert [(turn.before, turn.after, turn.became) for turn in turns(TARGETS, ask)] == [
        (str(first - 1), str(first), Verdict.FAIL)
    ]
    assert len(asked) <= 2 + math.log2(len(TARGETS))
    assert len(asked) == len(set(asked))


def test_a_fault_that_came_and_went_is_found_at_both_borders():
    ask, asked = asking(range(13, 22))
    assert [(turn.after, turn.bad) for turn in turns(TARGETS, ask)] == [("13", True), ("22", False)]
    assert len(asked) <= 14


def test_what_never_turns_is_told_as_such():
    assert turns(TARGETS[:5], asking(())[0]) == []
    assert turns(TARGETS[:1], asking(range(1))[0]) == []
    assert turns([], asking(())[0]) == []


@pytest.mark.parametrize("unjudged", [{0}, {31}, {20}, {21}, {19, 20, 22}, {0, 31, 15, 16, 23}])
def test_what_cannot_be_judged_is_as_if_it_were_not_there(unjudged):
    ask, asked = asking(range(21, 32), unjudged)
    [turn] = turns(TARGETS, ask)
    assert turn.before == str(max(number for number in range(21) if number not in unjudged))
    assert turn.after == str(min(number for number in range(21, 32) if number not in unjudged))
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("verdict", [Verdict.KNOWN, Verdict.WARN, Verdict.FLAKY, Verdict.CRASH, Verdict.ZOMBIE])
def test_every_deviation_is_bad_a_listed_one_too(verdict):
    [turn] = turns(["a", "b"], lambda target: verdict if target == "a" else Verdict.SLOW)
    assert (turn.bad, turn.became) == (False, Verdict.SLOW)
