"""Two sessions around a node, and what comes through it of the vectors that one of them says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.messages import Declare, DKeyExpr, DQueryable, Push, QueryableInfo, ResponseFinal
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.names import Names, plain
from zenoh_conformance.talking import Dialogue, Fence
from zenoh_conformance.wire import Exts
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.effects import (
    HEAD,
    SURVIVOR,
    answer_for_fault,
    answer_for_reading,
    difference,
    sets_reserved_bits,
)
from zenoh_harness.run.vectors.standing import MOST_SN, Family, VectorInSession, scope_key, whole
from zenoh_harness.run.vectors.whole_fragments import QUERY

ROUTED: Final = frozenset({"DSubscriber", "USubscriber", "DKeyExpr", "UKeyExpr"})
"""What a node does that forwards publications."""

QUERIED: Final = frozenset({"DQueryable", "Response", "ResponseFinal"})
"""What a node does that passes on queries."""

OUR_IDS: Final = 160
"""Where our own ids begin: no vector uses those after it, and a request id of eight bits has room for them."""

SHORT_IDS: Final = 64
"""Where they begin for a node that does not read those, which take two bytes."""

BEGINNINGS_OF_IDS: Final = (OUR_IDS, OUR_IDS, SHORT_IDS)
"""What is tried, the first one twice: an answer may be lost."""

COMPLETE: Final = Exts((QueryableInfo(value=1),))

PassedOn = tuple[Any, str | None]
"""A message that was passed on, with its whole key."""


@dataclass(slots=True)
class Sessions:
    """The session that says vectors, and one that hears what is passed on, where anything is."""

    writer: Dialogue
    reader: Dialogue | None
    names: Names = field(default_factory=Names)
    read: int = 0

    def hasten(self, part: float) -> None:
        """Wait for a part of the time: silence says only that the group is to be halved again."""
        for us in filter(None, (self.writer, self.reader)):
            us.unit *= part

    def passed_on(self, kind: type[Any], keys: Collection[str] | None = None) -> Iterator[PassedOn]:
        """Yield the messages of that class, about one of these keys, that the reader has heard since."""
        if self.reader is None:
            return
        side = self.reader.wire.side.other
        new, self.read = self.reader.heard[self.read :], len(self.reader.heard)
        for seen in new:
            if isinstance(seen.message, Declare):
                self.names.note(side, seen.message.body)
            elif isinstance(seen.message, kind):
                key = self.names.whole(side, seen.message.key)
                if keys is None or key in keys:
                    yield seen.message, key

    def await_passed_on(self, kind: type[Any], key: str) -> list[PassedOn]:
        """Wait for a message of that class about the key, and return what came."""
        came: list[PassedOn] = []

        def has_come() -> bool:
            came.extend(self.passed_on(kind, {key}))
            return bool(came)

        if self.reader is not None:
            self.reader.wait_until(has_come)
        return came


def declare_for(group: Sequence[VectorInSession], writer: Dialogue, reader: Dialogue | None, ids: int) -> None:
    """Declare what the vectors of a group need: the keys of their numbers, and who hears what is passed on of them."""
    writer.count_ids_from(ids)
    for scope in sorted({scope for one in group for scope in one.scopes}):
        writer.declare(DKeyExpr(expr_id=scope, key=WireExpr(suffix=scope_key(scope))))
    if reader is None:
        return
    keys = {whole(one.messages[0].key) for one in group if one.family is Family.REQUEST}
    for key in sorted(keys):
        reader.declare(DQueryable(id=reader.new_id(), key=plain(key), exts=COMPLETE))
    if not keys:
        reader.subscribe("**")
    reader.fence()


def pair_passed_on(one: VectorInSession, messages: Sequence[Push], came: list[PassedOn]) -> VectorAnswer:
    """Take what was passed on of a vector from what came."""
    for message in messages:
        at = next((at for at, got in enumerate(came) if not difference(message, *got)), None)
        if at is None and not came and (len(messages) > 1 or sets_reserved_bits(one.vector)):
            return SURVIVOR  # of several messages at once a node may drop some
        if at is None:
            return answer_for_fault(one.vector, difference(message, *came[0]) if came else "nothing is passed on")
        del came[at]
    return answer_for_reading(one.vector) if messages else SURVIVOR


def too_large(us: Dialogue, one: VectorInSession) -> str:
    """Why a session has no room for a vector, or no such number; empty if it has."""
    if len(one.vector.data) + HEAD > us.room:
        return "it is larger than a batch"
    first = one.sn or 0
    last = first + max(map(one.lanes.count, one.lanes), default=1) - 1
    if max(first, last & MOST_SN) > us.sn_mask or last > MOST_SN != us.sn_mask:
        return "its sequence numbers are beyond the resolution, or wrap elsewhere"
    beyond = any(name.startswith("Re") and number > us.request_mask for name, number in one.claims)
    return "its request id is beyond the resolution" if beyond else ""


def observe(
    sessions: Sessions, group: Sequence[VectorInSession], shown: Sequence[Sequence[Push]]
) -> list[VectorAnswer]:
    """Pair what was passed on with what was said."""
    assert sessions.reader is not None
    came: list[PassedOn] = []
    keys = {whole(message.key) for messages in shown for message in messages}

    def all_came() -> bool:
        came.extend(sessions.passed_on(Push, keys))
        return len(came) >= sum(map(len, shown))

    sessions.reader.wait_until(all_came)
    return [pair_passed_on(one, messages, came) for one, messages in zip(group, shown, strict=True)]


def answer_itself(us: Dialogue, one: VectorInSession) -> VectorAnswer:
    """The answer for a vector that a node reads to which no second session listens: it answers the query in a FRAGMENT itself.

    A node to which queries are no fence may answer none.
    """
    if one.messages != (QUERY,) or us.fencing.how is not Fence.QUERY:
        return SURVIVOR
    if us.wait_until(lambda: is_final(us, QUERY.id)):
        return answer_for_reading(one.vector)
    return answer_for_fault(one.vector, "the query in its fragments is not answered")


def is_final(us: Dialogue, request: int) -> bool:
    """Whether the query of that id has ended."""
    return any(isinstance(seen.message, ResponseFinal) and seen.message.id == request for seen in us.heard)
