"""How often the targets took each arrow of the tables, in the conversations that were kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance import keyexpr
from zenoh_conformance.connection import Decoders
from zenoh_conformance.connection import Seen as Told
from zenoh_conformance.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.kinds import name_of
from zenoh_conformance.messages import Close, Declare, DQueryable, Err, Request, Response, ResponseFinal, UQueryable
from zenoh_conformance.names import Names
from zenoh_conformance.query import QUERY, Says
from zenoh_conformance.query import START as NOBODY
from zenoh_conformance.session import INITIATOR, RESPONDER, START, Seen, State, step
from zenoh_harness.errors import HarnessError
from zenoh_harness.files import conversations
from zenoh_reports.plain.runs import Run

MOST_CONVERSATIONS: Final = 400
"""Conversations in which visits are counted."""
NAMES: Final = {seen.value: seen for seen in Seen}

Arrow = tuple[str, str]
Read = Sequence[tuple[Event, Sequence[Told]]]
"""A conversation, each event with what was read in it."""


@dataclass(slots=True)
class Visits:
    """What was counted."""

    sessions: dict[str, Counter[Arrow]] = field(
        default_factory=lambda: {"responder": Counter(), "initiator": Counter()}
    )
    """The target's role to the arrows of its table."""
    queries: Counter[Arrow] = field(default_factory=Counter)
    conversations: int = 0
    with_queries: int = 0
    """Conversations that have the form of the table of a query: one who asks, one who answers."""


def visited(runs: Iterable[Run]) -> Visits:
    """The arrows that were taken in the conversations beside the results."""
    visits = Visits()
    for conversation in kept(runs):
        decoders = Decoders(conversation)
        read = [(event, list(decoders.feed(event))) for event in conversation]
        visits.conversations += 1
        for role, a, b in walk(conversation, read):
            visits.sessions[role][a, b] += 1
        arrows = list(walk_query(conversation, read))
        visits.with_queries += bool(arrows)
        visits.queries.update(arrows)
    return visits


def kept(runs: Iterable[Run]) -> Iterator[Conversation]:
    """The conversations beside the results, at most `MOST_CONVERSATIONS`."""
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
    """(role of the target, from, to): the arrows of the session's table that the target's connections took."""
    state: dict[str, State] = {}
    for event, told in read:
        target = side_of_target(conversation, event)
        if event.sender is target:
            continue
        table = RESPONDER if target is Side.RESPONDER else INITIATOR
        for seen in heard(event, told):
            here = state.setdefault(event.connection, START[target.value])
            if here is State.CLOSED:
                break
            state[event.connection] = there = step(table, here, seen)
            if seen in table[here]:
                yield target.value, here.value, there.value


def side_of_target(conversation: Conversation, event: Event) -> Side:
    """On which side of this event's connection the target is."""
    return Side.INITIATOR if conversation.connection(event.connection).initiator == "target" else Side.RESPONDER


def heard(event: Event, told: Sequence[Told]) -> list[Seen]:
    """What an event is to the session's table."""
    if event.kind in (Happened.EOF, Happened.RESET):
        return [Seen.LINK_END]
    return [
        NAMES.get(name_of(one.message).partition("(")[0], Seen.GARBAGE)
        for one in told if one.kind != "batch" and not one.around
    ]  # fmt: skip


def walk_query(conversation: Conversation, read: Read) -> Iterator[Arrow]:
    """The arrows of a query's table, where one connection of ours serves one key and one asks for it; else none."""
    said = [
        (event, what) for event, told in read if event.sender is not side_of_target(conversation, event)
        for what in said_of_queries(event, told)
    ]  # fmt: skip
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
            gone |= {event.connection} if says is Says.LEAVE else set()
            _, there = QUERY[phase][says]
            yield phase.value, there.value
            phase = there


def said_of_queries(event: Event, told: Sequence[Told]) -> Iterator[Any]:
    """The messages of an event that the table, or the names of keys, know of; the end of the session, whoever tells it."""
    if event.kind in (Happened.EOF, Happened.RESET):
        yield event.kind
    for one in told:
        if isinstance(one.message, Request | Response | ResponseFinal):
            yield one.message
        elif isinstance(one.message, Declare):
            yield one.message.body
        elif isinstance(one.message, Close):
            yield Happened.EOF


def word(what: Any, *, of_server: bool) -> Says | None:
    """What the table calls it; None for what it does not speak of."""
    match what:
        case Request():
            return Says.REQUEST
        case DQueryable():
            return Says.DECLARE
        case UQueryable():
            return Says.UNDECLARE
        case Response():
            return Says.ERROR if isinstance(what.body, Err) else Says.RESPONSE
        case ResponseFinal():
            return Says.FINAL
        case Happened.EOF | Happened.RESET if of_server:
            return Says.LEAVE
    return None


class _Keys:
    """Who serves which key in a conversation."""

    def __init__(self, said: Sequence[tuple[Event, Any]]) -> None:
        self.names: dict[str, Names] = {}
        self.servers: set[str] = set()
        self.served: str | None = None
        """The key that is served; None where there is none, or several."""
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
        """Whether a query is about the key that is served."""
        asked = self.names[event.connection].whole(event.sender, request.key)
        try:
            return asked is not None and self.served is not None and keyexpr.intersects(asked, self.served)
        except keyexpr.KeyExprError:
            return False
