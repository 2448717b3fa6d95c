"""Determine the type of a captured flow from its first bytes or, if these are ambiguous, from its port. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Final

from zenoh_conformance.messages import Init, Join
from zenoh_conformance.reading.batch import decode_batch
from zenoh_conformance.reading.codec import Layer, decode_whole
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.wire import DecodeError
from zenoh_harness.files.packets import Unit

VERSIONS: Final = range(6, 13)
"""Protocol versions that a real INIT, SCOUT, HELLO or JOIN may name: 9 and its neighbours."""
LOOKED_AT: Final = 64
"""Datagrams of a flow that are decoded to find its type."""
RECENT: Final = 16
"""The latest datagrams of each side that a new one is compared with to detect copies."""
LONGEST_INIT: Final = 1 << 13
"""The most bytes of a batch that can be an InitSyn."""


class FlowType(Enum):
    """The type of a flow; the value describes flows that are not read in a report that counts them."""

    ZENOH = "zenoh"
    TLS = "TLS connections, whose content is not read"
    HTTP = "HTTP or WebSocket connections, which are not read"
    QUIC = "QUIC flows, whose content is not read"
    EMPTY = "TCP connections without a byte"
    OTHER = "flows of something else"


def type_of_stream(first: Mapping[Side, bytes], *, at_port: bool) -> FlowType:
    """Return the type of a TCP connection from the first bytes of each side; `at_port`: it uses a Zenoh port."""
    if not any(first.values()):
        return FlowType.EMPTY
    if any(_is_tls(data) for data in first.values()):
        return FlowType.TLS
    if any(data.startswith((b"GET ", b"POST ", b"HTTP/1.")) for data in first.values()):
        return FlowType.HTTP
    return FlowType.ZENOH if at_port or begins_with_init(first) else FlowType.OTHER


def type_of_datagrams(payloads: Sequence[bytes], *, at_port: bool) -> FlowType:
    """Return the type of a UDP flow from its payloads; `at_port`: it uses a Zenoh port."""
    if any(datagram_is_zenoh(payload, at_port=at_port) for payload in islice(payloads, LOOKED_AT)):
        return FlowType.ZENOH
    return (
        FlowType.QUIC
        if any(payload[1:5] == b"\0\0\0\x01" and payload[0] & 0xC0 == 0xC0 for payload in payloads)
        else FlowType.OTHER
    )


def begins_with_init(first: Mapping[Side, bytes], *, prefix: int = 2) -> bool:
    """Return whether the initiator's first bytes look like an InitSyn after a length of `prefix` bytes."""
    data = first.get(Side.INITIATOR, b"")
    size = int.from_bytes(data[:prefix], "little") if prefix else len(data)
    head = data[prefix : prefix + 2]
    return len(head) == 2 and 4 <= size <= LONGEST_INIT and head[0] & 0x3F == 0x01 and head[1] in VERSIONS


def datagram_is_zenoh(payload: bytes, *, at_port: bool) -> bool:
    """Return whether a datagram is a Zenoh datagram: SCOUT, HELLO, INIT or JOIN, or at a Zenoh port any batch."""
    try:
        return decode_whole(payload, Layer.SCOUTING).message.version in VERSIONS
    except DecodeError:
        pass
    found = list(islice(decode_batch(payload), 2))
    if not found or isinstance(found[0], DecodeError):
        return False
    message = found[0].message
    return at_port or (isinstance(message, Init | Join) and message.version in VERSIONS and len(found) == 1)


def without_duplicates(units: Iterable[Unit]) -> Iterator[Unit]:
    """Yield the datagrams of a unicast flow without copies.

    The network or the capture makes such copies, so a law must not blame the sender for them.
    """
    recent = Recent()
    return (unit for unit in units if recent.is_new(unit))


class Recent:
    """The latest datagrams of each side, to detect copies."""

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[int, bytes]]] = {}

    def is_new(self, unit: Unit) -> bool:
        """Return whether a datagram is not a copy of a recent one, and remember it."""
        known = self._known.setdefault(unit.source, [])
        same = (unit.ident, unit.payload)
        if same in known and (unit.ident or len(unit.payload) > 2):
            return False
        known.append(same)
        del known[:-RECENT]
        return True


def _is_tls(data: bytes) -> bool:
    """Return whether bytes are a TLS alert, or a handshake record with ClientHello or ServerHello (RFC 8446, 5.1)."""
    return len(data) >= 6 and data[0] in (0x15, 0x16) and data[1] == 3 and data[2] <= 4 and data[5] in (1, 2)
