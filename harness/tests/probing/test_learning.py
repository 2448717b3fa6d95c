"""Learning the handshake's automaton: of the reference it is the table, of a wrong node it shows where it deviates."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from faulty_nodes import find_faulty_node

from zenoh_conformance.talking.scene import Scene
from zenoh_harness.probing.learning import drawing
from zenoh_harness.probing.learning.automaton import (
    GONE,
    WORKS,
    Mealy,
    deviations,
    divergent_steps,
    first_divergence,
    names,
)
from zenoh_harness.probing.learning.learner import MEANING, learn
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene


def scenes(node: type[Reference]) -> Callable[[], Scene]:
    """Scenes in memory around one kind of node."""
    return lambda: MemoryScene("session-establishment/handshake-messages-in-order", node)


def learned(node: type[Reference]) -> Mealy:
    """Its automaton."""
    return learn(scenes(node))[0]


def test_the_reference_is_the_table() -> None:
    machine, words = learn(scenes(Reference))

    assert deviations(machine, MEANING) == []
    assert len(machine.states) == 4
    assert words > 100
    assert list(names(machine, MEANING).values()) == ["await-init", "init-acked", "closed", "live"]
    live = next(state for state, name in names(machine, MEANING).items() if name == "live")
    assert machine.steps[live, "KeepAlive"] == (WORKS, live)


@pytest.mark.parametrize(
    ("wrong", "word", "one"),
    [
        ("opens-without-init", ("OpenSyn",), "OpenAck"),
        ("answers-a-second-init", ("InitSyn", "InitSyn"), "InitAck"),
        ("believes-any-cookie", ("InitSyn", "OpenSyn, stale"), "OpenAck"),
        ("ignores-what-is-not-due", ("OpenSyn",), "silence"),
        ("shakes-hands-in-a-session", ("InitSyn", "OpenSyn", "InitSyn"), "InitAck"),
        ("opens-and-does-nothing", ("InitSyn", "OpenSyn", "InitSyn"), "silence"),
        ("answers-nothing", ("InitSyn",), "silence"),
    ],
)
def test_a_wrong_node_is_told_by_the_shortest_conversation(wrong: str, word: tuple[str, ...], one: str) -> None:
    node = find_faulty_node(wrong).node

    found = deviations(learned(node), MEANING)

    assert (found[0].word, found[0].one) == (word, one)


def test_two_targets_are_told_apart_by_the_shortest_conversation() -> None:
    apart = first_divergence(learned(Reference), learned(find_faulty_node("refuses-without-close").node))

    assert apart is not None
    assert len(apart.word) == 1
    assert (apart.one, apart.other) == ("Close(INVALID)", "end")
    assert first_divergence(learned(Reference), learned(Reference)) is None


def test_every_step_in_which_two_differ_is_found_and_drawn_in_red() -> None:
    one, other = learned(Reference), learned(find_faulty_node("refuses-without-close").node)
    apart = divergent_steps(one, other)

    assert divergent_steps(one, one) == {}
    assert set(apart.values()) == {"end"}
    assert {state for state, _ in apart} == {0, 1, 3}
    text = names(one, MEANING)
    assert "#b00020" in drawing.svg(one, text, "one", apart, "other")
    assert "#b00020" not in drawing.svg(one, text, "one")


def test_pictures_are_the_same_each_time_and_can_be_read() -> None:
    machine = learned(Reference)
    text = names(machine, MEANING)

    first, second = (drawing.svg(learned(Reference), text, "a <b> & c") for _ in range(2))

    assert first == second
    assert ET.fromstring(first).tag.endswith("svg")  # noqa: S314 - it is our own
    assert "InitSyn / InitAck" in drawing.mermaid(machine, text)
    assert drawing.dot(machine, text).startswith("digraph")
    assert GONE not in drawing.mermaid(machine, text)
