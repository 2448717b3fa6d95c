"""The automaton of a query: a router between one querier and one queryable of ours, asked word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from aalpy.base import SUL

from zenoh_conformance.messages import (
    Err,
    Put,
    Reply,
    Request,
    Response,
    ResponseFinal,
    UQueryable,
)
from zenoh_conformance.party import Asked, one_more, parties
from zenoh_conformance.query import NOTHING, QUERY, START, Phase, Says
from zenoh_conformance.scene import Scene
from zenoh_harness.probing.learning.automaton import Difference, Mealy

SYMBOLS = tuple(says.value for says in Says)
"""The alphabet."""
ENTITY = 1_000_000
"""The queryable's id."""
NEVER = 2_000_000
"""The id of a query that never came."""


class Between:
    """One querier and one queryable around a router, and the query that is talked about: the last one."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.querier, self.queryable = parties(scene, "querier", "queryable")
        self.asked: Asked | None = None
        self.number: int | None = None
        """The id that the query has at the queryable; None where it never came there."""

    def say(self, symbol: str) -> str:
        """Say one thing, and what the router says then, in words of the table."""
        before = [(party, len(party.heard())) for party in (self.querier, self.queryable)]
        getattr(self, f"_{Says(symbol).name.lower()}")()
        self.queryable.settles()
        self.querier.settles()
        self.queryable.settles()
        news = [
            word for party, count in before for heard in party.heard()[count:] if (word := self._word(heard.message))
        ]
        return " ".join(news) or NOTHING

    def _word(self, message: Any) -> str:
        """What the table calls a message; nothing for what it does not speak of: other queries than the last one among it."""
        if isinstance(message, Response | ResponseFinal) and (self.asked is None or message.id != self.asked.id):
            return ""
        if isinstance(message, Response):
            return type(message.body).__name__ if isinstance(message.body, Err) else "Response"
        return type(message).__name__ if isinstance(message, Request | ResponseFinal) else ""

    def _declare(self) -> None:
        self.queryable.declares_queryable("k", entity=ENTITY)

    def _undeclare(self) -> None:
        self.queryable.retracts(UQueryable, ENTITY)

    def _request(self) -> None:
        before = len(self.queryable.heard(Request))
        self.asked = self.querier.asks("k", consolidation=1, timeout_ms=120_000)
        self.querier.settles()
        came = self.queryable.now(Request)[before:]
        self.number = came[0].message.id if came else None

    def _response(self) -> None:
        self._answers(Reply(body=Put(payload=b"1")))

    def _error(self) -> None:
        self._answers(Err(payload=b"1"))

    def _answers(self, body: Any) -> None:
        number = NEVER if self.number is None else self.number
        self.queryable.says(Response(id=number, key=self.queryable.key("k"), body=body))

    def _final(self) -> None:
        self.queryable.says(ResponseFinal(id=NEVER if self.number is None else self.number))

    def _leave(self) -> None:
        """A final that is due is waited for: a router may notice the end later than we."""
        due = self.asked is not None and self.number is not None and not self.querier.finals(self.asked)
        self.queryable.leaves()
        if due and self.asked is not None:
            self.querier.expect_final(self.asked)
        self.queryable, self.number = one_more(self.scene, "queryable", self.querier), None


class AskedBetween(SUL):  # type: ignore[misc]
    """A router as AALpy sees it: words in, outputs out, new sessions for each word."""

    def __init__(self, stage: Callable[[], Scene]) -> None:
        super().__init__()
        self._stage = stage
        self._now: Between | None = None

    def pre(self) -> None:
        """New sessions."""
        self._now = Between(self._stage())

    def post(self) -> None:
        """Let go of them."""
        if self._now is not None:
            for party in (self._now.querier, self._now.queryable):
                party.us.wire.shut()

    def step(self, letter: str) -> str:
        """Say something, and what comes of it."""
        assert self._now is not None
        return self._now.say(letter)


def expected() -> Mealy:
    """The table as an automaton."""
    number = {phase: at for at, phase in enumerate(sorted(QUERY, key=lambda phase: phase is not START))}
    steps = {
        (number[phase], says.value): (output, number[there])
        for phase, row in QUERY.items() for says, (output, there) in row.items()
    }  # fmt: skip
    return Mealy(SYMBOLS, steps)


def walked(machine: Mealy) -> Iterator[tuple[int, Phase, tuple[str, ...]]]:
    """Pairs of a learned state and a phase of the table that agree so far, each with the shortest word to it."""
    queue: list[tuple[int, Phase, tuple[str, ...]]] = [(0, START, ())]
    seen = {(0, START)}
    while queue:
        here, phase, word = queue.pop(0)
        yield here, phase, word
        for symbol in machine.symbols:
            output, there = machine.steps[here, symbol]
            due, after = QUERY[phase][Says(symbol)]
            if output == due and (there, after) not in seen:
                seen.add((there, after))
                queue.append((there, after, (*word, symbol)))


def deviations(machine: Mealy) -> list[Difference]:
    """Where a learned router says something else than the table has, the shortest conversations first."""
    found = []
    for here, phase, word in walked(machine):
        for symbol in machine.symbols:
            output, due = machine.steps[here, symbol][0], QUERY[phase][Says(symbol)][0]
            if output != due:
                found.append(Difference((*word, symbol), output, due))
    return found


def names(machine: Mealy) -> dict[int, str]:
    """Each learned state by its phase; those that the table does not lead to by their number."""
    met, taken, text = dict[int, Phase](), set[str](), dict[int, str]()
    for here, phase, _ in walked(machine):
        met.setdefault(here, phase)
    for state in machine.states:
        name = met[state].value if state in met else f"state {state}"
        text[state] = name if name not in taken else f"{name} ({state})"
        taken.add(name)
    return text
