"""Write a conversation as a capture for Wireshark: TCP with handshakes and acknowledgements, or UDP, over IPv4 or IPv6.

The endpoints are those of the connection; a side without an IP address, for example of a Unix socket, gets an invented one.
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
"""The most payload bytes of a TCP segment."""
PSH: Final = 0x08
LISTENS: Final = 7447
INVENTED: Final = 49_152
"""The first port that an initiator without a port gets."""

Address = IPv4Address | IPv6Address


def write(conversation: Conversation, path: Path, *, began: int = 0) -> int:
    """Write the conversation as a capture; return the number of packets. Raises FileFault.

    `began`: the time of the conversation's second 0, in nanoseconds since 1970.
    """
    return pcap.write(packets(conversation, began=began), path)


def packets(conversation: Conversation, *, began: int = 0) -> Iterator[Packet]:
    """Yield packets that carry the conversation, of link type RAW (101); `began` in nanoseconds since 1970."""
    wires: dict[str, _Wire] = {}
    number = 0
    for event in conversation:
        wire = wires.get(event.connection)
        if wire is None:
            wire = wires[event.connection] = _Wire.of(conversation.connection(event.connection), len(wires))
        time = began + round(event.time * 1e9)
        for data in wire.packets_of(event):
            number += 1
            yield Packet(number, time, pcap.RAW, data, len(data))


@dataclass(slots=True)
class _Wire:
    """One connection: the endpoint and the next TCP sequence number of each side."""

    framing: Framing
    at: dict[Side, tuple[Address, int]]
    next: dict[Side, int] = field(default_factory=lambda: {Side.INITIATOR: 1_000, Side.RESPONDER: 2_000})
    begun: bool = False

    @classmethod
    def of(cls, connection: Connection, index: int) -> _Wire:
        """Return the wire of a connection; `index`, its position in the conversation, makes the invented port unique."""
        at = {
            Side.INITIATOR: _endpoint(connection.initiator, IPv4Address("127.0.0.1"), INVENTED + index % 16_000),
            Side.RESPONDER: _endpoint(connection.responder, IPv4Address("127.0.0.2"), LISTENS),
        }
        if at[Side.INITIATOR][0].version != at[Side.RESPONDER][0].version:
            at = {side: (_as_ipv6(host), port) for side, (host, port) in at.items()}
        return cls(connection.framing, at)

    def packets_of(self, event: Event) -> Iterator[bytes]:
        """Yield the packets of one event; the first event of a TCP connection is preceded by the TCP handshake."""
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
        """Return the IP packet around a TCP segment or UDP datagram whose checksum has the offset `at`."""
        source, target = self.at[sender][0], self.at[sender.other][0]
        pseudo = source.packed + target.packed + struct.pack(">II", len(body), protocol)
        body = body[:at] + struct.pack(">H", internet_checksum(pseudo + body) or 0xFFFF) + body[at + 2 :]
        if source.version == 6:
            return struct.pack(">IHBB", 6 << 28, len(body), protocol, 64) + source.packed + target.packed + body
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0x4000, 64, protocol, 0)
        head += source.packed + target.packed
        return head[:10] + struct.pack(">H", internet_checksum(head)) + head[12:] + body


def _endpoint(locator: str, host: Address, port: int) -> tuple[Address, int]:
    """Return host and port of a locator such as `tcp/[::1]:7447`; `host` and `port` for one that names neither."""
    address = locator.partition("/")[2] or locator
    name, _, number = address.partition("?")[0].partition("#")[0].rpartition(":")
    try:
        return ip_address(name.strip("[]").partition("%")[0]), int(number)
    except ValueError:
        return host, port


def _as_ipv6(host: Address) -> Address:
    return IPv6Address(f"::ffff:{host}") if host.version == 4 else host


def internet_checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
