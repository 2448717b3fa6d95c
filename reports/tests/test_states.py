"""State diagrams: the arrows that conversations took, of sessions and of queries."""

from __future__ import annotations

from collections import Counter

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.reading.connection import Decoders
from zenoh_conformance.tables.query import QUERY, Phase
from zenoh_harness.faulty.table import provoke
from zenoh_harness.reference import Reference
from zenoh_reports.pages import states, visits

NOBODY, SERVED, OPEN = Phase.NOBODY.value, Phase.SERVED.value, Phase.OPEN.value


def talk(case: str, **parameters):
    """A case on the reference in memory: its conversation, and what was read in each event."""
    found = all_cases()[case]
    wanted = [one for one in found.parameters if parameters.items() <= dict(one).items()]
    _, scene = provoke(found, wanted[0], Reference)
    decoders = Decoders(scene.conversation)
    return scene.conversation, [(event, list(decoders.feed(event))) for event in scene.conversation]


def test_a_query_that_is_answered_takes_its_arrows():
    arrows = Counter(visits.walk_query(*talk("query-ends/any-number-of-answers-comes", answers=2)))
    assert arrows[NOBODY, SERVED] == 1
    assert arrows[SERVED, OPEN] == 1
    assert arrows[OPEN, OPEN] == 2
    assert arrows[OPEN, SERVED] == 1


def test_a_source_that_goes_away_leaves_nobody():
    assert (OPEN, NOBODY) in set(
        visits.walk_query(*talk("query-ends/a-query-ends-though-its-source-is-gone", how="left"))
    )


@pytest.mark.parametrize(
    "case", ["query-ends/of-two-sources-one-cannot-end-for-both", "establishment-sane/a-sane-proposal-is-answered"]
)
def test_what_has_not_the_form_of_the_table_is_not_counted(case):
    assert list(visits.walk_query(*talk(case))) == []


def test_a_session_takes_its_arrows():
    told = set(visits.walk(*talk("establishment-sane/a-sane-proposal-is-answered")))
    assert ("responder", "await-init", "init-acked") in told


def test_every_step_of_the_table_of_a_query_is_drawn():
    drawn = [label for labels in states.query_edges().values() for label in labels]
    words = [word for label in drawn for word in label.partition(" / ")[0].split(", ")]
    assert Counter(words) == Counter(says.value for row in QUERY.values() for says in row)


def learned(*steps: tuple[int, str, str, int]) -> states.LearnedAutomaton:
    told = tuple({"from": a, "said": said, "output": output, "to": b} for a, said, output, b in steps)
    return states.LearnedAutomaton("x", 1, states.drawing.draw("state 0", {}), told, ())


def test_learned_automata_are_walked_by_words_whatever_their_states_are_called():
    one = learned((0, "a", "1", 1), (1, "a", "2", 1), (1, "b", "end", 2), (2, "a", "end", 2), (2, "b", "end", 2))
    two = learned((0, "a", "1", 7), (7, "a", "3", 7), (7, "b", "end", 5), (5, "a", "end", 5), (5, "b", "end", 5))
    rows = states.together([one, two])
    assert [(row.after, row.said, row.answers, row.same) for row in rows] == [
        ((), "a", ("1", "1"), True),
        (("a",), "a", ("2", "3"), False),
        (("a",), "b", ("end", "end"), True),
    ]


def test_a_step_that_one_automaton_lacks_is_shown_as_such():
    first, second, *_ = states.together([learned((0, "a", "1", 1), (1, "a", "1", 0)), learned((0, "a", "1", 3))])
    assert first.answers == ("1", "1")
    assert (second.after, second.answers) == (("a",), ("1", None))
