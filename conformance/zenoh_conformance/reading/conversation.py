"""A conversation: the events on one or several connections, in the order in which an observer saw them.

Evidence, captures, recordings of the tap, replays and laws all use this form. `zenoh_harness.files.conversations` defines
the file format; this module uses no file and no clock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final


class Side(Enum):
    """A side of a link: the one that opened it, or the one that accepted it."""

    INITIATOR = "initiator"
    RESPONDER = "responder"

    __hash__ = object.__hash__
    """The members are singletons; Enum's own hash is slow, and laws look members up often."""

    @property
    def other(self) -> Side:
        return Side.RESPONDER if self is Side.INITIATOR else Side.INITIATOR


SIDES: Final = tuple(Side)
"""Both sides; Enum's own iteration is slow, and every connection needs them."""


class Happened(Enum):
    """The kind of an event: bytes, or a change of the link."""

    BYTES = "bytes"
    OPEN = "open"
    EOF = "eof"
    """The sender sends no more (FIN), or left the datagram link."""
    RESET = "reset"


class Framing(Enum):
    """The framing of a link before a session changes it."""

    STREAM = "stream"
    """A u16 little-endian length before each batch (companion page primitives, framing)."""
    DATAGRAM = "datagram"
    """One batch in each datagram."""


class Begins(Enum):
    """The state of a connection at its first recorded event."""

    START = "start"
    """The recording has the whole connection."""
    MIDDLE = "middle"
    """The recording begins in the middle of a session."""
    COMPRESSED = "middle-compressed"
    """As MIDDLE, and each batch begins with its compression header."""
    LOWLATENCY = "middle-lowlatency"
    """As MIDDLE, in a low-latency session: u32 lengths, no FRAME."""


@dataclass(slots=True, unsafe_hash=True)
class Event:
    """An event on a connection. Treat it as frozen; a frozen dataclass takes five times as long to make."""

    time: float
    """Seconds since the conversation began; comparable only within the same conversation."""
    connection: str
    sender: Side
    kind: Happened
    data: bytes = b""
    packet: int | None = field(default=None, compare=False)
    """The number of the packet in the capture, from 1 as in Wireshark."""
    waited: float = field(default=0.0, compare=False, repr=False)
    """Seconds for which the other side had sent nothing when this was sent, where the observer's kernel tells."""


@dataclass(frozen=True, slots=True)
class Connection:
    """The properties of a connection apart from its bytes."""

    name: str
    link: str = "tcp"
    framing: Framing = Framing.STREAM
    initiator: str = "initiator"
    """The name of the side that opened the link, for people."""
    responder: str = "responder"
    begins: Begins = Begins.START


@dataclass(slots=True)
class Conversation:
    """Connections and their events, in the order of observation."""

    connections: dict[str, Connection] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    about: Mapping[str, str] = field(default_factory=dict)
    """Facts for a human reader (target, case); laws ignore them."""

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def cut(self, most: int) -> None:
        """Keep the events up to so many bytes."""
        total = 0
        for number, event in enumerate(self.events):
            total += len(event.data)
            if total > most:
                del self.events[number:]
                return

    def only(self, names: Collection[str]) -> Conversation:
        """What was said on these connections."""
        connections = {name: connection for name, connection in self.connections.items() if name in names}
        return Conversation(connections, [event for event in self.events if event.connection in names], self.about)

    def connection(self, name: str) -> Connection:
        """The connection with this name; a plain TCP connection is added if there is none."""
        return self.connections.get(name) or self.connections.setdefault(name, Connection(name))
