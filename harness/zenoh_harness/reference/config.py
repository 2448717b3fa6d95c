"""The configuration of the reference node, its actions on links, and the exception that refuses a link."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.kinds import reason_code

GENERIC, UNSUPPORTED, INVALID = reason_code("GENERIC"), reason_code("UNSUPPORTED"), reason_code("INVALID")
MAX_SESSIONS, MAX_LINKS = reason_code("MAX_SESSIONS"), reason_code("MAX_LINKS")
EXPIRED, TO_SELF = reason_code("EXPIRED"), reason_code("CONNECTION_TO_SELF")


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of a node."""

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
    group_batch: int = 8192
    """The largest batch in the multicast group."""
    group_qos: bool = False
    """Whether the node's JOIN has the numbers of each priority."""
    locators: tuple[str, ...] = ()
    """Where the node listens, as its HELLO says."""
    handshake_s: float = 10.0
    """The most seconds that a handshake may take."""
    secret: bytes = b"reference"
    """The key from which cookies and challenges are computed."""
    consolidates: bool = False
    """Whether the router consolidates answers itself, or leaves consolidation to the querier."""
    credentials: tuple[str, str] | None = None
    """User and password that a session must prove; None if it needs none."""


@dataclass(slots=True)
class Action:
    """An action of the node on a link: bytes to send, or the end of the link."""

    link: str
    data: bytes = b""
    end: bool = False
    reset: bool = False
    """Whether the link ends by a reset."""


@dataclass(slots=True)
class Refused(Exception):  # noqa: N818 - a step of the protocol, not an error
    """Ends a link, after a CLOSE with this reason."""

    reason: int | None
    """The reason code of the CLOSE; None to send none."""
    why: str = field(default="")


def refuse(reason: int | None, why: str = "") -> NoReturn:
    """Raise Refused: as an expression, for rows."""
    raise Refused(reason, why)


def need(holds: object, reason: int, why: str = "") -> None:
    """Raise Refused unless something holds."""
    if not holds:
        raise Refused(reason, why)
