"""What we say in a dialogue: batches, FRAMEs with their numbers, FRAGMENTs, and sane messages of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

from zenoh_conformance.messages import (
    Close,
    Declaration,
    Declare,
    DSubscriber,
    Frame,
    Init,
    Network,
    Open,
    Push,
    Put,
    Scouting,
    Transport,
    sane,
)
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import ConnectionDecoder, priority_of
from zenoh_conformance.reading.conversation import Connection, Event, Framing, Happened, Side
from zenoh_conformance.reading.fragments import fragment
from zenoh_conformance.reading.pieces import Pieces
from zenoh_conformance.reading.terms import SessionTerms
from zenoh_conformance.wire import NO_EXTS, Segments, exts

from .budget import ReadBudget
from .scene import Wire

Sendable = Transport | Network | Scouting | Segments | bytes
"""What stands in a batch."""

PREFIX = 2
"""Bytes of a batch's length, which count for its size."""

FRAGMENT_HEAD = 14
"""Most that stands before the payload of a FRAGMENT: header, number, QoS, First."""


class Speaker(SessionTerms):
    """Our half of a link: it counts what it says, and keeps to what both sides settled."""

    def __init__(self, wire: Wire, *, zid: bytes, initial_sn: int = 0) -> None:
        super().__init__()
        self.wire, self.zid, self.initial_sn = wire, zid, initial_sn
        self.left = False
        """Whether we said CLOSE."""
        self.offers: Sequence[Any] = sane.OFFERS
        """What our InitSyn offers where a case does not say."""
        self.budget = ReadBudget()
        """What may be read of the target; one for all dialogues of a scene."""
        self._decoder = ConnectionDecoder(Connection(wire.name, wire.link, wire.framing))
        self._pieces = Pieces()
        self._next_sn: dict[tuple[bool, int], int] = {}
        self._spoke, self._pause = wire.now(), 0.0
        """When we said something last, and our longest silence since our OPEN, in seconds."""
        self._ids = iter(range(1, 1 << 32))

    def send(self, *what: Sendable) -> None:
        """Put transport messages, Segments or bytes on the link, together in one batch."""
        self.send_bytes(self.framed(b"".join(as_bytes(part) for part in what)))

    def send_each(self, *what: Sendable) -> None:
        """One batch for each, in one write; on datagrams one datagram for each."""
        batches = [self.framed(as_bytes(part)) for part in what]
        for data in batches if self.wire.framing is Framing.DATAGRAM else [b"".join(batches)]:
            self.send_bytes(data)

    def send_cut(self, message: Sendable, cuts: Iterable[int]) -> None:
        """One batch in several writes, cut before those bytes, its length prefix counted; a datagram stays whole."""
        data = self.framed(as_bytes(message))
        within = () if self.wire.framing is Framing.DATAGRAM else takewhile(len(data).__gt__, cuts)
        for start, end in pairwise((0, *within, len(data))):
            self.send_bytes(data[start:end])

    def send_bytes(self, data: bytes) -> None:
        """Put bytes on the link as they are: no prefix is added."""
        event = Event(self.wire.now(), self.wire.name, self.wire.side, Happened.BYTES, data)
        spoke, is_open, self._spoke = self._spoke, self.my_open is not None, event.time
        self.budget.sent += len(data)
        for seen in self._decoder.feed(event):
            self.budget.sent_messages += 1
            if isinstance(seen.message, Init):
                self.mine = seen.message
                self.budget.inits += 1
                list(self._pieces.feed(seen))  # numbers are counted as both INITs settled
            elif isinstance(seen.message, Open):
                self.my_open = seen.message
            elif isinstance(seen.message, Close):
                self.left = True
        try:
            self.wire.send(data)
        finally:
            if is_open:  # a busy machine may hold us up before the bytes go out
                self._pause = max(self._pause, self.wire.now() - spoke)

    @property
    def prefix(self) -> int:
        """The bytes of the length before each batch of ours on this link now; none on datagrams."""
        return self._decoder.directions[self.wire.side].prefix if self.wire.framing is Framing.STREAM else 0

    def framed(self, batch: bytes) -> bytes:
        """A batch as it stands on this link now: length prefix, compression header."""
        ours = self._decoder.directions[self.wire.side]
        return frame_batch(batch, self.wire.framing.value, prefix=ours.prefix, compressed=ours.compressed)

    def say(self, *messages: Network, reliable: bool = True, priority: int | None = None) -> None:
        """Network messages in one FRAME with the next sequence number; in FRAGMENTs, one after the other, where they are larger than
        the batch that was settled; bare on a low-latency session."""
        if self._decoder.directions[self.wire.side].lowlatency:
            self.send(*messages)
            return
        frame = self.frame(*messages, reliable=reliable, priority=priority)
        if len(encode(frame)) <= self.room:
            self.send(frame)
            return
        self._say_fragments(encode(messages[0]), frame)
        for message in messages[1:]:
            self.say(message, reliable=reliable, priority=priority)

    def _say_fragments(self, data: bytes, frame: Frame) -> None:
        """A message in pieces that fit; the first one, marked where that was settled, has the number of `frame`."""
        priority = priority_of(frame)
        lane = None if priority == sane.DEFAULT_PRIORITY else priority
        size = max(1, self.room - FRAGMENT_HEAD)
        pieces = fragment(
            data,
            sn=frame.sn,
            size=size,
            mask=self.sn_mask,
            reliable=frame.reliable,
            marks=self.patch > 0,
            priority=lane,
        )
        for count, piece in enumerate(pieces):
            if count:
                self.next_sn(frame.reliable, priority)
            self.send(piece)

    @property
    def room(self) -> int:
        """The largest batch that both sides take, less its prefix and its compression header (erratum batch-size-counts-prefix)."""
        return self.batch - PREFIX - int(self._decoder.directions[self.wire.side].compressed)

    def frame(self, *messages: Network, reliable: bool = True, priority: int | None = None) -> Frame:
        """A FRAME with the next sequence number of its channel."""
        lane = NO_EXTS if priority is None else exts(sane.lane(priority))
        sn = self.next_sn(reliable, sane.DEFAULT_PRIORITY if priority is None else priority)
        return Frame(reliable=reliable, sn=sn, exts=lane, messages=messages)

    def next_sn(self, reliable: bool = True, priority: int = sane.DEFAULT_PRIORITY) -> int:
        """The next sequence number of a channel, which it uses up."""
        sn = self._next_sn.get((reliable, priority), self.initial_sn)
        self._next_sn[reliable, priority] = (sn + 1) & self.sn_mask
        return sn

    def new_id(self) -> int:
        """An id that this dialogue has not used."""
        return next(self._ids)

    def count_ids_from(self, first: int) -> None:
        """Take new ids from there on: smaller ones stand in bytes that are sent as they are."""
        self._ids = iter(range(first, 1 << 32))

    # -- sane messages of a handshake

    def init_syn(self, **changes: Any) -> Init:
        """A sane InitSyn of ours."""
        return sane.init_syn(self.zid, **({"exts": self.offers} | changes))

    def init_ack(self, syn: Init, *, terms: Mapping[str, Any] | None = None, **changes: Any) -> Init:
        """A sane InitAck of ours to their proposal; `terms`: fields that it has as far as the proposal allows them."""
        own = {"cookie": b"zconform-cookie-" + self.zid} | sane.within(syn, **(terms or {}))
        return sane.init_ack(syn, self.zid, **(own | changes))

    def open_syn(self, ack: Init, **changes: Any) -> Open:
        """A sane OpenSyn of ours, with their cookie."""
        return sane.open_syn(ack, **({"initial_sn": self.initial_sn} | changes))

    def open_ack(self, **changes: Any) -> Open:
        """A sane OpenAck of ours."""
        return sane.open_ack(**({"initial_sn": self.initial_sn} | changes))

    # -- plain session work

    def declare(self, body: Declaration) -> None:
        """One declaration, in the lane of whatever is asked after it."""
        self.say(Declare(exts=exts(sane.qos(sane.OUR_DECLARE_QOS)), body=body))

    def subscribe(self, key: str) -> int:
        """Declare a subscriber, by its whole name; its id."""
        entity = self.new_id()
        self.declare(DSubscriber(id=entity, key=WireExpr(scope=0, suffix=key, mapping=True)))
        return entity

    def publish(self, key: str, payload: bytes, *, block: bool = False) -> None:
        """PUT to a key, by its whole name; with `block` it may not be dropped, however busy the one who passes it on."""
        how = exts(QoS(value=sane.BLOCK)) if block else NO_EXTS
        self.say(Push(key=WireExpr(scope=0, suffix=key, mapping=True), exts=how, body=Put(payload=payload)))

    def break_off(self) -> None:
        """Reset the link, without CLOSE; on datagrams, where the target would not see that, CLOSE the session."""
        if self.wire.framing is Framing.DATAGRAM:
            self.leave()
        else:
            self.wire.reset()

    @property
    def has_begun(self) -> bool:
        """Whether there is something to CLOSE: a handshake, or a link of datagrams that was opened to us."""
        opened = self.wire.framing is Framing.DATAGRAM and self.wire.side is Side.RESPONDER
        return opened or self.mine is not None or self.theirs is not None

    def leave(self, reason: int = 0) -> None:
        """CLOSE what was begun, and shut the link, in order."""
        if self.has_begun and not self.left:
            self.send(sane.close(reason))
        self.wire.shut()


def as_bytes(part: Sendable) -> bytes:
    """A message, Segments or bytes, as bytes."""
    if isinstance(part, bytes | bytearray):
        return bytes(part)
    return part.join() if isinstance(part, Segments) else encode(part)
