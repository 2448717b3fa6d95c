"""Read a capture as events, packet by packet: what `captures.read` gives, for a file of any size in bounded memory.

A flow is held back only until its type and its first batch are known. The events of all flows come in the order of the capture:
those of one flow wait until no other can have an earlier one, but for no more than `IDLE` packets and `MOST_PENDING` bytes. What is
known only after that comes late, with its own time.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Final

from zenoh_conformance.reading.conversation import Connection, Event
from zenoh_harness.files.captures import PORTS, units
from zenoh_harness.files.flows import FlowKey, flow_key
from zenoh_harness.files.heard_live import Datagrams, Stream, Told, begun_by
from zenoh_harness.files.packets import Unit
from zenoh_harness.files.pcap import Capture

IDLE: Final = 4096
"""Packets of the capture after which no other event waits for a flow that has none among them."""
STEP: Final = 512
"""Packets after which the events that no other can precede are given."""
MOST_PENDING: Final = 1 << 24
"""Bytes of events that wait for earlier ones of other flows."""
MOST_FLOWS: Final = 1 << 14
"""Flows that are followed at a time; past that, the one that was silent longest is taken for ended."""


@dataclass(slots=True)
class PacketRange:
    """The packets of a connection: those of its flow key, from one number to another."""

    key: FlowKey
    first: int
    last: int = 1 << 62

    def has(self, key: FlowKey, number: int) -> bool:
        """Whether a packet with this flow key and number belongs to it."""
        return self.key == key and self.first <= number <= self.last


@dataclass(slots=True)
class _Heard:
    """A flow that is being heard."""

    hearing: Stream | Datagrams
    range: PacketRange
    latest: int
    """The number of its last packet."""
    names: dict[str, str] = field(default_factory=dict)
    """The name of a connection to the one that it has in this capture: ports may be used again."""


class CaptureStream:
    """The events of a capture, in seconds since the first one; to be iterated over once."""

    def __init__(self, path: Path, ports: Iterable[int] = ()) -> None:
        self.path = path
        self.ports = frozenset(ports)
        """Zenoh ports besides `PORTS`."""
        self.connections: dict[str, Connection] = {}
        """The connections so far, by name."""
        self.ranges: dict[str, PacketRange] = {}
        """Connection to its packets, including pure acknowledgements."""
        self.counted: Counter[str] = Counter()
        """Description to count: packets that are not part of any connection, and faults of the capture."""
        self.fragments: dict[int, tuple[FlowKey, int]] = {}
        """Packet with an IP fragment to the flow key and the number of the segment or datagram that it is a part of."""
        self._capture = Capture(path)
        self._ports = PORTS | self.ports
        self._flows: OrderedDict[FlowKey, _Heard] = OrderedDict()
        """By when they were heard last."""
        self._blocking: dict[FlowKey, int] = {}
        """Flow to the number of its oldest packet that is held back."""
        self._pending: list[tuple[int, Event]] = []
        self._size = 0
        self._last = self._now = 0
        self._began: int | None = None
        self._times: dict[str, int] = {}
        """Connection to the time of its latest event."""

    @property
    def damaged(self) -> bool:
        """Whether the file contains an unreadable block or record; what follows it was not read."""
        return self._capture.damaged

    @property
    def read(self) -> int:
        """Number of packets that were read."""
        return self.counted["packets"]

    def __iter__(self) -> Iterator[Event]:
        """Yield the events. Raises FileFault if the file is no capture."""
        step = STEP
        for unit in units(self._capture, self.counted):
            self._hear(unit)
            if unit.number >= step:
                step = unit.number + STEP
                self._settle(unit.number)
                yield from self._due(unit.number)
        for key in list(self._flows):
            self._end(key)
        yield from self._due(1 << 62)
        if self._capture.cut:
            self.counted[f"{'damaged' if self.damaged else 'cut off'}: {self._capture.cut}"] += 1
        self.counted = +self.counted

    def _hear(self, unit: Unit) -> None:
        key = flow_key(unit)
        if unit.packets:
            self.fragments.update(dict.fromkeys(unit.packets, (key, unit.number)))
        heard = self._flows.get(key)
        if heard is not None and heard.hearing.is_another(unit):
            self._end(key)
            heard = None
        if heard is None:
            first = min(unit.packets, default=unit.number)
            heard = self._flows[key] = _Heard(begun_by(unit, self._ports, self.counted), PacketRange(key, first), first)
            if len(self._flows) > MOST_FLOWS:
                self._end(next(iter(self._flows)))
        heard.latest = unit.number
        self._flows.move_to_end(key)
        hearing = heard.hearing
        for told in hearing.feed(unit):
            self._tell(heard, told)
        oldest = hearing.oldest
        if oldest is not None:
            self._blocking[key] = oldest
        elif key in self._blocking:
            del self._blocking[key]

    def _tell(self, heard: _Heard, told: Told) -> None:
        known, event, order = told
        name = heard.names.get(known.name)
        if name is None:
            name = known.name
            while name in self.connections:
                name += "'"
            heard.names[known.name] = name
            self.connections[name] = replace(known, name=name)
            self.ranges[name] = heard.range
        if event is not None:
            event.connection = name
            self._pending.append((order, event))
            self._size += len(event.data)

    def _end(self, key: FlowKey) -> None:
        heard = self._flows.pop(key)
        heard.range.last = heard.latest
        for told in heard.hearing.finish():
            self._tell(heard, told)
        self._blocking.pop(key, None)

    def _settle(self, number: int) -> None:
        """Let no event wait for a flow that is silent; decide what that is, if its packets tell."""
        for key in list(self._blocking):
            heard = self._flows[key]
            if heard.latest < number - IDLE:
                for told in heard.hearing.settle():
                    self._tell(heard, told)
                del self._blocking[key]

    def _due(self, number: int) -> Iterator[Event]:
        """Yield the events that none can precede any more, in the order of the capture."""
        if self._size > MOST_PENDING:
            self._blocking.clear()
        until = min(self._blocking.values(), default=number)
        self._pending.sort(key=itemgetter(0))
        due = self._pending
        if due and due[-1][0] > until:
            at = next(at for at, (order, _) in enumerate(due) if order > until)
            due, self._pending = due[:at], due[at:]
        else:
            self._pending = []
        for order, event in due:
            self._size -= len(event.data)
            yield self._set_time(order, event)

    def _set_time(self, order: int, event: Event) -> Event:
        """Set the time in seconds. The times of a connection never decrease, nor do those of the whole, but for what comes late."""
        time = int(event.time)
        if self._began is None:
            self._began = self._now = time
        if order < self._last:
            time = max(time, self._times.get(event.connection, self._began))
        else:
            self._last = order
            if time < self._now:
                self.counted["times the clock went back"] += 1
            time = self._now = max(self._now, time)
        self._times[event.connection] = time
        event.time = (time - self._began) / 1e9
        return event
