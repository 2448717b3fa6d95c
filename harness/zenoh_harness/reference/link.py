"""The state of one link of the reference node, and of the session on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from zenoh_conformance.messages import Init, Open
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.tables.session import State

from .consolidation import Consolidated

Channel = tuple[bool, int]
"""(reliable, priority)."""


@dataclass(slots=True)
class LinkTerms:
    """The terms that INIT negotiated."""

    resolution: int = 0x0A
    batch_size: int = 65535
    qos: bool = False
    lowlatency: bool = False
    compression: bool = False
    patch: int = 0
    multilink: bool = False
    """Whether further links may join the session."""


@dataclass(slots=True)
class Entity:
    """A subscriber, queryable or token of a session."""

    key: str
    complete: bool = False
    distance: int = 0


@dataclass(slots=True, eq=False)
class Pending:
    """A forwarded query whose final was not sent yet."""

    asker: str
    """The session that sent the query."""
    request_id: int
    """The id of the query in that session."""
    owing: dict[str, int] = field(default_factory=dict)
    """Each session that has not sent its final yet, to the id of the query there."""
    deadline: float | None = None
    """The time, in seconds, at which the query times out; None for never."""
    budget: int | None = None
    """The most answers that may still be forwarded; None for no limit."""
    thinned: Consolidated | None = None
    """The consolidation of the answers, if the router consolidates; else None."""
    over: bool = False
    """Whether the final was sent to the session that asked."""


OF_THE_SESSION = (
    "session", "tx", "rx", "partial", "keys", "named", "subscribers", "queryables", "tokens", "interests", "requests",
    "asked", "unended", "request_ids", "entity_ids", "expr_ids", "announced",
)  # fmt: skip
"""Attributes of `Link` that the links of one session share."""


@dataclass(slots=True)
class Link:
    """One link: its handshake, and the channels and declarations of its session."""

    name: str
    side: Side
    """Our side of the link."""
    decoder: ConnectionDecoder
    opened_at: float
    state: State
    terms: LinkTerms = field(default_factory=LinkTerms)
    mine: Init | None = None
    theirs: Init | None = None
    my_open: Open | None = None
    their_open: Open | None = None
    initial_sn: int = 0
    tx: dict[Channel, int] = field(default_factory=dict)
    """Next sequence number to send."""
    rx: dict[Channel, int] = field(default_factory=dict)
    """Last sequence number received."""
    partial: dict[Channel, bytearray] = field(default_factory=dict)
    """The payload of the fragments of an incomplete message so far."""
    last_heard: float = 0.0
    last_said: float = 0.0
    last_joined: float = 0.0
    """When JOIN was said last; of the link to the group."""
    keys: dict[int, str] = field(default_factory=dict)
    """Expression ids that the far side declared."""
    named: dict[int, str] = field(default_factory=dict)
    """Expression ids that we declared to the far side."""
    subscribers: dict[int, Entity] = field(default_factory=dict)
    queryables: dict[int, Entity] = field(default_factory=dict)
    tokens: dict[int, Entity] = field(default_factory=dict)
    interests: dict[int, Any] = field(default_factory=dict)
    """The far side's interests in future declarations, by id."""
    requests: dict[int, Pending] = field(default_factory=dict)
    """Queries that were forwarded in this session, by their id here."""
    asked: set[Pending] = field(default_factory=set)
    """Queries of this session that were forwarded and whose final was not sent yet."""
    unended: set[int] = field(default_factory=set)
    """Ids of ended queries whose final the far side has not sent; they are still in use."""
    request_ids: Iterator[int] = field(default_factory=lambda: count(1))
    entity_ids: Iterator[int] = field(default_factory=lambda: count(1))
    expr_ids: Iterator[int] = field(default_factory=lambda: count(1))
    announced: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Declarations that were forwarded in this session: (kind, session, id there) to the id here."""
    inside: Callable[[Any], None] | None = None
    """For the node's own application: the function that receives its messages. None for other links."""
    session: str = ""
    """The name of the session: that of its first link."""

    def __post_init__(self) -> None:
        self.session = self.session or self.name

    def join(self, other: Link) -> None:
        """Join the session of another link, and share its channels and declarations."""
        for shared in OF_THE_SESSION:
            setattr(self, shared, getattr(other, shared))

    @property
    def entries(self) -> int:
        """The number of declarations, interests and queries that are stored for the session."""
        declared = len(self.keys) + len(self.subscribers) + len(self.queryables) + len(self.tokens)
        return declared + len(self.interests) + len(self.asked)

    @property
    def key_bytes(self) -> int:
        """The size of the key expressions that are stored for the session, in characters."""
        entities = chain(self.subscribers.values(), self.queryables.values(), self.tokens.values())
        asked = (one.key.suffix or "" for one in self.interests.values() if one.key is not None)
        return sum(map(len, chain(self.keys.values(), (entity.key for entity in entities), asked)))

    @property
    def live(self) -> bool:
        return self.state is State.LIVE

    @property
    def zid(self) -> bytes | None:
        """The far side's ZenohID, in wire order."""
        return self.theirs.zid.raw if self.theirs else None
