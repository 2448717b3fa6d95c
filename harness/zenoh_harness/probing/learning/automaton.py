"""A Mealy machine as data, and the shortest conversation that tells it from a table or from another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from zenoh_conformance.session import ANSWERS, RESPONDER, START, Seen, State, Table

GONE = "gone"
"""What is seen of a link that has ended."""
WORKS = "works"
"""A live session that answers our fence after what was said."""
SILENCE = "silence"
"""Nothing came, though the link is up and no session is live."""
END = "end"
"""The link ended without CLOSE."""


@dataclass(frozen=True, slots=True)
class Mealy:
    """States are numbers, 0 is where it begins; each symbol has an output and a next state everywhere."""

    symbols: tuple[str, ...]
    steps: Mapping[tuple[int, str], tuple[str, int]]

    @property
    def states(self) -> list[int]:
        """All of them."""
        return sorted({state for state, _ in self.steps})

    @property
    def sinks(self) -> set[int]:
        """States in which everything is met by an ended link."""
        return {state for state in self.states if all(self.steps[state, symbol][0] == GONE for symbol in self.symbols)}

    def access(self) -> dict[int, tuple[str, ...]]:
        """State to the shortest word that leads there."""
        words: dict[int, tuple[str, ...]] = {0: ()}
        queue = [0]
        while queue:
            here = queue.pop(0)
            for symbol in self.symbols:
                there = self.steps[here, symbol][1]
                if there not in words:
                    words[there] = (*words[here], symbol)
                    queue.append(there)
        return words


@dataclass(frozen=True, slots=True)
class Difference:
    """The shortest word after which two sides say different things, the last symbol included."""

    word: tuple[str, ...]
    one: str
    other: str
    """What the one and the other answer to the last symbol."""


def refused(output: str) -> bool:
    """Whether the link was given up."""
    return output == END or output.startswith("Close(")


def difference(one: Mealy, other: Mealy) -> Difference | None:
    """The shortest conversation that tells two machines apart, of the symbols that both know; None when there is none."""
    symbols = [symbol for symbol in one.symbols if symbol in other.symbols]
    seen, queue = {(0, 0)}, [((), 0, 0)]
    words: list[tuple[tuple[str, ...], int, int]] = list(queue)
    while words:
        word, here, there = words.pop(0)
        for symbol in symbols:
            says, next_here = one.steps[here, symbol]
            text, next_there = other.steps[there, symbol]
            if says != text:
                return Difference((*word, symbol), says, text)
            if (next_here, next_there) not in seen:
                seen.add((next_here, next_there))
                words.append(((*word, symbol), next_here, next_there))
    return None


def differences(one: Mealy, other: Mealy) -> dict[tuple[int, str], str]:
    """Every step of the one, by its state and what is said, in which the other answers something else; and that answer.

    Both are walked side by side, and no further where they part.
    """
    symbols = [symbol for symbol in one.symbols if symbol in other.symbols]
    pairs: list[tuple[int, int]] = [(0, 0)]
    found: dict[tuple[int, str], str] = {}
    for here, there in pairs:
        for symbol in symbols:
            (says, next_here), (text, next_there) = one.steps[here, symbol], other.steps[there, symbol]
            if says != text:
                found.setdefault((here, symbol), text)
            elif (next_here, next_there) not in pairs:
                pairs.append((next_here, next_there))
    return found


def allowed(table: Table, state: State, symbol: Seen) -> tuple[frozenset[str], str]:
    """What the table lets be seen when a symbol comes in a state, besides a refusal; and the same in words.

    What a state does not list may be passed over; a step of the handshake before LIVE may not.
    """
    if state is State.CLOSED:
        return frozenset({GONE}), "nothing: the link has ended"
    if (state, symbol) in ANSWERS:
        answer = ANSWERS[state, symbol].value
        return frozenset({answer}), answer
    if symbol in (Seen.CLOSE, Seen.LINK_END):
        return frozenset(), "the link's end"
    if symbol in table[state]:
        return frozenset({WORKS}), "a session that works"
    if state is State.LIVE:
        return frozenset({WORKS}), "a refusal, or a session that works"
    if symbol in (Seen.KEEP_ALIVE, Seen.FRAME, Seen.FRAGMENT, Seen.OAM, Seen.JOIN):
        return frozenset({SILENCE}), "a refusal, or nothing"
    return frozenset(), "a refusal"


def deviations(machine: Mealy, meaning: Mapping[str, Seen], table: Table = RESPONDER) -> list[Difference]:
    """Where a learned machine does what the table does not list, the shortest conversations first."""
    found = []
    for word, state, here in _walk(machine, meaning, table):
        for symbol in machine.symbols:
            output, _ = machine.steps[here, symbol]
            may, text = allowed(table, state, meaning[symbol])
            due = (state, meaning[symbol]) in ANSWERS or meaning[symbol] in table[state]
            if output in may or (refused(output) and not (due and meaning[symbol] is not Seen.CLOSE)):
                continue
            found.append(Difference((*word, symbol), output, text))
    return found


def _walk(machine: Mealy, meaning: Mapping[str, Seen], table: Table) -> Iterator[tuple[tuple[str, ...], State, int]]:
    """Pairs of a state of the table and a learned one, each with the shortest word to it."""
    start = (START["responder"], 0)
    seen, queue = {start}, [((), *start)]
    words: list[tuple[tuple[str, ...], State, int]] = list(queue)
    while words:
        word, state, here = words.pop(0)
        yield word, state, here
        for symbol in machine.symbols:
            output, there = machine.steps[here, symbol]
            after = state
            if refused(output) or output == GONE:
                after = State.CLOSED
            elif (state, meaning[symbol]) in ANSWERS:
                after = table[state][meaning[symbol]]
            if (after, there) not in seen:
                seen.add((after, there))
                words.append(((*word, symbol), after, there))


def names(machine: Mealy, meaning: Mapping[str, Seen], table: Table = RESPONDER) -> dict[int, str]:
    """Each learned state by the state of the table that it is met in first."""
    text: dict[int, str] = {}
    taken: set[str] = set()
    for word, state, here in _walk(machine, meaning, table):
        if here not in text:
            name = state.value if state.value not in taken else f"{state.value} after {word[-1]}"
            text[here] = name
            taken.add(name)
    return text
