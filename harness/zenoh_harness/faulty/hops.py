"""Which circumstance of the varied cases a message on its way through a faulty node is in.

It is read off the message, its frame and the sessions, and off what those did before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.cases.routing.circumstances import (
    CARRIED,
    CHANNEL,
    DECLARED,
    ENTITY,
    EXPRESS,
    FOLLOWED,
    FULL,
    LANE,
    LIMITED,
    LIMITS,
    MEANWHILE,
    ODD,
    ODD_AS,
    PACKING,
    PAST,
    PUT_OR_DEL,
    RECEIVERS,
    SAID,
    SIZE,
    TARGETED,
    TERMS,
)
from zenoh_conformance.judging.variation import Value
from zenoh_conformance.messages import Err, Push, PutAttachment, QueryAttachment, QueryTarget, Reply, Target
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.tables.session import State
from zenoh_conformance.wire import Unknown


@dataclass(slots=True)
class Memory:
    """What a node remembers of one session."""

    past: set[Value] = field(default_factory=set)
    """Values of the dimension `past` that the session has behind it."""
    declared: dict[tuple[str, int], str] = field(default_factory=dict)
    """Kind and id of what it declared to how its key was named."""
    publications: int = 0
    last: tuple[Any, ...] = ()
    """The key and the lane of its last publication."""
    repeats: bool = False
    """Whether the one before had the same."""

    def note(self, push: Push, reliable: bool) -> None:
        """One publication more."""
        now = (push.key, priority_of(push), reliable)
        self.last, self.repeats = now, now == self.last


@dataclass(frozen=True, slots=True)
class Hop:
    """A message on its way through a node."""

    node: Any
    source: Any
    """The link on which it came."""
    to: Any
    kind: str
    message: Any = None
    """As it came."""
    place: int = 1
    """Its number among the receivers, from 1."""
    entity: str = ""
    said: str = ""
    """How its key was named."""


def named_by(key: WireExpr) -> str:
    """How a key is named, as a value of the dimension `said`."""
    if key.scope:
        return "number of the receiver" if not key.mapping else "number and suffix" if key.suffix else "number"
    return "wildcard" if "*" in (key.suffix or "") else "name"


def _size(message: Any) -> int:
    """The bytes of the largest payload of a body or its extensions."""
    body, most = message.body, 0
    while body is not None:
        values = (getattr(body, "payload", b""), *(getattr(ext, "payload", b"") for ext in body.exts))
        most, body = max(most, *(len(value or b"") for value in values)), getattr(body, "body", None)
    return most


def _kind(message: Any) -> str:
    body = message.body.body if isinstance(message.body, Reply) else message.body
    return "err" if isinstance(body, Err) else "del" if type(body).__name__ == "Del" else "put"


def _has_only_an_attachment(message: Any) -> bool:
    """Whether an attachment is all that a value or a query has beside its payload."""
    body = message.body.body if isinstance(message.body, Reply) else message.body
    return [type(ext) for ext in body.exts] in ([PutAttachment], [QueryAttachment])


def find_terms(link: Any) -> set[str]:
    syn = link.theirs
    if syn is None:  # a node that accepts an OpenSyn without a handshake
        return set()
    found = {"S=0"} if syn.resolution is None else {"numbers of 8 bits"} if not syn.resolution & 3 else set()
    offers = {type(ext).__name__ for ext in syn.exts} & {"QoS", "Patch"}
    found |= set() if "QoS" in offers else {"Patch and no QoS" if offers else "no QoS"}
    return found | ({"a batch of 512 bytes"} if syn.batch_size == 512 else set())


def _past(hop: Hop) -> set[Value]:
    sessions = {hop.source.session, hop.to.session}
    found: set[Value] = set(hop.node.gone).union(*(hop.node.memory[session].past for session in sessions))
    half = any(link.state is State.INIT_ACKED for link in hop.node.links.values())
    return found | ({"a handshake began"} if half else set())


def _express(hop: Hop) -> bool:
    qos = hop.message.exts.get(QoS)
    return qos is not None and bool(qos.express)


def _way_declared(hop: Hop) -> str:
    """How the receiver named the key of what it declared last, or of its interest."""
    wanted = {"publication": "subscriber", "query": "queryable", "declaration": "interest"}.get(hop.kind)
    held = hop.node.memory[hop.to.session].declared
    return next((how for (kind, _), how in reversed(held.items()) if kind == wanted), "")


def _unknown_of(message: Any, *, bodies: bool) -> list[str]:
    """The encodings of the extensions of a message, or of its bodies, that no page names."""
    found, part = list[str](), getattr(message, "body", None) if bodies else message
    while part is not None:
        found += [ext.enc.name.lower() for ext in part.exts if isinstance(ext, Unknown)]
        part = getattr(part, "body", None) if bodies else None
    return found


def is_odd(message: Any, place: Value) -> bool:
    """Whether a message has an unknown extension there: on `each message`, or on `each body`."""
    return bool(_unknown_of(message, bodies=place == "each body"))


def is_odd_as(message: Any, encoding: Value) -> bool:
    """Whether a message or a body of it has an unknown extension of that encoding."""
    return encoding in _unknown_of(message, bodies=False) + _unknown_of(message, bodies=True)


def is_targeted(hop: Hop, value: Value) -> bool:
    """Whether a query is for complete queryables, and those of the receiver are at such a distance."""
    target = hop.message.exts.get(QueryTarget)
    far = any(held.distance for held in hop.to.queryables.values())
    complete = target is not None and target.value == Target.ALL_COMPLETE
    return complete and far == (value == TARGETED.values[-1])


SHOWS: Final[Mapping[str, Callable[[Hop, Any], bool]]] = {
    LANE.name: lambda hop, value: priority_of(hop.message) == value,
    CHANNEL.name: lambda hop, value: hop.node.reliable == (value == "reliable"),
    EXPRESS.name: lambda hop, value: _express(hop) == value,
    PUT_OR_DEL.name: lambda hop, value: _kind(hop.message) == value,
    ENTITY.name: lambda hop, value: hop.entity == value,
    SAID.name: lambda hop, value: hop.said == value,
    DECLARED.name: lambda hop, value: _way_declared(hop) == value,
    SIZE.name: lambda hop, value: _size(hop.message) >= (value - 1000 if value == FULL else value),
    RECEIVERS.name: lambda hop, value: hop.place >= value,
    PAST.name: lambda hop, value: value in _past(hop),
    TERMS.name: lambda hop, value: value in find_terms(hop.source),
    PACKING.name: lambda hop, value: hop.node.packed,
    MEANWHILE.name: lambda hop, value: value in _past(hop),
    CARRIED.name: lambda hop, value: _has_only_an_attachment(hop.message),
    ODD.name: lambda hop, value: is_odd(hop.message, value),
    ODD_AS.name: lambda hop, value: is_odd_as(hop.message, value),
    TARGETED.name: lambda hop, value: is_targeted(hop, value),
    LIMITED.name: lambda hop, value: set(LIMITS[value]) <= set(hop.message.exts),
    FOLLOWED.name: lambda hop, value: hop.node.memory[hop.source.session].repeats,
}
"""Dimension to whether a message is in the circumstance of a value."""
