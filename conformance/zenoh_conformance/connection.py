"""From bytes on a link to messages: framing, the switch after OPEN, batches, and what is nested in them. No sockets, no clock.

One decoder serves scenes, laws, the tap and audits. It can begin in the middle of a session; what it was not told it assumes
to be the default (u16 prefix, no compression).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from .batch import LOWLATENCY_PREFIX, STREAM_PREFIX, decode_batch, decompress
from .codec import Decoded, Layer, decode_whole
from .conversation import SIDES, Begins, Connection, Conversation, Event, Framing, Happened, Side
from .messages import Fragment, Frame, Init, Join, Open
from .sane import DEFAULT_PRIORITY
from .wire import registry
from .wire.errors import DecodeError, Diagnostic


@dataclass(slots=True, unsafe_hash=True)
class Seen:
    """One message as it went by, or the bytes that are none. Nobody changes it: frozen it would take five times as long to make."""

    event: Event
    """The event whose bytes completed it."""
    kind: str
    """`init`, `frame`, `push`, `put`, `d_subscriber`, ...; `undecodable`, `batch` for what is no message."""
    message: Any
    """The message; for `undecodable` the DecodeError, for `batch` the bytes of the batch without its prefix."""
    path: str
    """Where it stands in its batch: `frame.messages[2].push.put`."""
    raw: bytes = b""
    """The bytes of the transport message that holds it."""
    diagnostics: tuple[Diagnostic, ...] = ()
    around: tuple[Any, ...] = ()
    """The messages that hold it, outermost first."""
    channel: tuple[bool, int] | None = None
    """(reliable, priority) of the FRAME or FRAGMENT that carried it."""

    @property
    def sender(self) -> Side:
        return self.event.sender

    @property
    def connection(self) -> str:
        return self.event.connection

    @property
    def time(self) -> float:
        return self.event.time


@dataclass(slots=True, unsafe_hash=True)
class SeenBatch(Seen):
    """A batch, before what it holds."""

    layer: Layer = Layer.TRANSPORT
    """How it is read: TRANSPORT, LOWLATENCY or SCOUTING."""
    compressed: bool = False
    """It begins with a compression header."""


class Nature(Enum):
    """What goes over a connection; a stream carries sessions, on datagrams the messages tell."""

    UNICAST = "unicast"
    MULTICAST = "multicast"
    """JOIN, and the traffic of those who said it."""
    SCOUTING = "scouting"
    UNKNOWN = "unknown"
    """Datagrams none of which has told what they are."""


@dataclass(slots=True)
class Direction:
    """What is known of one direction of a connection."""

    buffer: bytearray = field(default_factory=bytearray)
    prefix: int = STREAM_PREFIX
    compressed: bool = False
    lowlatency: bool = False
    offers: frozenset[str] = frozenset()
    """The names of the extensions that this side's INIT carried."""
    opened: bool = False
    """Its OPEN went by: what follows is session traffic."""
    batches: int = 0
    ended: bool = False


def short_close(direction: Direction) -> bytes | None:
    """The CLOSE that the baseline ends a low-latency session with, behind a two-byte length where four are due; None for all else."""
    if not direction.lowlatency:
        return None
    size = int.from_bytes(direction.buffer[:STREAM_PREFIX], "little")
    batch = bytes(direction.buffer[STREAM_PREFIX:])
    return batch if batch and len(batch) == size and batch[0] & 0x1F == CLOSE_ID else None


CLOSE_ID = 0x03
"""The id of CLOSE (message-reference#close)."""


