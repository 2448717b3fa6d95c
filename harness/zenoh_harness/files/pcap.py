"""Read and write capture files, pcap and pcapng, also compressed ones. `packets.py` reads the content of the packets.

No library is used: those with a suitable licence assume one link type for a file, and lose the original length of a packet
that the capture cut. A file may be cut off anywhere: its complete packets are read, and `Capture.cut` states the place.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, NamedTuple, Self

from zenoh_harness.files.faults import FileFault, unreadable
from zenoh_harness.files.unpacking import BENT, open_unpacked

PCAP: Final = {b"\xd4\xc3\xb2\xa1": ("<", 1_000), b"\xa1\xb2\xc3\xd4": (">", 1_000),
               b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1)}  # fmt: skip
"""First four bytes of a pcap file to its byte order and to the nanoseconds of a unit of its time stamps."""
PCAPNG: Final = b"\x0a\x0d\x0d\x0a"
"""First four bytes of a pcapng file: its section header."""
LARGEST: Final = 1 << 26
"""The most bytes of a block or packet; a larger length means that the file is damaged."""
USUAL: Final = 1 << 19
"""More bytes than any real packet has, since tcpdump and Wireshark keep at most 262144 bytes of each.

If a packet is longer than the rest of the file, the file was cut off; if it is also longer than this, its length is wrong
and the file is damaged.
"""

RAW: Final = 101
"""LINKTYPE_RAW: packets begin with their IP header."""


class Packet(NamedTuple):
    """One packet as it was captured."""

    number: int
    """Position in the file, from 1, as Wireshark counts."""
    time: int
    """Nanoseconds since 1970."""
    link: int
    """The link type, as in tcpdump.org's list: 1 Ethernet, 101 IP, 113 and 276 Linux cooked, ..."""
    data: bytes
    size: int
    """Bytes of the packet on the link; more than in `data` if the capture cut the packet."""


def is_capture(head: bytes) -> bool:
    """Return whether a file with these first bytes is a pcap or a pcapng."""
    return head[:4] in PCAP or head[:4] == PCAPNG


@dataclass(slots=True)
class Capture:
    """A capture file; iterating over it reads its packets and sets `cut` and `damaged`."""

    path: Path
    cut: str = ""
    """Where and why the file ends too early or is damaged; empty otherwise."""
    damaged: bool = False
    """Whether reading stopped at contradictory lengths, before the end of the file."""

    def __iter__(self) -> Iterator[Packet]:
        """Yield the packets, in order. Raises FileFault if the file is no capture or cannot be read."""
        try:
            with open_unpacked(self.path) as source:
                yield from self.packets(source)
        except EOFError:
            self.cut = "the compressed file ends too early"
        except BENT as why:
            self.cut, self.damaged = f"the compressed file cannot be unpacked: {why}", True
        except OSError as why:
            raise unreadable(self.path, why) from why

    def packets(self, source: IO[bytes]) -> Iterator[Packet]:
        """Yield the packets of an open file, which begins with the header of a capture. Raises FileFault if it does not."""
        head = source.read(4)
        if head == PCAPNG:
            yield from _Blocks(self, source, head).packets()
        elif head in PCAP:
            yield from self._records(source, *PCAP[head])
        else:
            found = f"begins with {head.hex(' ')}" if head else "is empty"
            raise FileFault(self.path, None, f"{found}: no capture", hint="pcap and pcapng are read")

    def _records(self, source: IO[bytes], order: str, unit: int) -> Iterator[Packet]:
        """Yield the packets of a pcap: each has a header of 16 bytes, then its captured bytes."""
        head = source.read(20)
        if len(head) < 20:
            self.cut = "the file ends inside its header"
            return
        link = struct.unpack(f"{order}16xI", head)[0] & 0x0FFFFFFF
        record = struct.Struct(f"{order}IIII")
        number = 0
        while head := source.read(record.size):
            number += 1
            if len(head) < record.size:
                self.cut = f"the file ends inside packet {number}"
                return
            seconds, fraction, kept, size = record.unpack(head)
            if kept > LARGEST:
                self.cut, self.damaged = f"what claims to be packet {number}, of {kept} bytes, is none", True
                return
            data = source.read(kept)
            if len(data) < kept:
                self.cut = f"packet {number} should have {kept} bytes, and the file ends after {len(data)}"
                self.damaged = kept > USUAL
                return
            yield Packet(number, seconds * 1_000_000_000 + fraction * unit, link, data, size)


class _Interface(NamedTuple):
    """An interface description block of a pcapng."""

    link: int
    units: int
    """Units of its time stamps in a second (if_tsresol)."""
    offset: int
    """Seconds to add to its time stamps (if_tsoffset)."""
    longest: int
    """The most bytes that were kept of a packet (SnapLen); 0 for all."""


