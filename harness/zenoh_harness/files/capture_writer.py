"""Writes a conversation as packets that Wireshark reads: TCP with handshakes and acknowledgements, UDP, IPv4 or IPv6.

The endpoints are those that the connection names; a side without an IP address, as of a Unix socket, gets one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_harness.files import pcap
from zenoh_harness.files.packets import ACK, FIN, RST, SYN, TCP, UDP
from zenoh_harness.files.pcap import Packet

SEGMENT: Final = 32_768
"""Bytes of a TCP segment at most."""
PSH: Final = 0x08
LISTENS: Final = 7447
INVENTED: Final = 49_152
"""The first port for sides without one."""

Address = IPv4Address | IPv6Address


def write(conversation: Conversation, path: Path, *, began: int = 0) -> int:
    """Write the conversation as a capture that begins at `began`, in ns since 1970; return the number of packets."""
    return pcap.write(packets(conversation, began=began), path)


def packets(conversation: Conversation, *, began: int = 0) -> Iterator[Packet]:
    """The packets that would have carried the conversation, of link type RAW (101)."""
    wires: dict[str, _Wire] = {}
    number = 0
    for event in conversation:
        wire = wires.get(event.connection)
        if wire is None:
            wire = wires[event.connection] = _Wire.of(conversation.connection(event.connection), len(wires))
        time = began + round(event.time * 1e9)
        for data in wire.said(event):
            number += 1
            yield Packet(number, time, pcap.RAW, data, len(data))


@dataclass(slots=True)
class _Wire:
    """One connection: the endpoint and the next sequence number of each side."""

    framing: Framing
    at: dict[Side, tuple[Address, int]]
    next: dict[Side, int] = field(default_factory=lambda: {Side.INITIATOR: 1_000, Side.RESPONDER: 2_000})
    begun: bool = False

    @classmethod
    def of(cls, connection: Connection, index: int) -> _Wire:
        """The wire of a connection, the `index`th of its conversation."""
        at = {
            Side.INITIATOR: _endpoint(connection.initiator, IPv4Address("127.0.0.1"), INVENTED + index % 16_000),
            Side.RESPONDER: _endpoint(connection.responder, IPv4Address("127.0.0.2"), LISTENS),
        }
        if at[Side.INITIATOR][0].version != at[Side.RESPONDER][0].version:
            at = {side: (_mapped(host), port) for side, (host, port) in at.items()}
        return cls(connection.framing, at)

    def said(self, event: Event) -> Iterator[bytes]:
        """The packets of one event."""
        if self.framing is Framing.DATAGRAM:
            if event.kind is Happened.BYTES:
                yield self._datagram(event.sender, event.data)
            return
        if not self.begun:
            yield from self._handshake()
        for at in range(0, len(event.data), SEGMENT):
            yield self._segment(event.sender, PSH | ACK, event.data[at : at + SEGMENT])
        if event.kind is Happened.EOF:
            yield self._segment(event.sender, FIN | ACK)
        elif event.kind is Happened.RESET:
            yield self._segment(event.sender, RST | ACK)

    def _handshake(self) -> Iterator[bytes]:
        self.begun = True
        yield self._segment(Side.INITIATOR, SYN)
        yield self._segment(Side.RESPONDER, SYN | ACK)
        yield self._segment(Side.INITIATOR, ACK)

    def _segment(self, sender: Side, flags: int, data: bytes = b"") -> bytes:
        (_, from_), (_, to) = self.at[sender], self.at[sender.other]
        seq, ack = self.next[sender], self.next[sender.other] if flags & ACK else 0
        self.next[sender] = (seq + len(data) + bool(flags & (SYN | FIN))) % (1 << 32)
        head = struct.pack(">HHIIBBHHH", from_, to, seq, ack, 5 << 4, flags, 65_535, 0, 0)
        return self._packet(sender, TCP, head + data, 16)

    def _datagram(self, sender: Side, data: bytes) -> bytes:
        (_, from_), (_, to) = self.at[sender], self.at[sender.other]
        return self._packet(sender, UDP, struct.pack(">HHHH", from_, to, 8 + len(data) & 0xFFFF, 0) + data, 6)

    def _packet(self, sender: Side, protocol: int, body: bytes, at: int) -> bytes:
        """The IP packet around a segment whose checksum stands at `at`."""
        source, target = self.at[sender][0], self.at[sender.other][0]
        pseudo = source.packed + target.packed + struct.pack(">II", len(body), protocol)
        text = struct.pack(">H", _sum(pseudo + body) or 0xFFFF)
        body = body[:at] + text + body[at + 2 :]
        if source.version == 6:
            return struct.pack(">IHBB", 6 << 28, len(body), protocol, 64) + source.packed + target.packed + body
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0x4000, 64, protocol, 0)
        head += source.packed + target.packed
        return head[:10] + struct.pack(">H", _sum(head)) + head[12:] + body


def _endpoint(locator: str, host: Address, port: int) -> tuple[Address, int]:
    """Host and port of a locator such as `tcp/[::1]:7447`; the ones given for what names none."""
    address = locator.partition("/")[2] or locator
    name, _, number = address.partition("?")[0].partition("#")[0].rpartition(":")
    try:
        return ip_address(name.strip("[]").partition("%")[0]), int(number)
    except ValueError:
        return host, port


def _mapped(host: Address) -> Address:
    return IPv6Address(f"::ffff:{host}") if host.version == 4 else host


def _sum(data: bytes) -> int:
    """The Internet checksum."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
