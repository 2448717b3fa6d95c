"""Extract the TCP segment or UDP datagram of a captured packet, for the common link types.

    packet  --opened-->  Unit | IpFragment | reason    needs no other packet, so that packets can be read in parallel
    fragments of one IP packet  --whole-->  Unit       reassembles what IP has fragmented

Pure functions over `pcap.Packet`; no content of a packet makes them raise an exception.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Final, NamedTuple

from zenoh_harness.files.pcap import Packet

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
"""Flags of a TCP segment."""
TCP, UDP = 6, 17
IPV4, IPV6 = 0x0800, 0x86DD
PPPOE: Final = 0x8864
"""Ethernet type of a PPPoE session (RFC 2516, 4): six bytes before the PPP frame."""
_VLANS: Final = frozenset({0x8100, 0x88A8, 0x9100})
_V6_OPTIONS: Final = frozenset({0, 43, 60, 135})
"""IPv6 extension headers that are skipped: hop-by-hop options, routing, destination options, mobility (RFC 8200, 4)."""


class Unit(NamedTuple):
    """One TCP segment or UDP datagram."""

    number: int
    """Number of its packet; of the last of its packets if IP had fragmented it."""
    time: int
    """Nanoseconds since 1970."""
    protocol: int
    """6 TCP, 17 UDP."""
    source: str
    """Endpoint of the sender: `127.0.0.1:7447`, `[::1]:7447`."""
    target: str
    payload: bytes
    missing: int = 0
    """Bytes of the payload that the capture does not contain."""
    seq: int = 0
    """Sequence number of TCP; `ack` and `flags` are of TCP, too."""
    ack: int = 0
    flags: int = 0
    ident: int = 0
    """Identification field of IPv4; 0 for IPv6."""
    packets: tuple[int, ...] = ()
    """Numbers of all its packets, if IP had fragmented it."""
    wrong: bool = False
    """Whether its checksum is wrong; one that was left to the network card is not."""


class IpFragment(NamedTuple):
    """A fragment of an IP packet."""

    number: int
    time: int
    key: tuple[str, str, int, int]
    """Source, destination, protocol, identification: the same for all fragments of one IP packet."""
    at: int
    """Offset of its bytes in the payload of the IP packet."""
    last: bool
    data: bytes
    missing: int


def opened(packet: Packet) -> Unit | IpFragment | str:
    """Return the segment, datagram or IP fragment in a packet; else the reason why there is none, for a report."""
    step = _LINKS.get(packet.link)
    if step is None:
        return f"link type {packet.link}, which is not read"
    kind, at = step(packet.data)
    while kind in _VLANS and len(packet.data) >= at + 4:
        kind, at = int.from_bytes(packet.data[at + 2 : at + 4], "big"), at + 4
    if kind == PPPOE:
        kind, at = _ppp(packet.data, at + 6)
    if kind == IPV4:
        return _ipv4(packet, at)
    if kind == IPV6:
        return _ipv6(packet, at)
    return "no IP" if kind else "cut before its IP header"


def whole(pieces: Iterable[IpFragment]) -> Unit | None:
    """Return the segment or datagram of these IP fragments; None while a fragment is missing.

    The fragments may be in any order, repeated or overlapping.
    """
    held = sorted(pieces, key=lambda piece: piece.at)
    data = bytearray()
    missing = 0
    for piece in held:
        if piece.at > len(data) + missing or missing:
            return None
        data += piece.data[len(data) - piece.at :]
        missing = piece.missing
    if not held or not any(piece.last for piece in held):
        return None
    newest = max(held, key=lambda piece: piece.number)
    source, target, protocol, ident = newest.key
    unit = _transport(newest.number, newest.time, protocol, source, target, bytes(data), missing, ident)
    return unit._replace(packets=tuple(sorted({piece.number for piece in held}))) if isinstance(unit, Unit) else None


@lru_cache(maxsize=4096)
def endpoint(host: str, port: int) -> str:
    """Return `HOST:PORT`, with brackets around an IPv6 host."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def port_of(at: str) -> int:
    """Return the port of an endpoint."""
    return int(at.rpartition(":")[2])


def is_multicast(at: str) -> bool:
    """Return whether the host of an endpoint is a multicast group."""
    return ip_address(at.rpartition(":")[0].strip("[]").partition("%")[0]).is_multicast


def _ethernet(data: bytes) -> tuple[int, int]:
    return int.from_bytes(data[12:14], "big"), 14


def _linux_cooked(data: bytes) -> tuple[int, int]:
    return int.from_bytes(data[14:16], "big"), 16


def _linux_cooked2(data: bytes) -> tuple[int, int]:
    return int.from_bytes(data[0:2], "big"), 20


def _bare(data: bytes) -> tuple[int, int]:
    return (IPV4 if data[:1] and data[0] >> 4 == 4 else IPV6 if data[:1] and data[0] >> 4 == 6 else len(data[:1])), 0


def _loopback(data: bytes) -> tuple[int, int]:
    """Skip the address family, whose byte order is that of the capturing machine; the IP header has the version, too."""
    return _bare(data[4:])[0], 4


