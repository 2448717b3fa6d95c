"""One flow heard as its packets come, in bounded memory: it may be as long as a disk, and go on in the next file.

Says what `captures.heard` says of the whole flow. Only the beginning is held back: until it can be told
what the flow is, and, where its beginning was not captured, where its batches begin. All of it can be pickled, which is how
a flow that goes on is kept from one file to the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from zenoh_conformance.reading.conversation import Begins, Connection, Event, Framing, Happened, Side
from zenoh_harness.files import batch_starts
from zenoh_harness.files.captures import chunks, first_bytes, flow_type_of, is_turned
from zenoh_harness.files.flow_types import FlowType, Recent, begins_with_init
from zenoh_harness.files.flows import Flow, Lost, Reassembly, Said, connections
from zenoh_harness.files.packets import ACK, FIN, RST, SYN, TCP, Unit, is_multicast

LEAST: Final = 32
"""Packets that are held back at least: what begins a connection may stand a little too late in the file."""
HELD: Final = 64
"""Packets that are held back at most where the beginning of a flow is there, to see what it is."""
HELD_MIDWAY: Final = 4096
"""The same where it is not there, and the first whole batch is looked for."""
HELD_BYTES: Final = 8 * batch_starts.LOOKED_AT
"""Bytes that are held back at most while that is looked for."""
TELLING: Final = 16
"""Bytes of each side that tell what a connection is."""
HANDSHAKE: Final = 5
"""Datagrams that are held back at least: what tells who listens may come a little later."""

Told = tuple[Connection, Event | None, int]
"""An event (in nanoseconds since 1970) of a connection, and the number of the last packet that it needed.

None instead of the event: nothing more will come of the connection."""


@dataclass(slots=True)
class Stream:
    """One TCP connection; where the capture lost bytes it goes on as another."""

    ports: frozenset[int]
    counted: Counter[str]
    held: list[Unit] = field(default_factory=list)
    """The beginning, until it is known what it is."""
    opened: Unit | None = None
    """The SYN of the side that opened it."""
    closed: set[str] = field(default_factory=set)
    """The endpoints that sent FIN; both, after an RST."""
    flow: Flow | None = None
    reading: Reassembly | None = None
    begun: bool = False
    """Both sides are there from the beginning."""
    part: int = 0
    known: Connection | None = None
    """The part that is being told; None until it is known how it begins."""
    waiting: list[Said] = field(default_factory=list)
    size: int = 0
    """Bytes of what is held, and then of what waits."""
    skip: dict[Side, int | None] = field(default_factory=dict)

    def is_another(self, unit: Unit) -> bool:
        """Whether a unit begins a new connection on the same ports."""
        if unit.flags & (SYN | ACK) != SYN:
            return False
        if self.opened is not None:
            return unit.seq != self.opened.seq
        return bool(self.closed) or len(list(connections([*self.held, unit]))) > 1

    @property
    def is_over(self) -> bool:
        """Both sides have ended it."""
        return len(self.closed) == len(Side)

    @property
    def oldest(self) -> int | None:
        """The number of the oldest unit that may be told later; None if all is told that came."""
        if self.flow is None:
            return self.held[0].number if self.held else None
        if self.waiting:
            return self.waiting[0].known.number
        return self.reading.latest if self.reading is not None and self.reading.is_waiting else None

    def feed(self, unit: Unit) -> Iterator[Told]:
        """What can be told now."""
        if unit.flags & (SYN | ACK) == SYN and self.opened is None:
            self.opened = unit
        if unit.flags & (FIN | RST):
            self.closed |= {unit.source, unit.target} if unit.flags & RST else {unit.source}
        if self.flow is None:
            self.held.append(unit)
            self.size += len(unit.payload)
            if self._is_enough():
                yield from self._decide()
        elif self.reading is not None:
            yield from self._hear(self.reading.feed(unit))

    def finish(self) -> Iterator[Told]:
        """What is left when no more comes."""
        if self.flow is None:
            yield from self._decide()
        if self.flow is not None and self.reading is not None:
            yield from self._hear(self.reading.finish())
            yield from self._end_part()
            self.counted["packets whose bytes came before"] += self.flow.repeated

    def settle(self) -> Iterator[Told]:
        """A file ends here: what tells what it is is taken as it is, though few packets came."""
        if self.flow is None and self.opened is not None and self._is_enough(least=0):
            yield from self._decide()

    def _is_enough(self, least: int = LEAST) -> bool:
        if self.opened is None:
            return len(self.held) >= HELD_MIDWAY or self.size >= HELD_BYTES
        if len(self.held) < least:
            return False
        if len(self.held) >= HELD:
            return any(unit.payload for unit in self.held)
        said: Counter[str] = Counter()
        for unit in self.held:
            said[unit.source] += len(unit.payload)
        return len(said) == 2 and min(said.values()) >= TELLING

    def _decide(self) -> Iterator[Told]:
        """Know what it is; tell what was held back, if it is Zenoh's."""
        flow = next(connections(self.held))
        reading = Reassembly(flow)
        said = [each for unit in self.held for each in reading.feed(unit)]
        flow_type = flow_type_of(flow, said, self.ports)
        self.flow, self.held, flow.units, self.size = flow, [], [], 0
        if flow_type is not FlowType.ZENOH:
            self.counted[flow_type.value] += 1
            return
        self.reading = reading
        whole = flow.begun or begins_with_init({side: first_bytes(said, side) for side in Side})
        self.begun = whole and len(flow.spoke) == len(Side)
        yield from self._hear(said)

    def _hear(self, said: Iterable[Said | Lost]) -> Iterator[Told]:
        for each in said:
            if isinstance(each, Lost):
                self.counted["bytes that the capture lost"] += each.size
                yield from self._end_part()
                self.part += 1
            elif self.known is not None:
                yield from self._tell(self.known, each)
            else:
                self.waiting.append(each)
                self.size += len(each.data)
                many = len(self.waiting) >= HELD_MIDWAY or self.size >= HELD_BYTES
                if many or (self.begun and not self.part):
                    yield from self._begin_part()

    def _begin_part(self) -> Iterator[Told]:
        """Know how a part begins, and tell what waited for that."""
        assert self.flow is not None
        self.skip, form = dict.fromkeys(Side, 0), Begins.START
        if self.part or not self.begun:
            found = batch_starts.find_batch_start(chunks(self.waiting))
            form, self.skip = (found.form, found.skip) if found else (Begins.MIDDLE, dict.fromkeys(Side))
        one, other = self.flow.initiator, self.flow.responder
        name = f"{one} > {other}" + (f" +{self.part}" if self.part else "")
        self.known = Connection(name, "tcp", Framing.STREAM, f"tcp/{one}", f"tcp/{other}", form)
        waiting, self.waiting, self.size = self.waiting, [], 0
        for each in waiting:
            yield from self._tell(self.known, each)

    def _end_part(self) -> Iterator[Told]:
        if self.waiting:
            yield from self._begin_part()
        if self.known is not None:
            yield self.known, None, 0
        self.known = None

    def _tell(self, known: Connection, said: Said) -> Iterator[Told]:
        data = said.data
        left = self.skip[said.sender]
        if said.kind is Happened.BYTES and left != 0:
            data = b"" if left is None else data[left:]
            self.skip[said.sender] = None if left is None else max(0, left - len(said.data))
            self.counted["bytes before the first whole batch"] += len(said.data) - len(data)
            if not data:
                return
        event = Event(said.known.time, known.name, said.sender, said.kind, data, said.unit.number)
        yield known, event, said.known.number


