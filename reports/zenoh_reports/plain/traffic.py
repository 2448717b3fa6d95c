"""Packets to flows, batches, messages and findings, in plain Python: what the tasks of the pipeline do with what they are given.

    packets  --heard_all-->  what was said on each flow  --flow_rows, batch_rows, message_rows, audit_rows-->  rows

Packets come sorted by hosts, flow and place: so one flow is in memory at a time, and a fragment of IP finds its flow.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from zenoh_conformance.reading.connection import ConnectionDecoder, Seen
from zenoh_conformance.reading.conversation import Connection, Event, Happened
from zenoh_harness.files.captures import PORTS, WRONG, FlowConnections, heard
from zenoh_harness.files.flows import connections
from zenoh_harness.files.packets import IpFragment, Unit, whole

from .packets import PLACES, PacketRow, names

NUMBER: Final = (1 << PLACES) - 1
BROKEN: Final = {"cut": "cut off", "damaged": "damaged"}
"""How it is told that a file ends too early, or cannot be read from somewhere on."""
BY: Final = ("hosts", "flow", "place")
"""How packets are sorted before anything is heard."""


class FlowRow(NamedTuple):
    """One connection as it was captured: a TCP connection, or the part of one between two losses; the datagrams of two endpoints."""

    connection: str
    """`127.0.0.1:40000 > 127.0.0.1:7447`"""
    began: int
    """Nanoseconds since 1970, of its first event; with its name it tells it from any other."""
    ended: int
    link: str
    initiator: str
    responder: str
    begins: str
    """What is known at its first event: `start`, `middle`, .."""
    file: int
    """Of its first packet: its place among the files."""
    packet: int
    events: int
    size: int
    """Bytes."""


class BatchRow(NamedTuple):
    """What one side said at once, and what the link did."""

    connection: str
    began: int
    time: int
    file: int
    packet: int
    sender: str
    """`initiator`, `responder`."""
    happened: str
    """`bytes`, `open`, `eof`, `reset`."""
    data: bytes


class MessageRow(NamedTuple):
    """One message, or the bytes that are none."""

    connection: str
    began: int
    time: int
    file: int
    packet: int
    sender: str
    kind: str
    path: str
    size: int
    """Bytes of the transport message that holds it."""
    extensions: list[str]
    reliable: bool
    priority: int
    """-1 outside FRAME and FRAGMENT."""
    remarks: int
    """What the reader noted: overlong integers, reserved bits, .."""
    why: str
    """Of what could not be read."""


class CountRow(NamedTuple):
    """What was found in captures beside what was said: other traffic, lost bytes, repeated packets, files that end too early."""

    what: str
    amount: int


def by_flow(rows: Iterable[PacketRow], counted: Counter[str]) -> Iterator[tuple[str, Iterator[Unit]]]:
    """Each flow with its units, one after the other as they are read; rows come in the order of BY. The rest is counted."""
    for _, pair in groupby(rows, key=attrgetter("hosts")):
        late: dict[str, list[Unit]] = {}
        for flow, found in groupby(pair, key=attrgetter("flow")):
            if flow:
                units = map(unit_of, found)
                whole_ = late.pop(flow, None)
                yield flow, _counting(merge(units, whole_, key=attrgetter("number")) if whole_ else units, counted)
            else:
                late = _whole(found, counted)
        for flow, whole_ in sorted(late.items()):
            yield flow, _counting(whole_, counted)


def _counting(units: Iterable[Unit], counted: Counter[str]) -> Iterator[Unit]:
    count = 0
    for unit in units:
        count += len(unit.packets) or 1
        yield unit
    counted["packets"] += count


def heard_all(
    rows: Iterable[PacketRow], ports: frozenset[int] = PORTS, counted: Counter[str] | None = None
) -> Iterator[FlowConnections]:
    """What was said on each flow of Zenoh's, each flow in memory as a whole; everything else is counted."""
    counted = Counter() if counted is None else counted
    for _, units in by_flow(rows, counted):
        for flow in connections(list(units)):
            said = heard(flow, ports, counted)
            if said is not None:
                counted.update(said.counted)
                yield said


def _what(row: PacketRow) -> str:
    """The description under which a row without bytes is counted."""
    if row.kind == "wrong":
        return row.why
    return (
        f"packets of something else ({row.why})"
        if row.kind == "other"
        else f"{BROKEN[row.kind]}: {row.file}: {row.why}"
    )


