"""Capture files as rows, one a packet, and the order in which several files are read; in plain Python.

A file is read from any packet on (`Span`), so that one large file is the work of many tasks. What has no TCP or UDP in it is
counted by its reason, one row a span; a file that ends too early says where.
"""

from __future__ import annotations

import io
import marshal
import mmap
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from zenoh_harness.files.captures import WRONG
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.flows import flow_key
from zenoh_harness.files.packets import IpFragment, Unit, opened
from zenoh_harness.files.pcap import PCAP, PCAPNG, Capture, is_capture
from zenoh_harness.files.unpacking import BENT, open_unpacked

PLACES: Final = 40
"""Bits of a place that number the packet; those above number the file."""
SPAN: Final = 32 << 20
"""Bytes of a file that one task reads."""
HEADER: Final = 24
GATHERED: Final = 8 << 20
"""Bytes of packets that are held to be gathered by flow."""
OVERHEAD: Final = 300
"""Bytes of a packet's row beside its payload."""


class PacketRow(NamedTuple):
    """One TCP segment, UDP datagram or IP fragment; or why there is none."""

    file: str
    place: int
    """File and packet as one number, in the order in which they were captured."""
    time: int
    """Nanoseconds since 1970."""
    kind: str
    """`unit`, `piece` (an IP fragment), `other` (`amount` packets of something else), `wrong` (`amount` packets with a wrong
    checksum), `cut` (the file ends too early), `damaged` (what follows, or the file, cannot be read);
    `flow`: what is kept of a flow from earlier files, before all its packets."""
    hosts: str
    """The two addresses, sorted: all that belongs together has the same."""
    flow: str
    """Protocol and endpoints; empty for an IP fragment, which knows no ports."""
    protocol: int
    source: str
    target: str
    payload: bytes
    missing: int
    """Bytes of the payload that the capture did not keep."""
    seq: int
    ack: int
    flags: int
    ident: int
    at: int
    """Of a fragment: where its bytes belong."""
    last: bool
    amount: int
    why: str


class PackedRow(NamedTuple):
    """Packets of one flow that stand close to each other, as one row: what is between two tasks costs by the row."""

    hosts: str
    flow: str
    place: int
    """Of the first."""
    packed: bytes
    """The packets' rows, by `marshal`; both ends are one version of Python, which Spark asks for anyway."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a capture file: whole packets from one offset to another."""

    path: str
    index: int
    """Of the file, in the order of all."""
    head: bytes = b""
    """What a reader has to have seen before: the file's header, sections and interfaces."""
    begin: int = 0
    end: int = -1
    """-1: to the end, also of a file that is compressed."""
    number: int = 0
    """Packets before it."""


def in_order(paths: Iterable[str]) -> list[str]:
    """Files by the time of their first packet, then by name; those without any come last."""

    def began(path: str) -> tuple[int, str]:
        try:
            with open_unpacked(Path(path)) as source:
                first = next(Capture(Path(path)).packets(source), None)
        except (FileFault, OSError, EOFError, *BENT):
            first = None
        return (first.time if first else 1 << 63, path)

    return sorted(paths, key=began)


def spans(path: str, index: int, size: int = SPAN) -> list[Span]:
    """A file in parts of about `size` bytes. One that is small, compressed or not to be read is one part."""
    try:
        file = Path(path)
        if file.stat().st_size <= size:
            return [Span(path, index)]
        with file.open("rb") as source, mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:4] == PCAPNG:
                return list(_blocks(Span(path, index), data, size))
            if data[:4] in PCAP:
                return list(_records(Span(path, index, data[:HEADER]), data, size, PCAP[data[:4]][0]))
    except (OSError, ValueError):
        pass
    return [Span(path, index)]


def _let_go(data: mmap.mmap) -> None:
    """Give back the memory of what was looked at: a file may be larger than the memory that there is."""
    if hasattr(mmap, "MADV_DONTNEED"):
        data.madvise(mmap.MADV_DONTNEED)


def _records(whole: Span, data: mmap.mmap, size: int, order: str) -> Iterator[Span]:
    """The parts of a pcap: from record to record, by their lengths alone."""
    kept = struct.Struct(f"{order}8xI").unpack_from
    begin, number, count, total = HEADER, 0, 0, len(data)
    at = begin
    while at + 16 <= total:
        if at - begin >= size:
            yield Span(whole.path, whole.index, whole.head, begin, at, number)
            _let_go(data)
            begin, number = at, count
        at += 16 + kept(data, at)[0]
        count += 1
    yield Span(whole.path, whole.index, whole.head, begin, -1, number)


def _blocks(whole: Span, data: mmap.mmap, size: int) -> Iterator[Span]:
    """The parts of a pcapng: from block to block; each begins with the section and the interfaces that it stands in."""
    order, head, begin, number, count, at, total = "<", b"", 0, 0, 0, 0, len(data)
    opening = b""
    while at + 12 <= total:
        if data[at : at + 4] == PCAPNG:
            order = ">" if data[at + 8 : at + 12] == b"\x1a\x2b\x3c\x4d" else "<"
        kind, length = struct.unpack_from(f"{order}II", data, at)
        length += -length % 4
        if length < 12:
            break
        if at - begin >= size:
            yield Span(whole.path, whole.index, opening, begin, at, number)
            _let_go(data)
            begin, number, opening = at, count, head
        if data[at : at + 4] == PCAPNG:
            head = data[at : at + length]
        elif kind == 1:
            head += data[at : at + length]
        count += kind in (2, 3, 6)
        at += length
    yield Span(whole.path, whole.index, opening, begin, -1, number)


