"""Flows: the units of a capture sorted by who talks to whom, and TCP put together again.

    units  --flow_key-->  flows  --connections-->  one TCP connection each  --spoken-->  what was said, in order

Pure functions over the units of one flow in the order of the capture. What came twice, late or overlapping is put right;
what the capture lost is told as `Lost`. Nobody is heard before what he has acknowledged: so a packet that stands too
late in the file does not put an answer before its question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, NamedTuple

from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness.files.packets import ACK, FIN, RST, SYN, TCP, UDP, Unit, is_multicast, port_of

PATIENCE: Final = 256
"""Packets of a connection that a missing one may be late by; then it is lost."""
FIRST: Final = 16
"""Packets among which the earliest bytes of a connection are looked for whose beginning was not captured."""
_HALF: Final = 1 << 31

FlowKey = tuple[int, str, str]
"""Protocol, and the two endpoints in the order of the alphabet; of multicast the sender and the group."""


class Said(NamedTuple):
    """Bytes of one side, or what it did with the link."""

    sender: Side
    kind: Happened
    data: bytes
    unit: Unit
    """Where it was read."""
    known: Unit
    """The unit with which all before it was there too: it can be told no earlier."""


class Lost(NamedTuple):
    """Bytes of one side that the capture has not, though the other side or a later packet shows that they were sent."""

    sender: Side
    size: int
    """Bytes."""
    known: Unit


@dataclass(slots=True)
class Flow:
    """One TCP connection, or the datagrams from one endpoint to another."""

    protocol: int
    initiator: str
    responder: str
    units: list[Unit] = field(default_factory=list)
    begun: bool = True
    """Its beginning is in the capture: TCP's first SYN."""
    repeated: int = 0
    """Packets whose bytes had been there before."""
    spoke: set[Side] = field(default_factory=set)
    """The sides from which any packet came."""


def flow_key(unit: Unit) -> FlowKey:
    """What the units of one flow have in common."""
    if unit.source <= unit.target or (unit.protocol == UDP and is_multicast(unit.target)):
        return unit.protocol, unit.source, unit.target
    if unit.protocol == UDP and is_multicast(unit.source):
        return unit.protocol, unit.source, unit.target
    return unit.protocol, unit.target, unit.source


def flows(units: Iterable[Unit]) -> Iterator[Flow]:
    """All flows of a capture, in the order of their first packets; one that uses the ports of an earlier one is another."""
    grouped: dict[FlowKey, list[Unit]] = {}
    for unit in units:
        grouped.setdefault(flow_key(unit), []).append(unit)
    found = [flow for group in grouped.values() for flow in connections(group)]
    yield from sorted(found, key=lambda flow: flow.units[0].number)


def connections(units: list[Unit]) -> Iterator[Flow]:
    """The connections among the units of one flow key, in order."""
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
    """Whether a SYN begins a connection other than the one whose units stand before it in the file."""
    own = [unit for unit in part if unit.source == syn.source and not unit.flags & RST]
    other = [unit for unit in part if unit.source != syn.source and unit.flags & ACK]
    starts = [unit.seq for unit in own] + [unit.ack for unit in other]
    return (bool(starts) and all((start - syn.seq - 1) % (1 << 32) >= _HALF for start in starts)) or (
        bool(part) and any(unit.flags & (FIN | RST) for unit in part)
    )


def _of_datagrams(units: list[Unit]) -> Flow:
    return Flow(UDP, units[0].source, units[0].target, units)


def _of_segments(units: list[Unit], opened: Unit | None) -> Flow:
    """Who opened it is told by SYN; without, the higher port is taken for the side that did."""
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
    """The position of the next byte; positions are sequence numbers that never wrap. None until anything is known."""
    waiting: list[tuple[int, int, Unit]] = field(default_factory=list)
    """(position, number, unit): what came too early, the earliest first."""
    ended: bool = False

    def position(self, number: int) -> int:
        """Where a sequence number stands."""
        if self.next is None:
            self.next = number
        return self.next + (number - self.next + _HALF) % (1 << 32) - _HALF


class Reassembly:
    """Both directions of one TCP connection, fed with its units in the order of the capture."""

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
        """The sequence number of a side's first byte; None when nothing of it was captured."""
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
        """What was said, in an order that its parties can have seen."""
        for unit in self._flow.units:
            yield from self.feed(unit)
        yield from self.finish()

    def feed(self, unit: Unit) -> Iterator[Said | Lost]:
        """What can be told now that this unit is there too; nothing more after a reset."""
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
        self._late = self._late + 1 if self._is_waiting() else 0
        if self._late > PATIENCE:
            yield from self._give_up(unit)

    def finish(self) -> Iterator[Said | Lost]:
        """What is left when no more comes: what waits is told, what it waits for is lost."""
        while self._last is not None and self._is_waiting() and not self._reset:
            yield from self._give_up(self._last)

    def _is_over(self) -> bool:
        return self._reset

    def _is_waiting(self) -> bool:
        return bool(self._streams[Side.INITIATOR].waiting or self._streams[Side.RESPONDER].waiting)

    def _advance(self, known: Unit) -> Iterator[Said]:
        """Tell what can be told now."""
        moved = True
        while moved:
            moved = False
            for stream in self._streams.values():
                while stream.waiting and self._is_due(stream):
                    moved = True
                    yield from self._tell(stream, known)

    def _is_due(self, stream: _Stream) -> bool:
        """Whether the first that waits goes on where the stream stands, and what it acknowledges has been told."""
        start, _, unit = stream.waiting[0]
        return start <= (stream.next or 0) and self._unheard(stream, unit) <= 0

    def _unheard(self, stream: _Stream, unit: Unit) -> int:
        """How many bytes of the other side a unit acknowledges that have not been told."""
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
        """Take for lost what the longest waiting unit waits for."""
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
            if count == 1 and not other.waiting and not other.ended:  # its FIN, most likely: it said nothing after it
                other.ended = True
                yield Said(other.side, Happened.EOF, b"", unit, known)
            elif count and not other.ended:
                yield Lost(other.side, count, known)
        yield from self._advance(known)
