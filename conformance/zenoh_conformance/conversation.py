"""A conversation: what went over one or several connections, in order, as it was seen from outside.

It is the one form in which evidence, captures, the tap's recordings, replays and the laws meet. The file format is told in
`zenoh_harness.files.conversations`; this module knows no file and no clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final


class Side(Enum):
    """Who spoke: the side that opened the link, or the side that accepted it."""

    INITIATOR = "initiator"
    RESPONDER = "responder"

    __hash__ = object.__hash__
    """The members are singletons: laws look them up often enough to feel Enum's own."""

    @property
    def other(self) -> Side:
        return Side.RESPONDER if self is Side.INITIATOR else Side.INITIATOR


SIDES: Final = tuple(Side)
"""Both: what is made for every connection asks for them often enough to feel Enum's own iteration."""


class Happened(Enum):
    """What an event is: bytes, or one of the things that a link can do."""

    BYTES = "bytes"
    OPEN = "open"
    EOF = "eof"
    """The sender will send no more (FIN), or the datagram link was left."""
    RESET = "reset"


class Framing(Enum):
    """How a link delimits batches before a session changes it."""

    STREAM = "stream"
    """u16 little-endian length before each batch (companion page primitives, framing)."""
    DATAGRAM = "datagram"
    """One datagram is one batch."""


class Begins(Enum):
    """What is known of a connection when its first event comes."""

    START = "start"
    """All of it will be seen."""
    MIDDLE = "middle"
    """A session was under way: what came before was not seen."""
    COMPRESSED = "middle-compressed"
    """The same, and each batch begins with its compression header."""
    LOWLATENCY = "middle-lowlatency"
    """The same, of a low-latency session: u32 lengths, no FRAME."""


@dataclass(slots=True, unsafe_hash=True)
class Event:
    """One thing that happened on one connection. Nobody changes it: frozen it would take five times as long to make."""

    time: float
    """Seconds since the conversation began; compared with nothing but other events of the same conversation."""
    connection: str
    sender: Side
    kind: Happened
    data: bytes = b""
    packet: int | None = field(default=None, compare=False)
    """The packet of a capture that it was read from, counted from 1 as Wireshark does."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What is known about a connection apart from its bytes."""

    name: str
    link: str = "tcp"
    framing: Framing = Framing.STREAM
    initiator: str = "initiator"
    """A name for the side that opened the link, for people."""
    responder: str = "responder"
    begins: Begins = Begins.START


@dataclass(slots=True)
class Conversation:
    """Connections and the events on them, in the order in which they were seen."""

    connections: dict[str, Connection] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    about: Mapping[str, str] = field(default_factory=dict)
    """Free facts that help a reader (target, case); no law looks at them."""

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def connection(self, name: str) -> Connection:
        """The connection of that name; a plain TCP one when nothing was said about it."""
        return self.connections.get(name) or self.connections.setdefault(name, Connection(name))
