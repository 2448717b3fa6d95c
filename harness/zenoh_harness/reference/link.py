"""What the reference knows of one link and the session on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zenoh_conformance.connection import ConnectionDecoder
from zenoh_conformance.conversation import Side
from zenoh_conformance.messages import Init, Open
from zenoh_conformance.session import State

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


@dataclass(slots=True)
class Queryable:
    """One queryable of a session."""

    key: str
    complete: bool = False
    distance: int = 0


@dataclass(slots=True)
class Pending:
    """A query that was forwarded: who asked, under which id, and who still owes a final."""

    asker: str
    request_id: int
    owing: dict[str, int] = field(default_factory=dict)
    """Link name to the id that the query has there."""
    deadline: float | None = None
    budget: int | None = None


@dataclass(slots=True)
class Link:
    """One link: its handshake, its channels, and what the far side declared."""

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
    subscribers: dict[int, str] = field(default_factory=dict)
    queryables: dict[int, Queryable] = field(default_factory=dict)
    tokens: dict[int, str] = field(default_factory=dict)
    interests: dict[int, Any] = field(default_factory=dict)
    """Interests of the far side that are still to be told of what comes."""
    requests: dict[int, Pending] = field(default_factory=dict)
    """Queries that we forwarded over this link, by the id they have here."""
    request_ids: int = 0
    entity_ids: int = 0
    told: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Declarations forwarded to this link: (kind, link, id there) to the id here."""

    @property
    def live(self) -> bool:
        return self.state is State.LIVE

    @property
    def zid(self) -> bytes | None:
        """The far side's ZenohID, in wire order."""
        return self.theirs.zid.raw if self.theirs else None
