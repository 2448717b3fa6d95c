"""Read a capture as a conversation: packets -> units -> flows -> reassembled bytes -> connections and events.

    read(path)               all stages, for a capture that fits into the memory of one process
    units(packets, counted)  packets to TCP segments and UDP datagrams
    flows.flows(units)       segments and datagrams to flows
    heard(flow, ports)       one flow to connections and events
    together(heard)          the connections and events of all flows to one conversation

The stages are pure functions, so that Spark can run them on separate machines: `packets.opened` needs one packet,
`flows.connections` the units of one flow key, `heard` one flow.

A flow is read as Zenoh if it uses a Zenoh port or begins with a Zenoh handshake. Flows of TLS, QUIC, WebSocket and
everything else are only counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Final

from zenoh_conformance.reading.conversation import Begins, Connection, Conversation, Event, Framing, Happened, Side
from zenoh_harness.files import batch_starts
from zenoh_harness.files.flow_types import (
    FlowType,
    begins_with_init,
    type_of_datagrams,
    type_of_stream,
    without_duplicates,
)
from zenoh_harness.files.flows import Flow, Lost, Reassembly, Said, flows
from zenoh_harness.files.packets import TCP, UDP, IpFragment, Unit, is_multicast, opened, port_of, whole
from zenoh_harness.files.pcap import Capture, Packet

PORTS: Final = frozenset({7446, 7447})
"""Zenoh's default ports: 7446 for scouting, 7447 for sessions."""
WRONG: Final = "packets with a wrong checksum, which are read nevertheless"
"""The description under which they are counted."""
PIECES: Final = 4096
"""The most IP packets whose fragments are kept at a time until the missing ones come."""


@dataclass(slots=True)
class FlowConnections:
    """The connections and events of one flow; it has several connections if the capture lost bytes in between."""

    flow: Flow
    connections: list[Connection] = field(default_factory=list)
    events: list[tuple[int, Event]] = field(default_factory=list)
    """Each event with the number of the last packet that it needed, which orders events across flows.

    The times of these events are nanoseconds since 1970.
    """
    counted: Counter[str] = field(default_factory=Counter)
    """Description to count: lost bytes, repeated packets, directions that could not be read."""

    @property
    def packets(self) -> Iterator[int]:
        """The numbers of all packets of the flow."""
        for unit in self.flow.units:
            yield from unit.packets or (unit.number,)


@dataclass(slots=True)
class Captured:
    """The content of a capture as a conversation."""

    conversation: Conversation
    packets: dict[str, frozenset[int]] = field(default_factory=dict)
    """Connection to the numbers of its packets, including pure acknowledgements."""
    counted: Counter[str] = field(default_factory=Counter)
    """Description to count: packets that are not part of the conversation, and faults of the capture."""
    read: int = 0
    """Number of packets that were read."""
    damaged: bool = False
    """Whether the file contains an unreadable block or record; what follows it was not read."""


def read(path: Path, ports: Iterable[int] = ()) -> Captured:
    """Read a capture file; `ports` are Zenoh ports besides `PORTS`. Raises FileFault if the file is no capture."""
    capture, counted = Capture(path), Counter[str]()
    known = PORTS | frozenset(ports)
    heard_all = [heard(flow, known, counted) for flow in flows(units(capture, counted))]
    captured = together([each for each in heard_all if each is not None], counted)
    captured.read = counted.pop("packets", 0)
    if capture.cut:
        counted[f"{'damaged' if capture.damaged else 'cut off'}: {capture.cut}"] += 1
    captured.damaged = capture.damaged
    captured.counted = +counted
    captured.conversation.about = {"capture": path.name}
    return captured