def rows(span: Span) -> Iterator[PacketRow]:
    """The packets of a part of a file; never raises for what it reads."""
    other: Counter[str] = Counter()
    capture = Capture(Path(span.path))
    first = (span.index << PLACES) + span.number
    why, kind, number, wrong = "", "", 0, 0
    try:
        with _source(span) as source:
            for packet in capture.packets(source):
                found = opened(packet)
                number = packet.number
                place = first + number
                if isinstance(found, Unit):
                    wrong += found.wrong
                    yield _unit(span.path, place, found)
                elif isinstance(found, IpFragment):
                    yield _piece(span.path, place, found)
                else:
                    other[found] += 1
    except FileFault as fault:
        why, kind = fault.why, "damaged"
    except EOFError as fault:
        why = f"cannot be read on after packet {span.number + number}: {fault}"
    except (OSError, *BENT) as fault:
        why, kind = f"cannot be read on after packet {span.number + number}: {fault}", "damaged"
    for reason, count in sorted(other.items()):
        yield _without(span.path, first, "other", count, reason)
    if wrong:
        yield _without(span.path, first, "wrong", wrong, WRONG)
    if capture.cut or why:
        yield _without(span.path, first, "damaged" if kind or capture.damaged else "cut", 1, capture.cut or why)


def gathered(rows: Iterable[PacketRow], most: int = GATHERED) -> Iterator[PackedRow]:
    """Packets by flow, a few rows each; `most` bytes of payload are held at a time."""
    held: dict[tuple[str, str], list[PacketRow]] = {}
    size = 0
    for row in rows:
        held.setdefault((row.hosts, row.flow), []).append(row)
        size += len(row.payload) + OVERHEAD
        if size > most:
            yield from _gathered(held)
            held.clear()
            size = 0
    yield from _gathered(held)


def _gathered(held: dict[tuple[str, str], list[PacketRow]]) -> Iterator[PackedRow]:
    for (pair, flow), rows in held.items():
        yield PackedRow(pair, flow, rows[0].place, marshal.dumps([tuple(row) for row in rows]))


def scattered(packed: bytes) -> Iterator[PacketRow]:
    """The packets of a packed row."""
    return map(PacketRow._make, marshal.loads(packed))  # noqa: S302 - written by a task of the same job


def _source(span: Span) -> IO[bytes]:
    if span.end < 0 and not span.begin:
        return open_unpacked(Path(span.path))
    source = Path(span.path).open("rb")  # noqa: SIM115 - closed by the part that is made of it
    return io.BufferedReader(_Part(source, span), 1 << 18)


class _Part(io.RawIOBase):
    """The head, then the bytes from one offset to another, as one file."""

    def __init__(self, source: IO[bytes], span: Span) -> None:
        self._source, self._head, self._left = source, span.head, span.end - span.begin if span.end >= 0 else -1
        self._at = 0
        source.seek(span.begin)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def readinto(self, buffer: Any) -> int:
        """As of any file."""
        want = len(buffer)
        if self._at < len(self._head):
            data = self._head[self._at : self._at + want]
            self._at += len(data)
        else:
            data = self._source.read(want if self._left < 0 else min(want, self._left))
            self._left -= len(data) if self._left >= 0 else 0
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Closes the file below too."""
        self._source.close()
        super().close()


@lru_cache(maxsize=1 << 16)
def names(protocol: int, source: str, target: str) -> tuple[str, str]:
    """Hosts and flow of what goes from one endpoint to another, the same both ways."""
    number, one, other = flow_key(Unit(0, 0, protocol, source, target, b""))
    return hosts(source.rpartition(":")[0], target.rpartition(":")[0]), f"{number} {one} {other}"


def hosts(one: str, other: str) -> str:
    """The two addresses, without brackets, sorted."""
    return " ".join(sorted((one.strip("[]"), other.strip("[]"))))


def _unit(path: str, place: int, found: Unit) -> PacketRow:
    pair, flow = names(found.protocol, found.source, found.target)
    return PacketRow(
        path, place, found.time, "unit", pair, flow, found.protocol, found.source, found.target, found.payload, found.missing,
        found.seq, found.ack, found.flags, found.ident, 0, False, 1, "",
    )  # fmt: skip


def _piece(path: str, place: int, found: IpFragment) -> PacketRow:
    source, target, protocol, ident = found.key
    return PacketRow(
        path, place, found.time, "piece", hosts(source, target), "", protocol, source, target, found.data, found.missing,
        0, 0, 0, ident, found.at, found.last, 1, "",
    )  # fmt: skip


def _without(path: str, place: int, kind: str, count: int, why: str) -> PacketRow:
    return PacketRow(path, place, 0, kind, "", "", 0, "", "", b"", 0, 0, 0, 0, 0, 0, False, count, why)


def packets(paths: Iterable[str]) -> Iterator[PacketRow]:
    """The rows of several captures, in the order in which they were taken."""
    for index, path in enumerate(in_order(paths)):
        yield from rows(Span(path, index))


def captures(places: Iterable[Path]) -> list[str]:
    """The capture files among files and folders: what is named is taken as it is, a folder gives what begins as a capture."""
    found: list[str] = []
    for place in places:
        inside = sorted(file for file in place.rglob("*") if file.is_file()) if place.is_dir() else [place]
        found += [str(file) for file in inside if not place.is_dir() or _is_capture(file)]
    return found


def _is_capture(file: Path) -> bool:
    try:
        with open_unpacked(file) as source:
            return is_capture(source.read(4))
    except (OSError, EOFError, *BENT):
        return False
