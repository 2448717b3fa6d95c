"""Decodes the bytes on a link into messages: framing, the switch after OPEN, batches, nested messages. No sockets, no clock.

Scenes, laws, the tap and audits use the same decoder. It can begin in the middle of a session; it then assumes the defaults
(u16 length, no compression) unless the connection says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from zenoh_conformance.messages import Fragment, Frame, Init, Join, Open
from zenoh_conformance.messages.sane import DEFAULT_PRIORITY
from zenoh_conformance.wire import DecodeError, Diagnostic, registry

from .batch import LARGEST, LOWLATENCY_PREFIX, STREAM_PREFIX, decode_batch, decompress
from .codec import Decoded, Layer, decode_whole
from .conversation import SIDES, Begins, Connection, Conversation, Event, Framing, Happened, Side

MOST_PENDING: Final = 1 << 26
"""Bytes of the largest batch that is awaited; the length of a low-latency session may announce 4 GiB."""

TOO_LONG: Final = "batch.length"
"""The path of `undecodable` for a batch above `MOST_PENDING`; the rest of its direction is not decoded."""


@dataclass(slots=True, unsafe_hash=True, init=False)
class Seen:
    """An observed message, or bytes that are no message. Treat it as frozen; a frozen dataclass takes five times as long to make."""

    event: Event
    """The event whose bytes completed it."""
    kind: str
    """`init`, `frame`, `push`, `put`, `d_subscriber`, ...; `undecodable` or `batch` for bytes that are no message."""
    message: Any
    """The message; for `undecodable` the DecodeError, for `batch` the bytes of the batch without its prefix."""
    path: str
    """The path in its batch: `frame.messages[2].push.put`."""
    raw: bytes = b""
    """The bytes of the transport message that holds it."""
    diagnostics: tuple[Diagnostic, ...] = ()
    around: tuple[Any, ...] = ()
    """The messages that hold it, outermost first."""
    channel: tuple[bool, int] | None = None
    """(reliable, priority) of the FRAME or FRAGMENT that carried it."""
    sender: Side = field(init=False, compare=False, repr=False)
    """That of its event: laws ask for it several times for each message."""

    def __init__(
        self,
        event: Event,
        kind: str,
        message: Any,
        path: str,
        raw: bytes = b"",
        diagnostics: tuple[Diagnostic, ...] = (),
        around: tuple[Any, ...] = (),
        channel: tuple[bool, int] | None = None,
    ) -> None:
        self.event = event
        self.kind = kind
        self.message = message
        self.path = path
        self.raw = raw
        self.diagnostics = diagnostics
        self.around = around
        self.channel = channel
        self.sender = event.sender

    @property
    def connection(self) -> str:
        return self.event.connection

    @property
    def time(self) -> float:
        return self.event.time


@dataclass(slots=True, unsafe_hash=True, init=False)
class SeenBatch(Seen):
    """An observed batch; its messages follow it."""

    layer: Layer = Layer.TRANSPORT
    """The layer of its messages: TRANSPORT, LOWLATENCY or SCOUTING."""
    compressed: bool = False
    """Whether it begins with a compression header."""

    def __init__(self, event: Event, batch: bytes, layer: Layer, *, compressed: bool = False) -> None:
        super(SeenBatch, self).__init__(event, "batch", batch, "batch", batch)
        self.layer = layer
        self.compressed = compressed


class Nature(Enum):
    """The traffic of a connection: always unicast on a stream; on datagrams the messages decide."""

    UNICAST = "unicast"
    MULTICAST = "multicast"
    """JOIN, and the traffic of the nodes that sent it."""
    SCOUTING = "scouting"
    UNKNOWN = "unknown"
    """Datagrams whose messages have not decided it yet."""

    __hash__ = object.__hash__
    """As of Side: the members are singletons, and the laws of a message are looked up by it."""


@dataclass(slots=True)
class Direction:
    """The decoding state of one direction of a connection."""

    buffer: bytearray = field(default_factory=bytearray)
    prefix: int = STREAM_PREFIX
    compressed: bool = False
    lowlatency: bool = False
    offers: frozenset[str] = frozenset()
    """The names of the extensions in this side's INIT."""
    opened: bool = False
    """Whether its OPEN was seen: session traffic follows."""
    batches: int = 0
    ended: bool = False
    lost: bool = False
    """Whether a batch was too long to be awaited: later bytes are ignored."""


