"""Writes a recorded conversation as a capture file, in packets that Wireshark can reassemble.

The addresses are of the documentation range (192.0.2.1 opened the link, 192.0.2.2 accepted it), the port is Zenoh's, and the clock
starts at 1970. Bytes, order and times are the recorded ones; everything below them is synthetic.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from zenoh_conformance.reading.conversation import Conversation, Event, Framing, Happened, Side
from zenoh_harness.files.capture_writer import internet_checksum

RAW_IP: Final = 101
PORT, FIRST_PORT = 7447, 49152
LARGEST: Final = 16_000
"""The maximum size of a segment in bytes."""
FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
TCP, UDP = 6, 17
_ADDRESS: Final = {Side.INITIATOR: bytes((192, 0, 2, 1)), Side.RESPONDER: bytes((192, 0, 2, 2))}


@dataclass(slots=True)
class PacketStream:
    """A connection, with the next sequence number of each side."""

    port: int
    stream: bool
    next: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(Side, 1))
    opened: bool = False


def capture(conversation: Conversation) -> bytes:
    """Return the capture file."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, RAW_IP)
    return head + b"".join(_record(time, packet) for time, packet in packets(conversation))


def _record(time: float, packet: bytes) -> bytes:
    seconds, micros = divmod(round(max(time, 0.0) * 1_000_000), 1_000_000)
    return struct.pack("<IIII", seconds, micros, len(packet), len(packet)) + packet


def packets(conversation: Conversation) -> Iterator[tuple[float, bytes]]:
    """Yield time and bytes of every IP packet."""
    lines: dict[str, PacketStream] = {}
    for event in conversation:
        if event.connection not in lines:
            stream = conversation.connection(event.connection).framing is Framing.STREAM
            lines[event.connection] = PacketStream(FIRST_PORT + len(lines) % 16_000, stream)
        line = lines[event.connection]
        made = _of_stream(line, event) if line.stream else _of_datagram(line, event)
        for packet in made:
            yield event.time, packet


def _of_stream(line: PacketStream, event: Event) -> Iterator[bytes]:
    if not line.opened:
        line.opened = True
        yield _segment(line, Side.INITIATOR, SYN, at=0)
        yield _segment(line, Side.RESPONDER, SYN | ACK, at=0)
        yield _segment(line, Side.INITIATOR, ACK)
    for start in range(0, len(event.data), LARGEST):
        part = event.data[start : start + LARGEST]
        yield _segment(line, event.sender, PSH | ACK, part)
        line.next[event.sender] += len(part)
    if event.kind is Happened.EOF:
        yield _segment(line, event.sender, FIN | ACK)
        line.next[event.sender] += 1
    elif event.kind is Happened.RESET:
        yield _segment(line, event.sender, RST | ACK)


def _segment(line: PacketStream, sender: Side, flags: int, data: bytes = b"", *, at: int | None = None) -> bytes:
    acknowledged = line.next[sender.other] if flags & ACK else 0
    ports = _ports(line, sender)
    number = line.next[sender] if at is None else at
    head = struct.pack(
        "!HHIIBBHHH", *ports, number & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF, 5 << 4, flags, 0xFFFF, 0, 0
    )
    sum_ = internet_checksum(_pseudo(sender, TCP, len(head) + len(data)) + head + data)
    return _packet(sender, TCP, head[:16] + struct.pack("!H", sum_) + head[18:] + data)


def _of_datagram(line: PacketStream, event: Event) -> Iterator[bytes]:
    if event.kind is Happened.BYTES:
        head = struct.pack("!HHHH", *_ports(line, event.sender), 8 + len(event.data), 0)
        yield _packet(event.sender, UDP, head + event.data)


def _ports(line: PacketStream, sender: Side) -> tuple[int, int]:
    return (line.port, PORT) if sender is Side.INITIATOR else (PORT, line.port)


def _pseudo(sender: Side, protocol: int, size: int) -> bytes:
    return _ADDRESS[sender] + _ADDRESS[sender.other] + struct.pack("!BBH", 0, protocol, size)


def _packet(sender: Side, protocol: int, content: bytes) -> bytes:
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(content), 0, 0x4000, 64, protocol, 0)
    whole = head + _ADDRESS[sender] + _ADDRESS[sender.other]
    return whole[:10] + struct.pack("!H", internet_checksum(whole)) + whole[12:] + content