def _ppp(data: bytes, at: int = 0) -> tuple[int, int]:
    """Skip address and control, which may be left out, and the protocol, whose first byte may be (RFC 1661, 2 and 6.5)."""
    at += 2 if data[at : at + 2] == b"\xff\x03" else 0
    size = 1 if data[at : at + 1] and data[at] & 1 else 2
    return _PPP.get(int.from_bytes(data[at : at + size], "big"), len(data[at : at + 1])), at + size


def _pppoe(data: bytes) -> tuple[int, int]:
    return _ppp(data, 6)


_PPP: Final = {0x21: IPV4, 0x57: IPV6}
"""Protocol of PPP to the Ethernet type of the same content."""
_LINKS: Final[Mapping[int, Callable[[bytes], tuple[int, int]]]] = {
    0: _loopback, 108: _loopback, 1: _ethernet, 12: _bare, 14: _bare, 101: _bare,
    9: _ppp, 50: _ppp, 51: _pppoe, 113: _linux_cooked, 228: _bare, 229: _bare, 276: _linux_cooked2,
}  # fmt: skip
"""Link type to the function that reads its header: returns the Ethernet type of the content and its offset.

The numbers are those of https://www.tcpdump.org/linktypes.html.
"""


@lru_cache(maxsize=4096)
def _address(address: bytes) -> str:
    return str(ip_address(address))


def _ipv4(packet: Packet, at: int) -> Unit | IpFragment | str:
    data = packet.data
    if len(data) < at + 20:
        return "cut before its IP header"
    size, ident, place = struct.unpack_from(">HHH", data, at + 2)
    head = (data[at] & 0x0F) * 4
    size = size or len(data) - at  # 0 with segmentation offload: the network card fills in the length after the capture
    if head < 20 or size < head:
        return "a bad IP header"
    body = data[at + head : at + size]
    missing = max(0, size - head - len(body))
    source, target = _address(data[at + 12 : at + 16]), _address(data[at + 16 : at + 20])
    if place & 0x3FFF:
        key = (source, target, data[at + 9], ident)
        return IpFragment(packet.number, packet.time, key, (place & 0x1FFF) * 8, not place & 0x2000, body, missing)
    return _transport(packet.number, packet.time, data[at + 9], source, target, body, missing, ident)


def _ipv6(packet: Packet, at: int) -> Unit | IpFragment | str:
    data = packet.data
    if len(data) < at + 40:
        return "cut before its IP header"
    size, kind = struct.unpack_from(">HB", data, at + 4)
    source, target = _address(data[at + 8 : at + 24]), _address(data[at + 24 : at + 40])
    end, at = at + 40 + size if size else len(data), at + 40
    while kind in _V6_OPTIONS and len(data) >= at + 8:
        kind, at = data[at], at + 8 + data[at + 1] * 8
    body = data[at:end] if kind != 44 else data[at + 8 : end]
    missing = max(0, end - len(data)) if at < end else 0
    if kind == 44:
        if len(data) < at + 8:
            return "cut before its IP header"
        place, ident = struct.unpack_from(">HI", data, at + 2)
        key = (source, target, data[at], ident)
        return IpFragment(packet.number, packet.time, key, place & 0xFFF8, not place & 1, body, missing)
    return _transport(packet.number, packet.time, kind, source, target, body, missing, 0)


def _transport(
    number: int, time: int, protocol: int, source: str, target: str, body: bytes, missing: int, ident: int
) -> Unit | str:
    """Return the segment or datagram that the payload of an IP packet contains, or the reason why there is none."""
    if protocol == TCP:
        if len(body) < 20:
            return "cut before its TCP header"
        from_, to, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", body)
        head = (offset >> 4) * 4
        if head < 20:
            return "a bad TCP header"
        payload = body[head:]
        wrong = not missing and _is_wrong(body, 16, protocol, source, target)
        return Unit(number, time, TCP, endpoint(source, from_), endpoint(target, to), payload,
                    missing if head <= len(body) else 0, seq, ack, flags, ident, wrong=wrong)  # fmt: skip
    if protocol == UDP:
        if len(body) < 8:
            return "cut before its UDP header"
        from_, to, size = struct.unpack_from(">HHH", body)
        payload = body[8 : size or None]
        missing = max(0, size - 8 - len(payload)) if size else missing
        wrong = not missing and _is_wrong(body[: size or None], 6, protocol, source, target)
        return Unit(number, time, UDP, endpoint(source, from_), endpoint(target, to), payload, missing,
                    ident=ident, wrong=wrong)  # fmt: skip
    return "neither TCP nor UDP"


def _is_wrong(body: bytes, at: int, protocol: int, source: str, target: str) -> bool:
    """Return whether the checksum at `at` is neither right, nor zero, nor that of the pseudo header alone: a card completes those.

    A sum of 16-bit words with end-around carry is the whole number modulo 0xffff (RFC 1071, 2).
    """
    begin = _addresses(source, target) + protocol + len(body)
    number = int.from_bytes(body, "big") << 8 * (len(body) % 2)
    if not any(body[at : at + 2]):
        return False
    partial = begin - int.from_bytes(body[at : at + 2], "big")  # some drivers leave the length to the card, too
    return all(left % 0xFFFF for left in (begin + number, partial, partial - len(body)))


@lru_cache(maxsize=4096)
def _addresses(source: str, target: str) -> int:
    """Return both addresses of the pseudo header as one number."""
    return int.from_bytes(ip_address(source).packed + ip_address(target).packed, "big")