def short_close(direction: Direction) -> bytes | None:
    """The baseline's last CLOSE of a low-latency session, with a two-byte length instead of four; None for other bytes."""
    if not direction.lowlatency:
        return None
    size = int.from_bytes(direction.buffer[:STREAM_PREFIX], "little")
    batch = bytes(direction.buffer[STREAM_PREFIX:])
    return batch if batch and len(batch) == size and batch[0] & 0x1F == CLOSE_ID else None


CLOSE_ID = 0x03
"""The id of CLOSE (message-reference#close)."""


class ConnectionDecoder:
    """Decodes the events of one connection into messages, in order."""

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
        """The messages that this event completes: transport messages, each followed by the messages inside it."""
        direction = self.directions[event.sender]
        if event.kind is Happened.BYTES:
            for batch in self._batches(direction, event.data):
                direction.batches += 1
                yield from self._messages(event, direction, batch)
            # A short CLOSE, which the end of the link shows, may look like the beginning of a long batch.
            if len(direction.buffer) > STREAM_PREFIX + LARGEST:
                yield from self._too_long(event, direction)
        elif event.kind is Happened.EOF:
            direction.ended = True
            yield from self._last(event, direction)
        elif event.kind is Happened.RESET:
            direction.ended = True
            for side, other in self.directions.items():
                if short_close(other) is not None:  # a complete message before the reset counts, half a batch does not
                    yield from self._last(replace(event, sender=side), other)
        elif self.nature is Nature.UNKNOWN:
            self.nature = Nature.UNICAST  # only a unicast link has an OPEN event

    def _last(self, event: Event, direction: Direction) -> Iterator[Seen]:
        """The end of a direction: nothing, the short CLOSE of a low-latency session, or half a batch."""
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
        if direction.lost:
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

    def _too_long(self, event: Event, direction: Direction) -> Iterator[Seen]:
        """The bytes so far of a batch that is too long to be awaited; nothing for other batches."""
        size = int.from_bytes(direction.buffer[: direction.prefix], "little")
        if size > MOST_PENDING:
            left, direction.lost = bytes(direction.buffer), True
            direction.buffer.clear()
            why = f"a batch of {size} bytes, of which at most {MOST_PENDING} are read"
            yield Seen(event, "undecodable", DecodeError(0, TOO_LONG, why), TOO_LONG, left)

    def _messages(self, event: Event, direction: Direction, batch: bytes) -> Iterator[Seen]:
        if self.nature is not Nature.UNICAST and (scouting := self._scouting(batch)) is not None:
            if self.nature is Nature.UNKNOWN:
                self.nature = Nature.SCOUTING
            yield SeenBatch(event, batch, Layer.SCOUTING)
            kind = kind_of(scouting.message)
            yield Seen(event, kind, scouting.message, kind, batch, scouting.diagnostics)
            return
        layer = Layer.LOWLATENCY if direction.lowlatency else Layer.TRANSPORT
        yield SeenBatch(event, batch, layer, compressed=direction.compressed)
        if direction.compressed:
            try:
                batch = decompress(batch)
            except DecodeError as refusal:
                yield Seen(event, "undecodable", refusal, "batch", batch)
                return
        for decoded in decode_batch(batch, layer):
            if isinstance(decoded, DecodeError):
                yield Seen(event, "undecodable", decoded, decoded.path or "batch", batch)
                return
            self._note(event.sender, decoded.message)
            raw = batch[decoded.at : decoded.at + decoded.size]
            yield from unnest(event, decoded.message, raw, decoded.diagnostics)
            if decoded.at == 0 and is_of_the_other_side(decoded.message, event.sender):
                return

    def _scouting(self, datagram: bytes) -> Decoded | None:
        """SCOUT or HELLO, if a datagram outside a session reads better as one of them than as a batch; their ids overlap."""
        try:
            scouting = decode_whole(datagram, Layer.SCOUTING)
        except DecodeError:
            return None
        if self.nature is Nature.SCOUTING:
            return scouting
        batch = list(decode_batch(datagram))
        whole = [decoded for decoded in batch if not isinstance(decoded, DecodeError)]
        if len(whole) < len(batch) or any(isinstance(decoded.message, Open) for decoded in whole):
            return scouting  # no OPEN comes before INIT
        diagnostics = sum(len(decoded.diagnostics) for decoded in whole)
        return scouting if len(scouting.diagnostics) < diagnostics else None

    def _note(self, sender: Side, message: object) -> None:
        """Apply the changes that a message makes to the decoding of later bytes."""
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