def units(packets: Iterable[Packet], counted: Counter[str]) -> Iterator[Unit]:
    """Yield the TCP segments and UDP datagrams of packets.

    `counted` counts all packets as `packets`, and packets without a segment or datagram under the reason.
    """
    pieces: dict[object, list[IpFragment]] = {}
    for packet in packets:
        counted["packets"] += 1
        found = opened(packet)
        if isinstance(found, IpFragment):
            held = pieces.setdefault(found.key, [])
            held.append(found)
            unit = whole(held)
            if unit is not None:
                del pieces[found.key]
                counted[WRONG] += unit.wrong
                yield unit
            elif len(pieces) > PIECES:
                counted["IP fragments whose other parts are missing"] += len(pieces.pop(next(iter(pieces))))
        elif isinstance(found, str):
            counted[f"packets of something else ({found})"] += 1
        else:
            counted[WRONG] += found.wrong
            yield found
    if pieces:
        counted["IP fragments whose other parts are missing"] += sum(map(len, pieces.values()))


def heard(flow: Flow, ports: frozenset[int] = PORTS, counted: Counter[str] | None = None) -> FlowConnections | None:
    """Return the connections and events of a flow; for a flow that is not Zenoh, count its type and return None."""
    counted = Counter() if counted is None else counted
    text = FlowConnections(flow)
    said = list(Reassembly(flow).spoken()) if flow.protocol == TCP else []
    flow_type = flow_type_of(flow, said, ports)
    if flow_type is not FlowType.ZENOH:
        counted[flow_type.value] += 1
        return None
    if flow.protocol == TCP:
        _stream(text, said)
    else:
        _datagrams(text, ports)
    return text


def together(all_heard: Iterable[FlowConnections], counted: Counter[str] | None = None) -> Captured:
    """Merge the connections and events of all flows into one conversation, in the order of the capture.

    The times of the conversation never decrease: an event that is earlier than its predecessor gets the latter's time.
    """
    captured = Captured(Conversation(), counted=Counter() if counted is None else counted)
    events: list[tuple[int, Event, str]] = []
    names: dict[str, str] = {}
    for one in all_heard:
        numbers = frozenset(one.packets)
        for connection in one.connections:
            name = connection.name
            while name in captured.conversation.connections:
                name += "'"
            names[connection.name] = name
            captured.conversation.connections[name] = replace(connection, name=name)
            captured.packets[name] = numbers
        events += [(order, event, names[event.connection]) for order, event in one.events]
        captured.counted.update(one.counted)
    events.sort(key=itemgetter(0))
    captured.conversation.events = list(_in_seconds(events, captured.counted))
    return captured


def _in_seconds(events: list[tuple[int, Event, str]], counted: Counter[str]) -> Iterator[Event]:
    """Yield the events with the final names of their connections and with times in seconds since the first event."""
    began = now = events[0][1].time if events else 0
    for _, event, name in events:
        if event.time < now:
            counted["times the clock went back"] += 1
        now = max(now, event.time)
        yield Event((now - began) / 1e9, name, event.sender, event.kind, event.data, event.packet)


def flow_type_of(flow: Flow, said: list[Said | Lost], ports: frozenset[int]) -> FlowType:
    """Return the type of a flow, from its ports and from the first bytes of its sides."""
    at_port = bool(ports & {port_of(flow.initiator), port_of(flow.responder)})
    if flow.protocol == UDP:
        return type_of_datagrams([unit.payload for unit in flow.units if not unit.missing], at_port=at_port)
    flow_type = type_of_stream({side: first_bytes(said, side) for side in Side}, at_port=at_port)
    if flow_type is FlowType.OTHER and not flow.begun:
        found = batch_starts.find_batch_start(chunks(each for each in said if isinstance(each, Said)))
        if found is not None and found.merit >= 2 * batch_starts.SURE:
            return FlowType.ZENOH
    return flow_type


def chunks(said: Iterable[Said]) -> dict[Side, list[bytes]]:
    """Return the bytes of each side, one item for each TCP segment."""
    chunks: dict[Side, list[bytes]] = {side: [] for side in Side}
    for each in said:
        if each.data:
            chunks[each.sender].append(each.data)
    return chunks