def _whole(rows: Iterable[PacketRow], counted: Counter[str]) -> dict[str, list[Unit]]:
    """Units of the fragments, by flow; fragments without the others are counted, and so is what is no packet of ours."""
    pieces: defaultdict[object, list[IpFragment]] = defaultdict(list)
    made: defaultdict[str, list[Unit]] = defaultdict(list)
    for row in rows:
        if row.kind != "piece":
            counted["packets"] += row.amount if row.kind == "other" else 0
            counted[_what(row)] += row.amount
            continue
        key = (row.source, row.target, row.protocol, row.ident)
        held = pieces[key]
        held.append(IpFragment(row.place, row.time, key, row.at, row.last, row.payload, row.missing))
        unit = whole(held)
        if unit is not None:
            counted[WRONG] += unit.wrong
            del pieces[key]
            made[names(unit.protocol, unit.source, unit.target)[1]].append(unit)
    missing = sum(map(len, pieces.values()))
    if missing:
        counted["packets"] += missing
        counted["IP fragments whose other parts are missing"] += missing
    return dict(made)


def unit_of(row: PacketRow) -> Unit:
    """The segment or datagram of a row; its place is its number."""
    return Unit(
        row.place, row.time, row.protocol, row.source, row.target, row.payload, row.missing, row.seq, row.ack, row.flags, row.ident
    )  # fmt: skip


class Spoken(NamedTuple):
    """One connection with all that happened on it."""

    connection: Connection
    began: int
    """Nanoseconds since 1970."""
    events: list[Event]
    """In the order in which they can be told, in seconds since `began`; a clock that went back stands still meanwhile."""

    def at(self, seconds: float) -> int:
        """A time of its events in nanoseconds since 1970."""
        return self.began + round(seconds * 1e9)


def spoken(said: FlowConnections) -> Iterator[Spoken]:
    """The connections of a flow that say anything."""
    found: defaultdict[str, list[tuple[int, Event]]] = defaultdict(list)
    for order, event in said.events:
        found[event.connection].append((order, event))
    for connection in said.connections:
        own = sorted(found[connection.name], key=_order)
        if own:
            began = now = own[0][1].time
            made = []
            for _, event in own:
                now = max(now, event.time)
                seconds = (now - began) / 1e9
                made.append(Event(seconds, event.connection, event.sender, event.kind, event.data, event.packet))
            yield Spoken(connection, int(began), made)


def _order(each: tuple[int, Event]) -> int:
    return each[0]


def flow_rows(said: FlowConnections) -> Iterator[FlowRow]:
    """One row a connection."""
    for one in spoken(said):
        known, events = one.connection, one.events
        first = min(event.packet or 0 for event in events)
        yield FlowRow(
            known.name, one.began, one.at(events[-1].time), known.link, known.initiator, known.responder, known.begins.value,
            first >> PLACES, first & NUMBER, len(events), sum(len(event.data) for event in events),
        )  # fmt: skip


def batch_rows(said: FlowConnections) -> Iterator[BatchRow]:
    """One row for each batch, without its length and as it stood on the link, and for each thing that happened to the link."""
    for one in spoken(said):
        decoder = ConnectionDecoder(one.connection)
        for event in one.events:
            about = (one.connection.name, one.began, *_where(one, event), event.sender.value)
            if event.kind is not Happened.BYTES:
                yield BatchRow(*about, event.kind.value, b"")
            for seen in decoder.feed(event):
                if seen.kind == "batch":
                    yield BatchRow(*about, Happened.BYTES.value, bytes(seen.message))


def message_rows(said: FlowConnections) -> Iterator[MessageRow]:
    """One row a message, outer ones before what they hold."""
    for one in spoken(said):
        decoder = ConnectionDecoder(one.connection)
        for event in one.events:
            for seen in decoder.feed(event):
                if seen.kind != "batch":
                    yield _message(one, seen)


def _where(one: Spoken, event: Event) -> tuple[int, int, int]:
    place = event.packet or 0
    return one.at(event.time), place >> PLACES, place & NUMBER


def _message(one: Spoken, seen: Seen) -> MessageRow:
    reliable, priority = seen.channel if seen.channel is not None else (False, -1)
    return MessageRow(
        one.connection.name, one.began, *_where(one, seen.event), seen.sender.value, seen.kind, seen.path, len(seen.raw),
        extensions(seen), reliable, priority, len(seen.diagnostics), str(seen.message) if seen.kind == "undecodable" else "",
    )  # fmt: skip


def extensions(seen: Seen) -> list[str]:
    """The names of a message's extensions, in the order in which they stand."""
    return [type(each).__name__ for each in getattr(seen.message, "exts", ())]


def count_rows(counted: Counter[str]) -> Iterator[CountRow]:
    """What was counted, by name."""
    return (CountRow(what, count) for what, count in sorted(counted.items()) if count)


def sorted_rows(rows: Iterable[PacketRow]) -> Sequence[PacketRow]:
    """Packets in the order in which they are heard."""
    return sorted(rows, key=attrgetter(*BY))
