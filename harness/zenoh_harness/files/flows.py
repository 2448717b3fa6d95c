"""Group the units of a capture into flows, and reassemble the byte streams of TCP.

    units  --flow_key-->  groups of two endpoints  --connections-->  flows  --Reassembly.spoken-->  Said and Lost, in order

Pure functions over the units of one flow in the order of the capture. Reassembly removes repeated bytes and reorders late
ones; bytes that are missing in the capture become `Lost`. A unit is passed on only after the bytes that it acknowledges:
otherwise a packet that is too late in the file would put an answer before its question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, NamedTuple

from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness.files.packets import ACK, FIN, RST, SYN, TCP, UDP, Unit, is_multicast, port_of

PATIENCE: Final = 256
"""A missing segment is lost if it is not among this many following packets of its connection."""
FIRST: Final = 16
"""If the beginning of a connection was not captured, the lowest sequence number among this many packets is the start."""
_HALF: Final = 1 << 31

FlowKey = tuple[int, str, str]
"""Protocol, and the two endpoints in alphabetical order; for multicast the source first, then the target."""


class Said(NamedTuple):
    """Bytes that one side sent, or its open, end or reset of the link."""

    sender: Side
    kind: Happened
    data: bytes
    unit: Unit
    """The unit that contains it."""
    known: Unit
    """The unit after which everything before this one was known, at the earliest `unit` itself."""


class Lost(NamedTuple):
    """Bytes that one side sent, as an acknowledgement or a later packet shows, and that the capture does not contain."""

    sender: Side
    size: int
    """Number of bytes."""
    known: Unit
    """The unit at which they were taken for lost."""


@dataclass(slots=True)
class Flow:
    """One TCP connection, or the datagrams from one endpoint to another."""

    protocol: int
    initiator: str
    responder: str
    units: list[Unit] = field(default_factory=list)
    begun: bool = True
    """Whether the capture contains its beginning, the first SYN of TCP."""
    repeated: int = 0
    """Packets whose bytes earlier packets contained already."""
    spoke: set[Side] = field(default_factory=set)
    """The sides that sent at least one packet."""


def flow_key(unit: Unit) -> FlowKey:
    """Return the key that all units between two endpoints share, in both directions."""
    if unit.source <= unit.target or (unit.protocol == UDP and is_multicast(unit.target)):
        return unit.protocol, unit.source, unit.target
    if unit.protocol == UDP and is_multicast(unit.source):
        return unit.protocol, unit.source, unit.target
    return unit.protocol, unit.target, unit.source


def flows(units: Iterable[Unit]) -> Iterator[Flow]:
    """Yield the flows of a capture, in the order of their first packets.

    A TCP connection that reuses the ports of an earlier one is a flow of its own.
    """
    grouped: dict[FlowKey, list[Unit]] = {}
    for unit in units:
        grouped.setdefault(flow_key(unit), []).append(unit)
    found = [flow for group in grouped.values() for flow in connections(group)]
    yield from sorted(found, key=lambda flow: flow.units[0].number)


def connections(units: list[Unit]) -> Iterator[Flow]:
    """Yield the flows among the units of one flow key, in order: one for UDP, one for each connection of TCP."""
    if units[0].protocol == UDP:
        yield _of_datagrams(units)
        return
    part: list[Unit] = []
    opened: Unit | None = None
    for unit in units:
        if unit.flags & (SYN | ACK) == SYN:
            if (opened is not None and unit.seq != opened.seq) or (opened is None and _is_another(part, unit)):
                yield _of_segments(part, opened)
                part = []
            opened = unit
        part.append(unit)
    yield _of_segments(part, opened)


def _is_another(part: list[Unit], syn: Unit) -> bool:
    """Return whether a SYN begins another connection than the one whose units precede it in the file."""
    own = [unit for unit in part if unit.source == syn.source and not unit.flags & RST]
    other = [unit for unit in part if unit.source != syn.source and unit.flags & ACK]
    starts = [unit.seq for unit in own] + [unit.ack for unit in other]
    return (bool(starts) and all((start - syn.seq - 1) % (1 << 32) >= _HALF for start in starts)) or (
        bool(part) and any(unit.flags & (FIN | RST) for unit in part)
    )


def _of_datagrams(units: list[Unit]) -> Flow:
    return Flow(UDP, units[0].source, units[0].target, units)


def _of_segments(units: list[Unit], opened: Unit | None) -> Flow:
    """Return the flow of TCP segments. The sender of the SYN is the initiator; without a SYN, the side with the higher port."""
    for unit in units:
        if unit.flags & SYN:
            us, them = (unit.source, unit.target) if not unit.flags & ACK else (unit.target, unit.source)
            return Flow(TCP, us, them, units, begun=opened is not None)
    one, other = units[0].source, units[0].target
    if port_of(one) < port_of(other):
        one, other = other, one
    return Flow(TCP, one, other, units, begun=False)


@dataclass(slots=True)
class _Stream:
    """One direction of a TCP connection."""

    side: Side
    next: int | None = None
    """The position of the next byte: a sequence number that does not wrap around. None before the first unit."""
    waiting: list[tuple[int, int, Unit]] = field(default_factory=list)
    """(position, packet number, unit) of the units that came too early: a heap, the lowest position first."""
    ended: bool = False

    def position(self, number: int) -> int:
        """Return the position of a sequence number: the one nearest to the next byte, modulo 2**32."""
        if self.next is None:
            self.next = number
        return self.next + (number - self.next + _HALF) % (1 << 32) - _HALF


class Reassembly:
    """Reassembles both directions of one TCP connection from its units in the order of the capture."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._streams = {side: _Stream(side) for side in Side}
        self._late = 0
        self._opened = False
        self._reset = False
        self._last: Unit | None = None
        for side in Side:
            self._streams[side].next = self._first(side)

    def _first(self, side: Side) -> int | None:
        """Return the sequence number of a side's first byte; None if no packet of that side was captured."""
        own = [unit for unit in self._flow.units if self._side(unit) is side]
        for unit in own:
            if unit.flags & SYN:
                return unit.seq + 1
        if not own:
            return None
        begin = own[0].seq
        return begin + min((unit.seq - begin + _HALF) % (1 << 32) - _HALF for unit in own[:FIRST])

    def _side(self, unit: Unit) -> Side:
        return Side.INITIATOR if unit.source == self._flow.initiator else Side.RESPONDER

    def spoken(self) -> Iterator[Said | Lost]:
        """Yield bytes and events of both sides, in an order that the two nodes can have observed."""
        for unit in self._flow.units:
            yield from self.feed(unit)
        yield from self.finish()

    def feed(self, unit: Unit) -> Iterator[Said | Lost]:
        """Add a unit; yield the bytes and events that are complete with it. After a reset nothing more is yielded."""
        if self._reset:
            return
        self._last = unit
        side = self._side(unit)
        self._flow.spoke.add(side)
        stream = self._streams[side]
        if unit.flags & SYN and side is Side.INITIATOR and not self._opened:
            self._opened = True
            yield Said(side, Happened.OPEN, b"", unit, unit)
        if unit.payload or unit.flags & (FIN | RST):
            start = stream.position(unit.seq + (unit.flags & SYN > 0))
            heappush(stream.waiting, (start, unit.number, unit))
        yield from self._advance(unit)
        if self._is_over():
            return
        self._late = self._late + 1 if self.is_waiting else 0
        if self._late > PATIENCE:
            yield from self._give_up(unit)

    def finish(self) -> Iterator[Said | Lost]:
        """Yield the bytes that still wait at the end of the capture, and the missing ones before them as `Lost`."""
        while self._last is not None and self.is_waiting and not self._reset:
            yield from self._give_up(self._last)

    def _is_over(self) -> bool:
        return self._reset

    @property
    def latest(self) -> int:
        """The number of the last unit that was added."""
        return self._last.number if self._last is not None else 0

    @property
    def is_waiting(self) -> bool:
        """Whether bytes wait for others that are missing so far."""
        return bool(self._streams[Side.INITIATOR].waiting or self._streams[Side.RESPONDER].waiting)

    def _advance(self, known: Unit) -> Iterator[Said]:
        """Yield all waiting units that are due."""
        moved = True
        while moved:
            moved = False
            for stream in self._streams.values():
                while stream.waiting and self._is_due(stream):
                    moved = True
                    yield from self._tell(stream, known)

    def _is_due(self, stream: _Stream) -> bool:
        """Return whether the first waiting unit continues the stream, and the bytes that it acknowledges were yielded."""
        start, _, unit = stream.waiting[0]
        return start <= (stream.next or 0) and self._unheard(stream, unit) <= 0

    def _unheard(self, stream: _Stream, unit: Unit) -> int:
        """Return the number of bytes of the other side that a unit acknowledges and that were not yielded yet."""
        other = self._streams[stream.side.other]
        if not unit.flags & ACK or unit.flags & RST or other.next is None:
            return 0
        behind = other.position(unit.ack) - other.next
        return behind if behind < _HALF // 2 else 0

    def _tell(self, stream: _Stream, known: Unit) -> Iterator[Said]:
        start, _, unit = heappop(stream.waiting)
        at = stream.next or 0
        end = start + len(unit.payload)
        if end > at and not stream.ended:
            stream.next = end
            yield Said(stream.side, Happened.BYTES, unit.payload[at - start :], unit, known)
        elif unit.payload:
            self._flow.repeated += 1
        if unit.flags & RST:
            self._reset = True
            if not all(each.ended for each in self._streams.values()):
                yield Said(stream.side, Happened.RESET, b"", unit, known)
            for each in self._streams.values():
                each.waiting.clear()
        elif unit.flags & FIN and not unit.missing and not stream.ended and end >= at:
            stream.ended = True
            stream.next = end + 1
            yield Said(stream.side, Happened.EOF, b"", unit, known)

    def _give_up(self, known: Unit) -> Iterator[Said | Lost]:
        """Yield as `Lost` the bytes for which the unit with the lowest packet number waits, and the units that are due then."""
        self._late = 0
        stream = min((each for each in self._streams.values() if each.waiting), key=lambda each: each.waiting[0][1])
        start, _, unit = stream.waiting[0]
        if start > (stream.next or 0):
            count, stream.next = start - (stream.next or 0), start
            yield Lost(stream.side, count, known)
        else:
            other = self._streams[stream.side.other]
            count = self._unheard(stream, unit)
            other.next = (other.next or 0) + count
            if count == 1 and not other.waiting and not other.ended:  # most likely its FIN, since nothing follows it
                other.ended = True
                yield Said(other.side, Happened.EOF, b"", unit, known)
            elif count and not other.ended:
                yield Lost(other.side, count, known)
        yield from self._advance(known)