@dataclass(slots=True)
class _Blocks:
    """Reads the blocks of a pcapng: sections, interfaces, packets; other blocks are skipped."""

    capture: Capture
    source: IO[bytes]
    begun: bytes = b""
    """The bytes of the first block that the caller has read already."""
    order: str = "<"
    interfaces: list[_Interface] = field(default_factory=list)
    number: int = 0

    def packets(self) -> Iterator[Packet]:
        """Yield the packets of all sections, in the order of the file."""
        while (block := self._block()) is not None:
            kind, body = block
            if kind == 1:
                self.interfaces.append(self._interface(body))
            elif kind in (2, 3, 6):
                self.number += 1
                packet = self._packet(kind, body)
                if packet is None:
                    self.capture.cut = (
                        f"the block of packet {self.number} tells lengths or an interface that it has not"
                    )
                    self.capture.damaged = True
                    return
                yield packet

    def _block(self) -> tuple[int, bytes] | None:
        """Return type and body of the next block; None at the end of the file and at a block that cannot be read."""
        head = self.begun + self.source.read(8 - len(self.begun))
        self.begun = b""
        if len(head) < 8:
            self.capture.cut = f"the file ends inside a block, after packet {self.number}" if head else ""
            return None
        magic = b""
        if head[:4] == PCAPNG:  # the same in both byte orders; the next four bytes tell which
            magic = self.source.read(4)
            self.order = ">" if magic == b"\x1a\x2b\x3c\x4d" else "<"
            self.interfaces = []
        kind, size = struct.unpack(f"{self.order}II", head)
        size += -size % 4
        if not 12 + len(magic) <= size <= LARGEST:
            self._stop(f"what claims to be a block of {size} bytes is none, and the rest is not read", damaged=True)
            return None
        body = self.source.read(size - 8 - len(magic))
        if len(body) + 8 + len(magic) != size:
            self._stop(f"the file ends inside a block of {size} bytes", damaged=size > USUAL)
            return None
        return kind, body[:-4]

    def _stop(self, why: str, *, damaged: bool = False) -> None:
        self.capture.cut, self.capture.damaged = f"{why}, after packet {self.number}", damaged

    def _interface(self, body: bytes) -> _Interface:
        units, offset = 1_000_000, 0
        link, longest = struct.unpack_from(f"{self.order}HxxI", body.ljust(8, b"\0"))
        at = 8
        while at + 4 <= len(body):
            code, size = struct.unpack_from(f"{self.order}HH", body, at)
            value = body[at + 4 : at + 4 + size]
            if code == 9 and size == 1:
                units = 1 << (value[0] & 0x7F) if value[0] & 0x80 else 10 ** (value[0] & 0x7F)
            elif code == 14 and len(value) == 8:
                offset = struct.unpack(f"{self.order}q", value)[0]
            at += 4 + size + -size % 4
        return _Interface(link, units, offset, longest)

    def _packet(self, kind: int, body: bytes) -> Packet | None:
        """Return the packet of a simple (3), enhanced (6) or obsolete (2) packet block; None if its lengths contradict."""
        if len(body) < (4 if kind == 3 else 20):
            return None
        if kind == 3:
            which, ticks, at = 0, 0, 4
            size = kept = struct.unpack_from(f"{self.order}I", body)[0]
            kept = min(kept, len(body) - 4)
            if self.interfaces and self.interfaces[0].longest:
                kept = min(kept, self.interfaces[0].longest)
        else:
            which, high, low, kept, size = struct.unpack_from(
                f"{self.order}{'HxxIIII' if kind == 2 else 'IIIII'}", body
            )
            ticks, at = high << 32 | low, 20
        if which >= len(self.interfaces) or at + kept > len(body):
            return None
        interface = self.interfaces[which]
        time = interface.offset * 1_000_000_000 + ticks * 1_000_000_000 // interface.units
        return Packet(self.number, time, interface.link, body[at : at + kept], size)


def write(packets: Iterable[Packet], path: Path) -> int:
    """Write packets as a pcapng with one interface for each link type; return their number. Raises FileFault."""
    count = 0
    try:
        with PacketWriter(path) as out:
            for packet in packets:
                out.packet(packet)
                count += 1
    except OSError as why:
        raise FileFault(path, None, f"cannot be written: {why}") from why
    return count


class PacketWriter:
    """Writes packets one by one as a pcapng with one interface for each link type. Its methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self._links: dict[int, int] = {}
        self._out = path.open("wb")
        self._out.write(_block_of(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))

    def packet(self, packet: Packet) -> None:
        """Append one packet."""
        if packet.link not in self._links:
            self._links[packet.link] = len(self._links)
            nanoseconds = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
            self._out.write(_block_of(1, struct.pack("<HHI", packet.link, 0, 0) + nanoseconds))
        when = packet.time & 0xFFFFFFFFFFFFFFFF
        which = self._links[packet.link]
        head = struct.pack("<IIIII", which, when >> 32, when & 0xFFFFFFFF, len(packet.data), packet.size)
        self._out.write(_block_of(6, head + packet.data))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()


def _block_of(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)
