"""Walks of live campaigns: each sequence of a few correct messages stands in some input, about once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from zenoh_fuzz.live import walks
from zenoh_fuzz.live.acts import Input
from zenoh_fuzz.live.planted import is_across, kind_of_act, trigger_of

LINKS_OF_THREE = ("aaa", "aab", "aba", "abb")
"""The ways in which three messages go over one or two links, whatever these are called."""
SHORT_WALKS = sum(length == 3 for _, length in walks.PATTERNS)


def renamed(made: Input) -> str:
    """Return the links of an input, those called `a` and `b` that come first and second."""
    names = dict(zip(dict.fromkeys(act.link for act in made), "ab", strict=False))
    return "".join(names[act.link] for act in made)


def windows(rows: Iterable[Input], length: int) -> Iterator[Input]:
    """Yield what stands in a row in some input."""
    return (made[at : at + length] for made in rows for at in range(len(made) - length + 1))


@pytest.fixture(scope="module")
def all_walks() -> dict[str, list[Input]]:
    """The inputs of each walk."""
    made: dict[str, list[Input]] = {}
    for name, one in walks.walks(seed=1):
        made.setdefault(name, []).append(one)
    return made


def test_walks_hold_each_sequence_of_three(all_walks: dict[str, list[Input]]) -> None:
    """Any three correct messages follow each other in some input, over links of each way."""
    short = list(all_walks.values())[:SHORT_WALKS]
    seen = {(renamed(made), *(act.segments for act in made)) for rows in short for made in windows(rows, 3)}

    assert len(seen) == len(LINKS_OF_THREE) * len(walks.correct_words()) ** 3


def test_walks_say_each_sequence_about_once(all_walks: dict[str, list[Input]]) -> None:
    """A message costs a target the same wherever it stands: the short walks have few more than there are sequences."""
    short = list(all_walks.values())[:SHORT_WALKS]
    sequences = len(LINKS_OF_THREE) * len(walks.correct_words()) ** 3

    assert sum(len(made) for rows in short for made in rows) < 1.1 * sequences


@pytest.mark.parametrize("number", [number for number in range(20) if len(trigger_of(number)) == 4])
def test_a_walk_holds_what_triggers_planted_nodes(number: int, all_walks: dict[str, list[Input]]) -> None:
    """Without any help, some input of the walks holds the four messages of a trigger in a row, on one link."""
    kinds = {act.segments: kind_of_act(act) for act in walks.correct_words()}
    rows = windows(all_walks["walk of 4 on a"], 4)

    assert any(tuple(kinds[act.segments] for act in row) == trigger_of(number) for row in rows)
    assert not is_across(number)


@pytest.mark.parametrize(("letters", "length"), [(2, 3), (3, 2), (5, 3), (4, 4)])
def test_a_de_bruijn_sequence_holds_each_word_once(letters: int, length: int) -> None:
    """Read as a circle, the sequence has as many different words as there are."""
    numbers = list(walks.de_bruijn(letters, length))
    circle = numbers + numbers[: length - 1]

    assert len({tuple(circle[at : at + length]) for at in range(len(numbers))}) == letters**length == len(numbers)
