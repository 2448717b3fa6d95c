"""Counts how often the targets took each transition of the tables in the recorded conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.messages import Close, Declare, DQueryable, Err, Request, Response, ResponseFinal, UQueryable
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading.connection import Decoders
from zenoh_conformance.reading.connection import Seen as Told
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.reading.kinds import name_of
from zenoh_conformance.reading.names import Names
from zenoh_conformance.tables.query import QUERY, QueryInput
from zenoh_conformance.tables.query import START as NOBODY
from zenoh_conformance.tables.session import INITIATOR, RESPONDER, START, SessionInput, State, step
from zenoh_harness.errors import HarnessError
from zenoh_harness.files import conversations
from zenoh_reports.plain.runs import Run

MOST_CONVERSATIONS: Final = 400
"""The maximum number of conversations that are read."""
NAMES: Final = {seen.value: seen for seen in SessionInput}

Arrow = tuple[str, str]
Read = Sequence[tuple[Event, Sequence[Told]]]
"""A conversation, each event with its decoded messages."""


@dataclass(slots=True)
class Visits:
    """The counts."""

    sessions: dict[str, Counter[Arrow]] = field(
        default_factory=lambda: {"responder": Counter(), "initiator": Counter()}
    )
    """The target's role to the transitions of its table."""
    queries: Counter[Arrow] = field(default_factory=Counter)
    conversations: int = 0
    with_queries: int = 0
    """The number of conversations with one querier and one queryable."""


def count_visits(runs: Iterable[Run]) -> Visits:
    """Count the transitions in the conversations beside the results."""
    visits = Visits()
    for conversation in recorded_conversations(runs):
        decoders = Decoders(conversation)
        read = [(event, list(decoders.feed(event))) for event in conversation]
        visits.conversations += 1
        for role, a, b in walk(conversation, read):
            visits.sessions[role][a, b] += 1
        arrows = list(walk_query(conversation, read))
        visits.with_queries += bool(arrows)
        visits.queries.update(arrows)
    return visits


def recorded_conversations(runs: Iterable[Run]) -> Iterator[Conversation]:
    """Yield the recorded conversations of the runs, at most `MOST_CONVERSATIONS`."""
    left = MOST_CONVERSATIONS
    for run in runs:
        for name in dict.fromkeys(one.evidence for one in run.judgements if one.evidence):
            file = run.inside(name)
            if file is None or not left:
                continue
            left -= 1
            try:
                yield conversations.read(file)
            except HarnessError:
                continue


def walk(conversation: Conversation, read: Read) -> Iterator[tuple[str, str, str]]:
    """Yield (role of the target, from, to) for each transition of the session table."""
    state: dict[str, State] = {}
    for event, told in read:
        target = side_of_target(conversation, event)
        if event.sender is target:
            continue
        table = RESPONDER if target is Side.RESPONDER else INITIATOR
        for seen in symbol_of(event, told):
            here = state.setdefault(event.connection, START[target.value])
            if here is State.CLOSED:
                break
            state[event.connection] = there = step(table, here, seen)
            if seen in table[here]:
                yield target.value, here.value, there.value


def side_of_target(conversation: Conversation, event: Event) -> Side:
    """Return the target's side of the event's connection."""
    return Side.INITIATOR if conversation.connection(event.connection).initiator == "target" else Side.RESPONDER


def symbol_of(event: Event, told: Sequence[Told]) -> list[SessionInput]:
    """Return the symbol of an event in the session table."""
    if event.kind in (Happened.EOF, Happened.RESET):
        return [SessionInput.LINK_END]
    return [
        NAMES.get(name_of(one.message).partition("(")[0], SessionInput.GARBAGE)
        for one in told
        if one.kind != "batch" and not one.around
    ]


def walk_query(conversation: Conversation, read: Read) -> Iterator[Arrow]:
    """Yield the transitions of the query table, if one connection serves one key and another queries it."""
    said = [
        (event, what)
        for event, told in read
        if event.sender is not side_of_target(conversation, event)
        for what in said_of_queries(event, told)
    ]
    names = _Keys(said)
    if names.served is None or len(names.servers) != 1:
        return
    ours = [(event, what) for event, what in said if not isinstance(what, Request) or names.serves(event, what)]
    if len({event.connection for event, what in ours if isinstance(what, Request)}) > 1:
        return
    phase, gone = NOBODY, set()
    for event, what in ours:
        says = word(what, of_server=event.connection in names.servers)
        if says is not None and event.connection not in gone:
            gone |= {event.connection} if says is QueryInput.LEAVE else set()
            _, there = QUERY[phase][says]
            yield phase.value, there.value
            phase = there


def said_of_queries(event: Event, told: Sequence[Told]) -> Iterator[Any]:
    """Yield the messages of an event that the table or the key names use, and the end of the session by either side."""
    if event.kind in (Happened.EOF, Happened.RESET):
        yield event.kind
    for one in told:
        if isinstance(one.message, Request | Response | ResponseFinal):
            yield one.message
        elif isinstance(one.message, Declare):
            yield one.message.body
        elif isinstance(one.message, Close):
            yield Happened.EOF


def word(what: Any, *, of_server: bool) -> QueryInput | None:
    """Return the symbol of a message in the table, or None."""
    match what:
        case Request():
            return QueryInput.REQUEST
        case DQueryable():
            return QueryInput.DECLARE
        case UQueryable():
            return QueryInput.UNDECLARE
        case Response():
            return QueryInput.ERROR if isinstance(what.body, Err) else QueryInput.RESPONSE
        case ResponseFinal():
            return QueryInput.FINAL
        case Happened.EOF | Happened.RESET if of_server:
            return QueryInput.LEAVE
    return None


class _Keys:
    """The queryables of a conversation and their keys."""

    def __init__(self, said: Sequence[tuple[Event, Any]]) -> None:
        self.names: dict[str, Names] = {}
        self.servers: set[str] = set()
        self.served: str | None = None
        """Return the key that is served; None if there is none, or several."""
        keys = set()
        for event, what in said:
            names = self.names.setdefault(event.connection, Names())
            names.note(event.sender, what)
            if isinstance(what, DQueryable):
                self.servers.add(event.connection)
                keys.add(names.whole(event.sender, what.key))
        if len(keys) == 1:
            self.served = keys.pop()

    def serves(self, event: Event, request: Request) -> bool:
        """Whether a query is for the key that is served."""
        asked = self.names[event.connection].whole(event.sender, request.key)
        try:
            return asked is not None and self.served is not None and keyexpr.intersects(asked, self.served)
        except keyexpr.KeyExprError:
            return False