def is_of_the_other_side(message: object, sender: Side) -> bool:
    """Whether it is an INIT or OPEN that only the other side sends. Its flag A tells what it is made of: nobody knows where it ends."""
    return isinstance(message, Init | Open) and message.ack is not (sender is Side.RESPONDER)


def kind_of(message: Any) -> str:
    """The kind of a message in paths: `init`, `keep_alive`, `d_subscriber`."""
    return registry.of(type(message)).path


def unnest(event: Event, message: Any, raw: bytes, diagnostics: tuple[Diagnostic, ...] = ()) -> list[Seen]:
    """A message and, after it, each message inside it, with paths."""
    kind = kind_of(message)
    found: list[Seen] = []
    _unnest(Seen(event, kind, message, kind, raw, diagnostics), found)
    return found


def _unnest(outer: Seen, found: list[Seen]) -> None:
    event, message, path, raw, diagnostics = outer.event, outer.message, outer.path, outer.raw, outer.diagnostics
    found.append(outer)
    cls = type(message)
    if cls is Frame:
        outer.channel = (message.reliable, priority_of(message))
        around = (*outer.around, message)
        by_index = _by_index(diagnostics, f"{path}.messages[") if diagnostics else {}
        for index, inner in enumerate(message.messages):
            kind = kind_of(inner)
            own = tuple(by_index.get(index, ())) if by_index else ()
            _unnest(
                Seen(event, kind, inner, f"{path}.messages[{index}].{kind}", raw, own, around, outer.channel), found
            )
        return
    if cls is Fragment:
        outer.channel = (message.reliable, priority_of(message))
    body = getattr(message, "body", None)
    if body is not None and not isinstance(body, int | bytes):
        kind = kind_of(body)
        below = f"{path}.{kind}"
        own = tuple(each for each in diagnostics if each.path.startswith(below)) if diagnostics else ()
        _unnest(Seen(event, kind, body, below, raw, own, (*outer.around, message), outer.channel), found)


def _by_index(diagnostics: tuple[Diagnostic, ...], prefix: str) -> dict[int, list[Diagnostic]]:
    """The diagnostics of each message in a FRAME, by its index; one pass, since there may be thousands of both."""
    by_index: dict[int, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        if diagnostic.path.startswith(prefix):
            index = int(diagnostic.path[len(prefix) : diagnostic.path.index("]", len(prefix))])
            by_index.setdefault(index, []).append(diagnostic)
    return by_index


def priority_of(message: Any) -> int:
    """The priority of a FRAME or FRAGMENT: the low three bits of its QoS extension."""
    for ext in message.exts:
        if type(ext).__name__ == "QoS":
            return int(ext.value) & 0x07
    return DEFAULT_PRIORITY


class Decoders:
    """One decoder for each connection of a conversation."""

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
        """The traffic of a connection so far; unicast before its first event."""
        decoder = self._decoders.get(connection)
        return Nature.UNICAST if decoder is None else decoder.nature

    def forget(self, connection: str) -> None:
        """Drop the decoder of a connection that has ended; another one may use its name."""
        self._decoders.pop(connection, None)