@dataclass(slots=True)
class Datagrams:
    """The datagrams between two endpoints, or from one to a group."""

    ports: frozenset[int]
    counted: Counter[str]
    held: list[Unit] = field(default_factory=list)
    known: Connection | None = None
    decided: bool = False
    recent: Recent | None = field(default_factory=Recent)
    """None for a group: who says a thing twice there says it twice."""

    def is_another(self, unit: Unit) -> bool:
        """Datagrams have no beginning."""
        return False

    @property
    def is_over(self) -> bool:
        """And no end."""
        return False

    @property
    def oldest(self) -> int | None:
        """The number of the oldest unit that may be told later; None if all is told that came."""
        return self.held[0].number if self.held else None

    def feed(self, unit: Unit) -> Iterator[Told]:
        """What can be told now."""
        if self.decided:
            if self.known is not None:
                yield from self._tell(self.known, unit)
            return
        self.held.append(unit)
        if len(self.held) >= HELD or (len(self.held) >= HANDSHAKE and self._flow_type() is FlowType.ZENOH):
            yield from self._decide()

    def finish(self) -> Iterator[Told]:
        """What is left when no more comes."""
        if not self.decided:
            yield from self._decide()
        if self.known is not None:
            yield self.known, None, 0

    def settle(self) -> Iterator[Told]:
        """A file ends here: what looks like Zenoh's is taken for it, though few datagrams came."""
        if not self.decided and self._flow_type() is FlowType.ZENOH:
            yield from self._decide()

    def _flow_type(self) -> FlowType:
        return flow_type_of(self._flow(), [], self.ports)

    def _flow(self) -> Flow:
        return next(connections(self.held))

    def _decide(self) -> Iterator[Told]:
        flow_type, self.decided = self._flow_type(), True
        if flow_type is not FlowType.ZENOH:
            self.counted[flow_type.value] += 1
            self.held = []
            return
        flow = self._flow()
        if is_multicast(flow.responder):
            self.recent = None
        complete = [unit for unit in self.held if not unit.missing]
        if is_turned(flow, complete[0], self.ports):
            flow.initiator, flow.responder = flow.responder, flow.initiator
        name = f"{flow.initiator} > {flow.responder} udp"
        ends = f"udp/{flow.initiator}", f"udp/{flow.responder}"
        self.known = Connection(name, "udp", Framing.DATAGRAM, *ends, Begins.MIDDLE)  # any datagram may be missing
        held, self.held = self.held, []
        for unit in held:
            yield from self._tell(self.known, unit)

    def _tell(self, known: Connection, unit: Unit) -> Iterator[Told]:
        if unit.missing:
            self.counted["datagrams that the capture cut"] += 1
        elif self.recent is not None and not self.recent.is_new(unit):
            self.counted["datagrams that came twice"] += 1
        else:
            side = Side.INITIATOR if f"udp/{unit.source}" == known.initiator else Side.RESPONDER
            event = Event(unit.time, known.name, side, Happened.BYTES, unit.payload, unit.number)
            yield known, event, unit.number


def begun_by(unit: Unit, ports: frozenset[int], counted: Counter[str]) -> Stream | Datagrams:
    """What hears the flow of which this is the first unit."""
    return Stream(ports, counted) if unit.protocol == TCP else Datagrams(ports, counted)
