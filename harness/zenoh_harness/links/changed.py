"""Changes one direction of one link by rules: bytes in, bytes with a delay out.

A batch that no rule touches is forwarded byte for byte. A changed batch is framed again, with its length and compression; if
a rule removed all messages of a FRAME, the FRAME is dropped and later ones of its priority are renumbered. Bytes that cannot
be decoded are forwarded unchanged.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from zenoh_conformance.messages import Fragment, Frame, Init
from zenoh_conformance.reading.batch import LARGEST, STREAM_PREFIX, decompress, frame_batch, tracers_of
from zenoh_conformance.reading.connection import TOO_LONG, ConnectionDecoder, SeenBatch, priority_of
from zenoh_conformance.reading.conversation import Connection, Event, Framing, Happened, Side
from zenoh_conformance.wire import DecodeError, EncodeError, Layer, Segments, Tracer, vle
from zenoh_harness.links.changing import Rule, rate_of, seed_of

_BITS: Final = (7, 14, 28, 63)
"""The width of sequence numbers, by the two bits of INIT's resolution."""

_MESSAGES: Final = ".messages["

_SLICES: Final = 20
"""The number of parts in which a throttle forwards the bytes of a second."""


class DelayedBytes(NamedTuple):
    """Bytes to forward after a delay."""

    data: bytes
    delay: float = 0.0
    """Seconds."""


@dataclass(slots=True)
class _Item:
    """A transport message between the two sides."""

    message: Any
    segments: Segments
    delay: float = 0.0
    touched: bool = False


@dataclass(slots=True)
class _State:
    """The state of one rule on this link."""

    rule: Rule
    random: random.Random
    met: int = 0
    """The number of matches of its path so far."""
    held: list[_Item] = field(default_factory=list)
    """The messages that wait for later ones."""

    def hits(self, segments: Segments) -> list[str]:
        """The places in this message that the rule changes."""
        hits = []
        for place in self.rule.places(segments):
            self.met += 1
            if self.rule.which.meets(self.met, self.random.random()):
                hits.append(place)
        return hits