class ConnectionDecoder:
    """Turns the events of one connection into messages, in order."""

    def __init__(self, connection: Connection | None = None) -> None:
        self.connection = connection or Connection("")
        self.directions = {side: Direction() for side in SIDES}
        streamed = self.connection.framing is Framing.STREAM
        self.nature = Nature.UNICAST if streamed else Nature.UNKNOWN
        if self.connection.begins in (Begins.COMPRESSED, Begins.LOWLATENCY):
            for direction in self.directions.values():
                direction.opened = True
                direction.compressed = self.connection.begins is Begins.COMPRESSED
                direction.lowlatency = self.connection.begins is Begins.LOWLATENCY
                direction.prefix = LOWLATENCY_PREFIX if direction.lowlatency and streamed else STREAM_PREFIX

    def feed(self, event: Event) -> Iterator[Seen]:
        """The messages that this event completes: transport messages, each followed by what it holds."""
        direction = self.directions[event.sender]
        if event.kind is Happened.BYTES:
            for batch in self._batches(direction, event.data):
                direction.batches += 1
                yield from self._messages(event, direction, batch)
        elif event.kind is Happened.EOF:
            direction.ended = True
            yield from self._last(event, direction)
        elif event.kind is Happened.RESET:
            direction.ended = True
            for side, each in self.directions.items():
                if short_close(each) is not None:  # what came before the reset was said; what it cut off was not
                    yield from self._last(replace(event, sender=side), each)
        elif self.nature is Nature.UNKNOWN:
            self.nature = Nature.UNICAST  # somebody opened a link

    def _last(self, event: Event, direction: Direction) -> Iterator[Seen]:
        """What a direction that has ended leaves behind: nothing, the short CLOSE of a low-latency session, or half a batch."""
        left = bytes(direction.buffer)
        short = short_close(direction)
        direction.buffer.clear()
        if short is not None:
            yield from self._messages(event, direction, short)
        elif left:
            refusal = DecodeError(len(left), "batch", "the link ended inside a batch")
            yield Seen(event, "undecodable", refusal, "batch", left)

    def _batches(self, direction: Direction, data: bytes) -> Iterator[bytes]:
        if self.connection.framing is Framing.DATAGRAM:
            yield data
            return
        buffer = direction.buffer
        buffer += data
        while len(buffer) >= direction.prefix:
            size = int.from_bytes(buffer[: direction.prefix], "little")
            if len(buffer) < direction.prefix + size:
                return
            batch = bytes(buffer[direction.prefix : direction.prefix + size])
            del buffer[: direction.prefix + size]
            yield batch

    def _messages(self, event: Event, direction: Direction, batch: bytes) -> Iterator[Seen]:
        if self.nature is not Nature.UNICAST and (scouting := self._scouting(batch)) is not None:
            yield SeenBatch(event, "batch", batch, "batch", batch, layer=Layer.SCOUTING)
            if self.nature is Nature.UNKNOWN:
                self.nature = Nature.SCOUTING
            yield Seen(event, kind_of(scouting.message), scouting.message, kind_of(scouting.message), batch,
                       scouting.diagnostics)  # fmt: skip
            return
        layer = Layer.LOWLATENCY if direction.lowlatency else Layer.TRANSPORT
        yield SeenBatch(event, "batch", batch, "batch", batch, layer=layer, compressed=direction.compressed)
        if direction.compressed:
            try:
                batch = decompress(batch)
            except DecodeError as refusal:
                yield Seen(event, "undecodable", refusal, "batch", batch)
                return
        for found in decode_batch(batch, layer):
            if isinstance(found, DecodeError):
                yield Seen(event, "undecodable", found, found.path or "batch", batch)
                return
            self._note(event.sender, found.message)
            yield from nested(event, found.message, batch[found.at : found.at + found.size], found.diagnostics)

    def _scouting(self, datagram: bytes) -> Decoded | None:
        """SCOUT or HELLO, which have ids of their own: where a datagram of no session reads better as one than as a batch."""
        try:
            scouting = decode_whole(datagram, Layer.SCOUTING)
        except DecodeError:
            return None
        batch = list(decode_batch(datagram))
        last = batch[-1]
        if isinstance(last, DecodeError) or isinstance(last.message, Open):
            return scouting  # what begins like OPEN is none where nobody has said INIT
        said = sum(len(each.diagnostics) for each in batch if not isinstance(each, DecodeError))
        return scouting if len(scouting.diagnostics) < said else None

    def _note(self, sender: Side, message: object) -> None:
        """What a message changes for the bytes that follow it."""
        direction = self.directions[sender]
        if isinstance(message, Init):
            if self.nature is not Nature.MULTICAST:
                self.nature = Nature.UNICAST
            direction.offers = frozenset(type(ext).__name__ for ext in message.exts)
        elif isinstance(message, Join):
            if self.nature is not Nature.UNICAST:
                self.nature = Nature.MULTICAST
        elif isinstance(message, Open) and not direction.opened:
            direction.opened = True
            both = self.directions[Side.INITIATOR].offers & self.directions[Side.RESPONDER].offers
            direction.lowlatency = "LowLatency" in both
            direction.compressed = "Compression" in both
            if direction.lowlatency and self.connection.framing is Framing.STREAM:
                direction.prefix = LOWLATENCY_PREFIX


