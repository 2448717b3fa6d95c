"""What the reference is started with, what it does to its links, and how it says no."""

from __future__ import annotations

from dataclasses import dataclass, field

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.kinds import reason_code

GENERIC, UNSUPPORTED, INVALID = reason_code("GENERIC"), reason_code("UNSUPPORTED"), reason_code("INVALID")
MAX_SESSIONS, MAX_LINKS = reason_code("MAX_SESSIONS"), reason_code("MAX_LINKS")
EXPIRED, TO_SELF = reason_code("EXPIRED"), reason_code("CONNECTION_TO_SELF")


@dataclass(frozen=True, slots=True)
class Config:
    """What a node is started with."""

    zid: bytes = bytes.fromhex("0102030405060708")
    whatami: int = sane.ROUTER
    resolution: int = sane.DEFAULT_RESOLUTION
    batch_size: int = sane.DEFAULT_BATCH
    lease_ms: int = sane.LEASE_MS
    qos: bool = True
    lowlatency: bool = False
    compression: bool = False
    patch: int = 1
    max_sessions: int = 1000
    max_links: int = 1
    handshake_s: float = 10.0
    """How long a handshake may take."""
    secret: bytes = b"reference"
    """What cookies are made with."""
    consolidates: bool = False
    """Whether the router thins out answers itself, or leaves that to the querier."""
    credentials: tuple[str, str] | None = None
    """User and password that a session must show."""


@dataclass(slots=True)
class Action:
    """What the node does to a link: bytes to send, or its end."""

    link: str
    data: bytes = b""
    end: bool = False
    reset: bool = False
    """The end is a reset."""


@dataclass(slots=True)
class Refused(Exception):  # noqa: N818 - a step of the protocol, not an error
    """Ends a link: CLOSE for this reason first, or silently."""

    reason: int | None
    why: str = field(default="")
