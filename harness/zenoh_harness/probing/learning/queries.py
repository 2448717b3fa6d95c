"""Learn how a router handles a query between one querier and one queryable of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from zenoh_conformance.messages import (
    Err,
    Put,
    Reply,
    Request,
    Response,
    ResponseFinal,
    UQueryable,
)
from zenoh_conformance.tables.query import NOTHING, QUERY, START, Phase, QueryInput
from zenoh_conformance.talking import Asked, Scene, one_more, parties
from zenoh_harness.probing.learning.automaton import Divergence, Mealy, shortest_words
from zenoh_harness.probing.learning.learner import WordSystem

SYMBOLS = tuple(says.value for says in QueryInput)
"""The alphabet."""
ENTITY = 1_000_000
"""Entity id of the queryable."""
NEVER = 2_000_000
"""A request id that was never used."""


class QueryRoute:
    """A querier and a queryable around a router; the last query is the one under test."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.querier, self.queryable = parties(scene, "querier", "queryable")
        self.asked: Asked | None = None
        self.number: int | None = None
        """Request id at the queryable; None if the query never arrived there."""

    def say(self, symbol: str) -> str:
        """Perform one step, and return the messages that the router sends then, in the table's words."""
        before = [(party, len(party.heard())) for party in (self.querier, self.queryable)]
        getattr(self, f"_{QueryInput(symbol).name.lower()}")()
        self.queryable.settles()
        self.querier.settles()
        self.queryable.settles()
        news = [
            word for party, count in before for heard in party.heard()[count:] if (word := self._word(heard.message))
        ]
        return " ".join(news) or NOTHING

    def _word(self, message: Any) -> str:
        """Return the table's word for a message; empty for others, as those of earlier queries."""
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
        """End the queryable's session; a final that is due is awaited, since a router may notice the end later than we do."""
        due = self.asked is not None and self.number is not None and not self.querier.finals(self.asked)
        self.queryable.leaves()
        if due and self.asked is not None:
            self.querier.expect_final(self.asked)
        self.queryable, self.number = one_more(self.scene, "queryable", self.querier), None


def query_system(stage: Callable[[], Scene]) -> WordSystem[QueryRoute]:
    """Return a router as AALpy's system under learning; each word gets new sessions."""

    def shut(route: QueryRoute) -> None:
        for party in (route.querier, route.queryable):
            party.us.hang_up()

    return WordSystem(lambda: QueryRoute(stage()), QueryRoute.say, shut)


def matching_states(machine: Mealy) -> Iterator[tuple[int, Phase, tuple[str, ...]]]:
    """Yield pairs of a learned state and a table phase that agree so far, each with the shortest word to it."""

    def successors(pair: tuple[int, Phase]) -> Iterator[tuple[str, tuple[int, Phase]]]:
        here, phase = pair
        for symbol in machine.symbols:
            output, there = machine.steps[here, symbol]
            due, after = QUERY[phase][QueryInput(symbol)]
            if output == due:
                yield symbol, (there, after)

    return ((here, phase, word) for word, (here, phase) in shortest_words((0, START), successors))


def deviations(machine: Mealy) -> list[Divergence]:
    """Return the steps in which a learned router differs from the table, shortest words first."""
    found = []
    for here, phase, word in matching_states(machine):
        for symbol in machine.symbols:
            output, due = machine.steps[here, symbol][0], QUERY[phase][QueryInput(symbol)][0]
            if output != due:
                found.append(Divergence((*word, symbol), output, due))
    return found


def names(machine: Mealy) -> dict[int, str]:
    """Name each learned state after its phase, or by its number where the table does not lead to it."""
    met, taken, text = dict[int, Phase](), set[str](), dict[int, str]()
    for here, phase, _ in matching_states(machine):
        met.setdefault(here, phase)
    for state in machine.states:
        name = met[state].value if state in met else f"state {state}"
        text[state] = name if name not in taken else f"{name} ({state})"
        taken.add(name)
    return text