def kind_of(message: Any) -> str:
    """The kind of a message as paths name it: `init`, `keep_alive`, `d_subscriber`."""
    return registry.of(type(message)).path


def nested(event: Event, message: Any, raw: bytes, diagnostics: tuple[Diagnostic, ...] = ()) -> Iterator[Seen]:
    """A message and, after it, each message that it holds, with paths."""
    kind = kind_of(message)
    yield from _inside(event, kind, message, kind, raw, diagnostics, (), None)


def _inside(
    event: Event, kind: str, message: Any, path: str, raw: bytes, diagnostics: tuple[Diagnostic, ...], around: tuple[Any, ...],
    channel: tuple[bool, int] | None,
) -> Iterator[Seen]:  # fmt: skip
    if isinstance(message, Frame | Fragment):
        channel = (message.reliable, priority_of(message))
    yield Seen(event, kind, message, path, raw, diagnostics, around, channel)
    if isinstance(message, Frame):
        holds = (*around, message)
        theirs = _by_message(diagnostics, f"{path}.messages[") if diagnostics else {}
        for index, inner in enumerate(message.messages):
            kind = kind_of(inner)
            below = f"{path}.messages[{index}].{kind}"
            yield from _inside(event, kind, inner, below, raw, tuple(theirs.get(index, ())), holds, channel)
        return
    body = getattr(message, "body", None)
    if body is not None and not isinstance(body, int | bytes):
        kind = kind_of(body)
        below = f"{path}.{kind}"
        own = tuple(each for each in diagnostics if each.path.startswith(below)) if diagnostics else ()
        yield from _inside(event, kind, body, below, raw, own, (*around, message), channel)


def _by_message(diagnostics: tuple[Diagnostic, ...], prefix: str) -> dict[int, list[Diagnostic]]:
    """What is said about each of a FRAME's messages, by its place: once through, since there may be thousands of both."""
    theirs: dict[int, list[Diagnostic]] = {}
    for each in diagnostics:
        if each.path.startswith(prefix):
            theirs.setdefault(int(each.path[len(prefix) : each.path.index("]", len(prefix))]), []).append(each)
    return theirs


def priority_of(message: Any) -> int:
    """The priority class of a FRAME or FRAGMENT: its QoS extension's low three bits."""
    for ext in message.exts:
        if type(ext).__name__ == "QoS":
            return int(ext.value) & 0x07
    return DEFAULT_PRIORITY


class Decoders:
    """One decoder a connection of a conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._decoders: dict[str, ConnectionDecoder] = {}

    def feed(self, event: Event) -> Iterator[Seen]:
        """The messages that the event completes on its connection."""
        decoder = self._decoders.get(event.connection)
        if decoder is None:
            decoder = ConnectionDecoder(self._conversation.connection(event.connection))
            self._decoders[event.connection] = decoder
        return decoder.feed(event)

    def nature(self, connection: str) -> Nature:
        """What goes over a connection, as far as it has told; unicast where nothing was fed."""
        decoder = self._decoders.get(connection)
        return Nature.UNICAST if decoder is None else decoder.nature

    def forget(self, connection: str) -> None:
        """The connection has ended; its name may come again."""
        self._decoders.pop(connection, None)
