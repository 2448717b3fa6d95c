"""What the reference knows of one link and the session on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from zenoh_conformance.messages import Init, Open
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.tables.session import State

from .consolidation import Consolidated

Channel = tuple[bool, int]
"""(reliable, priority)."""


@dataclass(slots=True)
class Terms:
    """What INIT settled."""

    resolution: int = 0x0A
    batch_size: int = 65535
    qos: bool = False
    lowlatency: bool = False
    compression: bool = False
    patch: int = 0
    multilink: bool = False
    """Further links may join the session."""


@dataclass(slots=True)
class Entity:
    """A subscriber, queryable or token of a session."""

    key: str
    complete: bool = False
    distance: int = 0


@dataclass(slots=True)
class Pending:
    """A query that was forwarded: who asked, under which id, and who still owes a final."""

    asker: str
    """The session that asked."""
    request_id: int
    owing: dict[str, int] = field(default_factory=dict)
    """Session to the id that the query has there."""
    deadline: float | None = None
    budget: int | None = None
    thinned: Consolidated | None = None
    """Where the router itself consolidates."""
    over: bool = False
    """Its final has gone back."""


OF_THE_SESSION = (
    "session", "tx", "rx", "partial", "keys", "named", "subscribers", "queryables", "tokens", "interests", "requests",
    "unended", "request_ids", "entity_ids", "expr_ids", "announced",
)  # fmt: skip
"""Attributes that the links of one session share."""


@dataclass(slots=True)
class Link:
    """One link: its handshake, and the channels and declarations of its session."""

    name: str
    side: Side
    """Ours."""
    decoder: ConnectionDecoder
    opened_at: float
    state: State
    terms: Terms = field(default_factory=Terms)
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
    """A message whose fragments are coming in."""
    last_heard: float = 0.0
    last_said: float = 0.0
    keys: dict[int, str] = field(default_factory=dict)
    """Expression ids that the far side declared."""
    named: dict[int, str] = field(default_factory=dict)
    """Expression ids that we declared to the far side."""
    subscribers: dict[int, Entity] = field(default_factory=dict)
    queryables: dict[int, Entity] = field(default_factory=dict)
    tokens: dict[int, Entity] = field(default_factory=dict)
    interests: dict[int, Any] = field(default_factory=dict)
    """Interests of the far side that are still to be told of what comes."""
    requests: dict[int, Pending] = field(default_factory=dict)
    """Queries that we forwarded in this session, by the id they have here."""
    unended: set[int] = field(default_factory=set)
    """Ids of queries that are over here while the far side owes their final: they are in use."""
    request_ids: Iterator[int] = field(default_factory=lambda: count(1))
    entity_ids: Iterator[int] = field(default_factory=lambda: count(1))
    expr_ids: Iterator[int] = field(default_factory=lambda: count(1))
    announced: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Declarations forwarded in this session: (kind, session, id there) to the id here."""
    inside: Callable[[Any], None] | None = None
    """For the application of the node itself: takes what is said to it. Else None."""
    session: str = ""
    """Its name: that of its first link."""

    def __post_init__(self) -> None:
        self.session = self.session or self.name

    def join(self, other: Link) -> None:
        """Be one more link of another one's session: its channels and its declarations are shared."""
        for shared in OF_THE_SESSION:
            setattr(self, shared, getattr(other, shared))

    @property
    def live(self) -> bool:
        return self.state is State.LIVE

    @property
    def zid(self) -> bytes | None:
        """The far side's ZenohID, in wire order."""
        return self.theirs.zid.raw if self.theirs else None
