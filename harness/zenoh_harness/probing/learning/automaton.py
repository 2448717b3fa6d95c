"""A Mealy machine as data, and the shortest word on which it differs from a table or from another machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from zenoh_conformance.tables.session import ANSWERS, RESPONDER, START, SessionInput, State, Table

GONE = "gone"
"""Output on a link that has ended."""
WORKS = "works"
"""Output of a live session that still answers our fence."""
SILENCE = "silence"
"""No answer, while the link is up and no session is live."""
END = "end"
"""The link ended without CLOSE."""


Node = TypeVar("Node", bound=Hashable)


def shortest_words(
    start: Node, successors: Callable[[Node], Iterable[tuple[str, Node]]]
) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield every node reachable from `start`, breadth first, with the shortest word to it."""
    seen = {start}
    queue: deque[tuple[tuple[str, ...], Node]] = deque([((), start)])
    while queue:
        word, node = queue.popleft()
        yield word, node
        for symbol, after in successors(node):
            if after not in seen:
                seen.add(after)
                queue.append(((*word, symbol), after))


@dataclass(frozen=True, slots=True)
class Mealy:
    """A Mealy machine; states are numbers, 0 is the initial one, and every symbol has an output and a next state in every state."""

    symbols: tuple[str, ...]
    steps: Mapping[tuple[int, str], tuple[str, int]]

    @property
    def states(self) -> list[int]:
        """All states, sorted."""
        return sorted({state for state, _ in self.steps})

    @property
    def sinks(self) -> set[int]:
        """States in which every symbol meets an ended link."""
        return {state for state in self.states if all(self.steps[state, symbol][0] == GONE for symbol in self.symbols)}

    def access(self) -> dict[int, tuple[str, ...]]:
        """Return the shortest word that leads to each state."""
        steps = shortest_words(0, lambda state: [(symbol, self.steps[state, symbol][1]) for symbol in self.symbols])
        return {state: word for word, state in steps}


@dataclass(frozen=True, slots=True)
class Divergence:
    """The shortest word on which two sides differ, the differing symbol included."""

    word: tuple[str, ...]
    one: str
    other: str
    """Outputs of the two sides for the last symbol."""


def is_refusal(output: str) -> bool:
    """Whether the output refuses: the link ends, with or without CLOSE."""
    return output == END or output.startswith("Close(")


def first_divergence(one: Mealy, other: Mealy) -> Divergence | None:
    """Return the shortest word on which two machines differ, over their common symbols; None if they do not."""
    for word, (here, there) in _common_states(one, other):
        for symbol in _common_symbols(one, other):
            output, other_output = one.steps[here, symbol][0], other.steps[there, symbol][0]
            if output != other_output:
                return Divergence((*word, symbol), output, other_output)
    return None


def divergent_steps(one: Mealy, other: Mealy) -> dict[tuple[int, str], str]:
    """Return each step of the first machine (state, symbol) in which the second answers something else, with that answer.

    Both machines are walked in parallel, and not beyond a difference.
    """
    answers = (
        ((here, symbol), one.steps[here, symbol][0], other.steps[there, symbol][0])
        for _, (here, there) in _common_states(one, other)
        for symbol in _common_symbols(one, other)
    )
    divergent: dict[tuple[int, str], str] = {}
    for step, output, other_output in answers:
        if output != other_output:
            divergent.setdefault(step, other_output)
    return divergent


def _common_symbols(one: Mealy, other: Mealy) -> list[str]:
    return [symbol for symbol in one.symbols if symbol in other.symbols]


def _common_states(one: Mealy, other: Mealy) -> Iterator[tuple[tuple[str, ...], tuple[int, int]]]:
    """Yield the pairs of states that words with equal outputs reach, with the shortest such word."""

    def successors(pair: tuple[int, int]) -> Iterator[tuple[str, tuple[int, int]]]:
        for symbol in _common_symbols(one, other):
            (output, here), (other_output, there) = one.steps[pair[0], symbol], other.steps[pair[1], symbol]
            if output == other_output:
                yield symbol, (here, there)

    return shortest_words((0, 0), successors)


def allowed_outputs(table: Table, state: State, symbol: SessionInput) -> tuple[frozenset[str], str]:
    """Return the outputs that the table allows for a symbol in a state, besides a refusal, and the same in words.

    A node may ignore what a state does not list, except a step of the handshake before LIVE.
    """
    if state is State.CLOSED:
        return frozenset({GONE}), "nothing: the link has ended"
    if (state, symbol) in ANSWERS:
        answer = ANSWERS[state, symbol].value
        return frozenset({answer}), answer
    if symbol in (SessionInput.CLOSE, SessionInput.LINK_END):
        return frozenset(), "the link's end"
    if symbol in table[state]:
        return frozenset({WORKS}), "a session that works"
    if state is State.LIVE:
        return frozenset({WORKS}), "a refusal, or a session that works"
    if symbol in (
        SessionInput.KEEP_ALIVE,
        SessionInput.FRAME,
        SessionInput.FRAGMENT,
        SessionInput.OAM,
        SessionInput.JOIN,
    ):
        return frozenset({SILENCE}), "a refusal, or nothing"
    return frozenset(), "a refusal"


def deviations(machine: Mealy, meaning: Mapping[str, SessionInput], table: Table = RESPONDER) -> list[Divergence]:
    """Return the steps in which a learned machine does what the table does not list, shortest words first."""
    found = []
    for word, state, here in _walk(machine, meaning, table):
        for symbol in machine.symbols:
            output, _ = machine.steps[here, symbol]
            may, text = allowed_outputs(table, state, meaning[symbol])
            due = (state, meaning[symbol]) in ANSWERS or meaning[symbol] in table[state]
            if output in may or (is_refusal(output) and not (due and meaning[symbol] is not SessionInput.CLOSE)):
                continue
            found.append(Divergence((*word, symbol), output, text))
    return found


def _walk(
    machine: Mealy, meaning: Mapping[str, SessionInput], table: Table
) -> Iterator[tuple[tuple[str, ...], State, int]]:
    """Yield pairs of a table state and a learned state, each with the shortest word to it."""

    def successors(pair: tuple[State, int]) -> Iterator[tuple[str, tuple[State, int]]]:
        state, here = pair
        for symbol in machine.symbols:
            output, there = machine.steps[here, symbol]
            after = state
            if is_refusal(output) or output == GONE:
                after = State.CLOSED
            elif (state, meaning[symbol]) in ANSWERS:
                after = table[state][meaning[symbol]]
            yield symbol, (after, there)

    return ((word, *pair) for word, pair in shortest_words((START["responder"], 0), successors))


def names(machine: Mealy, meaning: Mapping[str, SessionInput], table: Table = RESPONDER) -> dict[int, str]:
    """Name each learned state after the table state in which it is first met."""
    text: dict[int, str] = {}
    taken: set[str] = set()
    for word, state, here in _walk(machine, meaning, table):
        if here not in text:
            name = state.value if state.value not in taken else f"{state.value} after {word[-1]}"
            text[here] = name
            taken.add(name)
    return text
