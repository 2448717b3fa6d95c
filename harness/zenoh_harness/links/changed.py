"""One direction of one link, changed by rules: bytes in, pieces out, each with the seconds that it is held back.

What no rule touches goes on as it came, byte for byte. A batch that is changed is put together again: its length, its
compression and, where a FRAME has gone because a rule took all that it carried, the numbers of those after it in its lane.
What cannot be read is passed on untouched.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from zenoh_conformance.batch import LARGEST, STREAM_PREFIX, decompress, frame_batch, tracers_of
from zenoh_conformance.connection import ConnectionDecoder, SeenBatch, priority_of
from zenoh_conformance.conversation import Event, Happened, Side
from zenoh_conformance.messages import Fragment, Frame, Init
from zenoh_conformance.wire import vle
from zenoh_conformance.wire.errors import DecodeError, EncodeError
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.segment import Segments, Tracer
from zenoh_harness.links.changing import Rule, rate_of, seed_of

_BITS: Final = (7, 14, 28, 63)
"""Of sequence numbers, by the two bits of INIT's resolution."""

_MESSAGES: Final = ".messages["

_SLICES: Final = 20
"""Parts in which a throttle lets a second's bytes go."""


class Piece(NamedTuple):
    """Bytes that go on, and how long they are held back first."""

    data: bytes
    delay: float = 0.0
    """Seconds."""


@dataclass(slots=True)
class _Item:
    """A transport message on its way."""

    message: Any
    segments: Segments
    delay: float = 0.0
    touched: bool = False


@dataclass(slots=True)
class _State:
    """What one rule has seen on this link."""

    rule: Rule
    random: random.Random
    met: int = 0
    """How many its path has named so far."""
    held: list[_Item] = field(default_factory=list)
    """Those that wait for their successors."""

    def hits(self, segments: Segments) -> list[str]:
        """The places of this message that are meant."""
        hits = []
        for place in self.rule.places(segments):
            self.met += 1
            if self.rule.which.meets(self.met, self.random.random()):
                hits.append(place)
        return hits


class ChangedSide:
    """Changes what `side` sends over one link."""

    def __init__(self, rules: Sequence[Rule], side: Side, link: str = "", met: Counter[Rule] | None = None) -> None:
        """`link` is its name: what is drawn differs from link to link, and not from run to run. `met` counts what each rule changed."""
        self.side = side
        self._met = Counter() if met is None else met
        self.rate = rate_of(rules)
        """Bytes a second, or None."""
        drawn = [rule for rule in rules if rule.path]
        self._states = [_State(rule, random.Random(f"{seed_of(rules)} {link} {at}")) for at, rule in enumerate(drawn)]
        self._decoder = ConnectionDecoder()
        self._inits: dict[Side, Init] = {}
        self._gone: Counter[tuple[bool, int]] = Counter()
        """Numbers that a lane lacks."""

    def hear(self, data: bytes) -> None:
        """What the other side sent: it tells what was settled."""
        for seen in self._decoder.feed(Event(0.0, "", self.side.other, Happened.BYTES, data)):
            if isinstance(seen.message, Init):
                self._inits[self.side.other] = seen.message

    def feed(self, data: bytes) -> Iterator[Piece]:
        """What goes on of what the side sent, as far as its batches are complete."""
        for seen in self._decoder.feed(Event(0.0, "", self.side, Happened.BYTES, data)):
            if isinstance(seen, SeenBatch):
                # Its own OPEN, not read yet, may change the length that stands before the next one.
                yield from self._batch(seen, self._decoder.directions[self.side].prefix)
            elif isinstance(seen.message, Init):
                self._inits[self.side] = seen.message

    def rest(self) -> bytes:
        """At the end of the link: what waited for others that have not come, then half a batch."""
        held = [item for state in self._states for item in state.held]
        direction = self._decoder.directions[self.side]
        batches = b"".join(
            frame_batch(item.segments.join(), prefix=direction.prefix, compressed=direction.compressed) for item in held
        )
        for state in self._states:
            state.held.clear()
        return batches + bytes(direction.buffer)

    def _batch(self, seen: SeenBatch, prefix: int) -> Iterator[Piece]:
        whole = len(seen.raw).to_bytes(prefix, "little") + seen.raw
        items = _read(seen)
        after = None if items is None else [each for item in items for each in self._changed(item)]
        if items is None or after is None or _same(items, after):
            yield Piece(whole)
            return
        try:
            yield from [
                Piece(frame_batch(data, prefix=prefix, compressed=seen.compressed), delay)
                for data, delay in self._together(after, prefix)
            ]
        except EncodeError:  # it has grown beyond what a length can say
            yield Piece(whole)

    def _together(self, items: Sequence[_Item], prefix: int) -> Iterator[tuple[bytes, float]]:
        """Batches of what may stand in one; what is held back begins another."""
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

    def _changed(self, item: _Item) -> list[_Item]:
        items = [self._renumbered(item)]
        for state in self._states:
            items = [each for item in items for each in self._ruled(state, item)]
        return items

    def _ruled(self, state: _State, item: _Item) -> list[_Item]:
        """What one rule makes of one transport message."""
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
                return self._reordered(state, item)
        if "." not in hits[0] and state.rule.action != "set":
            return [] if state.rule.action == "drop" else [item, _Item(item.message, item.segments, 0.0, True)]
        for place in reversed(hits):
            item.segments = state.rule.edit(item.segments, place)
        return [] if self._emptied(item) else [item]

    @staticmethod
    def _reordered(state: _State, item: _Item) -> list[_Item]:
        state.held.append(item)
        if state.met < (state.rule.which.last or 0):
            return []
        items, state.held = state.held[::-1], []
        return items

    def _emptied(self, item: _Item) -> bool:
        """Whether a FRAME has lost all that it carried: it does not go, and those after it close the gap."""
        if not isinstance(item.message, Frame) or not item.message.messages:
            return False
        if any(_MESSAGES in path for path in item.segments.paths()):
            return False
        self._gone[_lane(item.message)] += 1
        return True

    def _renumbered(self, item: _Item) -> _Item:
        """A FRAME or FRAGMENT with the number that it has where some before it did not go."""
        if not isinstance(item.message, Frame | Fragment) or not (gone := self._gone[_lane(item.message)]):
            return item
        kind = "frame" if isinstance(item.message, Frame) else "fragment"
        number = vle.encode(item.message.sn - gone & self._mask)
        return _Item(item.message, item.segments.replace(f"{kind}.sn", number), item.delay, True)

    @property
    def _mask(self) -> int:
        """Of the sequence numbers that were settled."""
        said = (init.resolution for init in self._inits.values())
        return (1 << min((_BITS[2 if one is None else one & 3] for one in said), default=_BITS[2])) - 1