class ChangedSide:
    """Changes the bytes that `side` sends over one link."""

    def __init__(
        self,
        rules: Sequence[Rule],
        side: Side,
        link: str = "",
        met: Counter[Rule] | None = None,
        framing: Framing = Framing.STREAM,
    ) -> None:
        """`link`, its name, is part of the random seed. `met` counts the changes of each rule."""
        self.side, self._framing = side, framing
        self._met = Counter() if met is None else met
        self.rate = rate_of(rules) if framing is Framing.STREAM else None
        """Bytes a second, or None; a datagram is forwarded as a whole."""
        with_path = [rule for rule in rules if rule.path]
        self._states = [
            _State(rule, random.Random(f"{seed_of(rules)} {link} {at}")) for at, rule in enumerate(with_path)
        ]
        self._decoder = ConnectionDecoder(Connection("", framing=framing))
        self._inits: dict[Side, Init] = {}
        self._gone: Counter[tuple[bool, int]] = Counter()
        """The number of FRAMEs that were dropped, by reliability and priority."""

    def hear(self, data: bytes) -> None:
        """Read bytes of the other side, for the negotiated terms."""
        for seen in self._decoder.feed(Event(0.0, "", self.side.other, Happened.BYTES, data)):
            if isinstance(seen.message, Init):
                self._inits[self.side.other] = seen.message

    def feed(self, data: bytes) -> Iterator[DelayedBytes]:
        """The bytes to forward of the batches that `data` completes."""
        if self._decoder.directions[self.side].lost:
            yield DelayedBytes(data)
            return
        for seen in self._decoder.feed(Event(0.0, "", self.side, Happened.BYTES, data)):
            if isinstance(seen, SeenBatch):
                # An OPEN in this batch, not decoded yet, may change the width of the next length.
                yield from self._batch(seen, self._decoder.directions[self.side].prefix)
            elif seen.path == TOO_LONG:
                yield DelayedBytes(seen.raw)
            elif isinstance(seen.message, Init):
                self._inits[self.side] = seen.message

    def rest(self) -> bytes:
        """The bytes left at the end of the link: messages that a reorder held, then half a batch."""
        held = [item for state in self._states for item in state.held]
        direction = self._decoder.directions[self.side]
        batches = b"".join(
            frame_batch(
                item.segments.join(), self._framing.value, prefix=direction.prefix, compressed=direction.compressed
            )
            for item in held
        )
        for state in self._states:
            state.held.clear()
        return batches + bytes(direction.buffer)

    def _batch(self, seen: SeenBatch, prefix: int) -> Iterator[DelayedBytes]:
        whole = seen.raw if self._framing is Framing.DATAGRAM else len(seen.raw).to_bytes(prefix, "little") + seen.raw
        try:
            batch = decompress(seen.raw) if seen.compressed else seen.raw
            items = list(_read_items(batch, seen.layer))
        except DecodeError:
            yield DelayedBytes(whole)
            return
        after = [changed for item in items for changed in self._apply_rules(item)]
        if len(items) == len(after) and not any(item.touched for item in after):
            yield DelayedBytes(whole)
            return
        try:
            yield from [
                DelayedBytes(frame_batch(data, self._framing.value, prefix=prefix, compressed=seen.compressed), delay)
                for data, delay in self._join_batches(after, prefix)
            ]
        except EncodeError:  # the batch has become too long for its length
            yield DelayedBytes(whole)

    def _join_batches(self, items: Sequence[_Item], prefix: int) -> Iterator[tuple[bytes, float]]:
        """Join messages to batches of the negotiated size; a delayed message begins a new batch."""
        most = min([LARGEST, *(init.batch_size for init in self._inits.values() if init.batch_size)])
        batch, delay = b"", 0.0
        for item in items:
            data = item.segments.join()
            if batch and (item.delay or (prefix == STREAM_PREFIX and len(batch) + len(data) > most)):
                yield batch, delay
                batch, delay = b"", 0.0
            batch, delay = batch + data, delay + item.delay
        if batch:
            yield batch, delay

    def _apply_rules(self, item: _Item) -> list[_Item]:
        items = [self._renumber(item)]
        for state in self._states:
            items = [changed for item in items for changed in self._apply_rule(state, item)]
        return items

    def _apply_rule(self, state: _State, item: _Item) -> list[_Item]:
        """The transport messages that replace `item` under one rule."""
        hits = state.hits(item.segments)
        if not hits:
            return [item]
        item.touched = True
        self._met[state.rule] += len(hits)
        match state.rule.action:
            case "delay":
                item.delay += state.rule.amount
                return [item]
            case "reorder":
                return self._reorder(state, item)
        if "." not in hits[0] and state.rule.action != "set":
            return [] if state.rule.action == "drop" else [item, _Item(item.message, item.segments, 0.0, True)]
        for place in reversed(hits):
            item.segments = state.rule.edit(item.segments, place)
        return [] if self._drop_empty_frame(item) else [item]

    @staticmethod
    def _reorder(state: _State, item: _Item) -> list[_Item]:
        state.held.append(item)
        if state.met < (state.rule.which.last or 0):
            return []
        items, state.held = state.held[::-1], []
        return items

    def _drop_empty_frame(self, item: _Item) -> bool:
        """Whether a FRAME has lost all its messages; if so, count it, so that later ones are renumbered."""
        if not isinstance(item.message, Frame) or not item.message.messages:
            return False
        if any(_MESSAGES in path for path in item.segments.paths()):
            return False
        self._gone[_lane(item.message)] += 1
        return True

    def _renumber(self, item: _Item) -> _Item:
        """A FRAME or FRAGMENT with its sequence number reduced by the number of dropped FRAMEs before it."""
        if not isinstance(item.message, Frame | Fragment) or not (gone := self._gone[_lane(item.message)]):
            return item
        kind = "frame" if isinstance(item.message, Frame) else "fragment"
        number = vle.encode(item.message.sn - gone & self._mask)
        return _Item(item.message, item.segments.replace(f"{kind}.sn", number), item.delay, True)

    @property
    def _mask(self) -> int:
        """The largest sequence number that the INITs negotiated."""
        codes = [2 if init.resolution is None else init.resolution & 3 for init in self._inits.values()]
        return (1 << _BITS[min(codes, default=2)]) - 1


def _lane(message: Frame | Fragment) -> tuple[bool, int]:
    return message.reliable, priority_of(message)


def _read_items(batch: bytes, layer: Layer) -> Iterator[_Item]:
    """The messages of a batch, in segments.  Raises DecodeError."""
    at, tracers = 0, tracers_of(layer)
    while at < len(batch):
        read = tracers[batch[at] & 0x1F]
        if read is None:
            raise DecodeError(at, layer, f"no {layer} message has the id {batch[at] & 0x1F:#04x}")
        tracer = Tracer(batch, at)
        message, at = read(batch, at, len(batch), [], tracer.mark, "")
        yield _Item(message, tracer.segments())


class DelayQueue:
    """The bytes that wait to be forwarded, in order, each until its time."""

    def __init__(self, rate: float | None = None) -> None:
        """`rate` in bytes a second."""
        self._rate = rate
        self._pieces: deque[tuple[float, bytes]] = deque()
        self._free = 0.0
        """The time at which the last bytes are forwarded."""
        self.size = 0
        """The number of bytes that wait."""

    def __bool__(self) -> bool:
        return bool(self._pieces)

    @property
    def due(self) -> float | None:
        """The time of the first bytes; None when nothing waits."""
        return self._pieces[0][0] if self._pieces else None

    def add(self, piece: DelayedBytes, now: float) -> None:
        """Queue bytes for their delay, and for the rate."""
        self._free = max(self._free, now) + piece.delay
        step = len(piece.data) if self._rate is None else max(1, int(self._rate / _SLICES))
        for at in range(0, len(piece.data), step or 1):
            part = piece.data[at : at + step]
            self._free += len(part) / self._rate if self._rate else 0.0
            self._pieces.append((self._free, part))
            self.size += len(part)

    def take(self, now: float) -> Iterator[bytes]:
        """Remove the bytes that are due, in order; `math.inf` for all."""
        while self._pieces and self._pieces[0][0] <= now:
            _, data = self._pieces.popleft()
            self.size -= len(data)
            yield data