def first_bytes(said: Iterable[Said | Lost], side: Side, enough: int = 512) -> bytes:
    """Return the first bytes of a side, up to the first loss; at least `enough` bytes if the side sent as many."""
    data = b""
    for each in said:
        if isinstance(each, Lost):
            break
        if each.sender is side:
            data += each.data
        if len(data) >= enough:
            break
    return data


def _stream(text: FlowConnections, said: list[Said | Lost]) -> None:
    """Add the connections of a TCP flow: one, and one more after each loss of bytes."""
    flow = text.flow
    parts: list[list[Said]] = [[]]
    for each in said:
        if isinstance(each, Lost):
            text.counted["bytes that the capture lost"] += each.size
            parts.append([])
        else:
            parts[-1].append(each)
    text.counted["packets whose bytes came before"] += flow.repeated
    seen_whole = flow.begun or begins_with_init({side: first_bytes(parts[0], side) for side in Side})
    for index, part in enumerate(parts):
        if part:
            _part(text, index, part, begun=seen_whole and not index and len(flow.spoke) == len(Side))


def _part(text: FlowConnections, index: int, part: list[Said], *, begun: bool) -> None:
    """Add one connection: a whole TCP flow, or the part of it between two losses."""
    skip: dict[Side, int | None] = dict.fromkeys(Side, 0)
    form = Begins.START if begun else Begins.MIDDLE
    if not begun:
        found = batch_starts.find_batch_start(chunks(part))
        form, skip = (found.form, found.skip) if found else (form, dict.fromkeys(Side))
    flow = text.flow
    name = f"{flow.initiator} > {flow.responder}" + (f" +{index}" if index else "")
    text.connections.append(
        Connection(name, "tcp", Framing.STREAM, f"tcp/{flow.initiator}", f"tcp/{flow.responder}", form)
    )
    for each in part:
        data = each.data
        if each.kind is Happened.BYTES and skip[each.sender] != 0:
            data = _behind(skip, each)
            text.counted["bytes before the first whole batch"] += len(each.data) - len(data)
            if not data:
                continue
        event = Event(each.known.time, name, each.sender, each.kind, data, each.unit.number)
        text.events.append((each.known.number, event))


def _behind(skip: dict[Side, int | None], said: Said) -> bytes:
    """Return the bytes after those that `skip` says to leave out, and reduce `skip` accordingly."""
    left = skip[said.sender]
    if left is None:
        return b""
    skip[said.sender] = max(0, left - len(said.data))
    return said.data[left:]


def _datagrams(text: FlowConnections, ports: frozenset[int]) -> None:
    """Add the connection of a UDP flow. Any datagram may be missing, even the first, so it begins in the middle."""
    flow = text.flow
    complete = [unit for unit in flow.units if not unit.missing]
    if is_turned(flow, complete[0], ports):
        flow.initiator, flow.responder = flow.responder, flow.initiator
    name = f"{flow.initiator} > {flow.responder} udp"
    own = complete if is_multicast(flow.responder) else list(without_duplicates(complete))
    text.counted["datagrams that the capture cut"] += len(flow.units) - len(complete)
    text.counted["datagrams that came twice"] += len(complete) - len(own)
    text.connections.append(
        Connection(name, "udp", Framing.DATAGRAM, f"udp/{flow.initiator}", f"udp/{flow.responder}", Begins.MIDDLE)
    )
    for unit in own:
        side = Side.INITIATOR if unit.source == flow.initiator else Side.RESPONDER
        text.events.append((unit.number, Event(unit.time, name, side, Happened.BYTES, unit.payload, unit.number)))


def is_turned(flow: Flow, first: Unit, ports: frozenset[int]) -> bool:
    """Return whether the first captured datagram came from the listening side, so that the two sides must be swapped."""
    if is_multicast(flow.responder) or begins_with_init({Side.INITIATOR: first.payload}, prefix=0):
        return False
    return port_of(flow.initiator) in ports and port_of(flow.responder) not in ports