def _lane(message: Frame | Fragment) -> tuple[bool, int]:
    return message.reliable, priority_of(message)


def _same(before: Sequence[_Item], after: Sequence[_Item]) -> bool:
    return len(before) == len(after) and not any(item.touched for item in after)


def _read(seen: SeenBatch) -> list[_Item] | None:
    """The transport messages of a batch (network messages, where it is low-latency), in segments; None when one cannot be read."""
    try:
        batch = decompress(seen.raw) if seen.compressed else seen.raw
        return list(_traced(batch, seen.layer))
    except DecodeError:
        return None


def _traced(batch: bytes, layer: Layer) -> Iterator[_Item]:
    """Raises DecodeError."""
    at, tracers = 0, tracers_of(layer)
    while at < len(batch):
        read = tracers[batch[at] & 0x1F]
        if read is None:
            raise DecodeError(at, layer, f"no {layer} message has the id {batch[at] & 0x1F:#04x}")
        tracer = Tracer(batch, at)
        message, at = read(batch, at, len(batch), [], tracer.mark, "")
        yield _Item(message, tracer.segments())


class Held:
    """What waits to go on: each piece after those before it, not before its time."""

    def __init__(self, rate: float | None = None) -> None:
        """`rate` in bytes a second."""
        self._rate = rate
        self._pieces: deque[tuple[float, bytes]] = deque()
        self._free = 0.0
        """When the last of them goes."""
        self.size = 0
        """Bytes that wait."""

    def __bool__(self) -> bool:
        return bool(self._pieces)

    @property
    def due(self) -> float | None:
        """When the first may go; None when nothing waits."""
        return self._pieces[0][0] if self._pieces else None

    def add(self, piece: Piece, now: float) -> None:
        """Hold a piece back for its delay, and for the rate."""
        self._free = max(self._free, now) + piece.delay
        step = len(piece.data) if self._rate is None else max(1, int(self._rate / _SLICES))
        for at in range(0, len(piece.data), step or 1):
            part = piece.data[at : at + step]
            self._free += len(part) / self._rate if self._rate else 0.0
            self._pieces.append((self._free, part))
            self.size += len(part)

    def take(self, now: float) -> Iterator[bytes]:
        """What may go now, in order; `math.inf` for all."""
        while self._pieces and self._pieces[0][0] <= now:
            _, data = self._pieces.popleft()
            self.size -= len(data)
            yield data
