"""Whether what was captured is Zenoh's: told by how it begins, and where it cannot be told by the port. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Final

from zenoh_conformance.batch import decode_batch
from zenoh_conformance.codec import Layer, decode_whole
from zenoh_conformance.conversation import Side
from zenoh_conformance.messages import Init, Join
from zenoh_conformance.wire.errors import DecodeError
from zenoh_harness.files.packets import Unit

VERSIONS: Final = range(6, 13)
"""Versions of the protocol that an INIT, SCOUT, HELLO or JOIN names, if it is one: 9, and what is near."""
LOOKED_AT: Final = 64
"""Datagrams of a flow that are tried."""
RECENT: Final = 16
"""Datagrams of one side among which one that comes twice is looked for."""
LONGEST_INIT: Final = 1 << 13


class Guise(Enum):
    """What a flow is; the value is what is said of those that are not read."""

    ZENOH = "zenoh"
    TLS = "TLS connections, whose content is not read"
    HTTP = "HTTP or WebSocket connections, which are not read"
    QUIC = "QUIC flows, whose content is not read"
    EMPTY = "TCP connections without a byte"
    OTHER = "flows of something else"


def stream_guise(first: Mapping[Side, bytes], *, at_port: bool) -> Guise:
    """What a TCP connection is whose sides begin with these bytes; `at_port`: one of its ports is Zenoh's."""
    if not any(first.values()):
        return Guise.EMPTY
    if any(_is_tls(data) for data in first.values()):
        return Guise.TLS
    if any(data.startswith((b"GET ", b"POST ", b"HTTP/1.")) for data in first.values()):
        return Guise.HTTP
    return Guise.ZENOH if at_port or begins_whole(first) else Guise.OTHER


def datagram_guise(payloads: Sequence[bytes], *, at_port: bool) -> Guise:
    """What a UDP flow is that carries these."""
    if any(datagram_is_zenoh(payload, at_port=at_port) for payload in islice(payloads, LOOKED_AT)):
        return Guise.ZENOH
    return (
        Guise.QUIC
        if any(payload[1:5] == b"\0\0\0\x01" and payload[0] & 0xC0 == 0xC0 for payload in payloads)
        else Guise.OTHER
    )


def begins_whole(first: Mapping[Side, bytes], *, prefix: int = 2) -> bool:
    """Whether the side that opened the link begins with what looks like InitSyn, behind a length of `prefix` bytes."""
    data = first.get(Side.INITIATOR, b"")
    size = int.from_bytes(data[:prefix], "little") if prefix else len(data)
    head = data[prefix : prefix + 2]
    return len(head) == 2 and 4 <= size <= LONGEST_INIT and head[0] & 0x3F == 0x01 and head[1] in VERSIONS


def datagram_is_zenoh(payload: bytes, *, at_port: bool) -> bool:
    """Whether a datagram is SCOUT, HELLO, or begins with INIT or JOIN; at a port of Zenoh's any batch will do."""
    try:
        return decode_whole(payload, Layer.SCOUTING).message.version in VERSIONS
    except DecodeError:
        pass
    found = list(islice(decode_batch(payload), 2))
    if not found or isinstance(found[0], DecodeError):
        return False
    message = found[0].message
    return at_port or (isinstance(message, Init | Join) and message.version in VERSIONS and len(found) == 1)


def once(units: Iterable[Unit]) -> Iterator[Unit]:
    """Datagrams of a unicast flow without those that the network, or the capture, has twice: no sender is charged with them."""
    recent = Recent()
    return (unit for unit in units if recent.is_new(unit))


class Recent:
    """The newest datagrams of each side."""

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[int, bytes]]] = {}

    def is_new(self, unit: Unit) -> bool:
        """Whether a datagram is none of those; from now on it is one."""
        known = self._known.setdefault(unit.source, [])
        same = (unit.ident, unit.payload)
        if same in known and (unit.ident or len(unit.payload) > 2):
            return False
        known.append(same)
        del known[:-RECENT]
        return True


def _is_tls(data: bytes) -> bool:
    """A handshake record that holds ClientHello or ServerHello, or an alert."""
    return len(data) >= 6 and data[0] in (0x15, 0x16) and data[1] == 3 and data[2] <= 4 and data[5] in (1, 2)
