"""UDP links: each write is a datagram, and a datagram holds one batch without a length (primitives, framing).

A datagram link has no end of its own: a peer that is gone shows, if at all, when the kernel reports its port unreachable.
"""

from __future__ import annotations

import math
import select
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from zenoh_conformance.reading.conversation import Framing, Happened
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.links.links import CHUNK, LinkEvent, StreamLink
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline

RECEIVE_BUFFER: Final = 1 << 23
"""The bytes that may wait for us: what comes while the buffer is full is lost."""

FORCED: Final = getattr(socket, "SO_RCVBUFFORCE", 33)
"""Linux: as SO_RCVBUF, above the limit of the system, with the right to administer the network."""

BURST: Final = 1 << 14
"""Bytes that we send between two looks at what waits for the peer."""

OVERHEAD: Final = 768
"""Bytes that the kernel counts for a small datagram beside its own."""

UNREAD: Final = 1 << 16
"""Bytes that may wait for the peer before we send more: its buffer holds three times as many by default."""

LOOK: Final = 0.001
"""Seconds between two looks at a peer that has not read yet."""

LOOKS: Final = 200
"""Looks before we send all the same."""

SOCKETS: Final = Path("/proc/net/udp")
COUNTERS: Final = Path("/proc/net/snmp")

MTU: Final = 65487
"""The largest batch over UDP, as zenoh-rust has it: a datagram of IPv4 has 65507 bytes at most."""


SO_TIMESTAMP: Final = getattr(socket, "SO_TIMESTAMP", 29)
"""Linux: the kernel tells with each datagram when it came."""

STAMP: Final = struct.Struct("@ll")
"""A `timeval`: seconds and microseconds."""


def came_at(told: Sequence[tuple[int, int, bytes]]) -> float:
    """Return when a datagram came, by `time.time()`, from what the kernel told with it; infinite if it did not."""
    stamps = [STAMP.unpack(data) for level, kind, data in told if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMP)]
    return next((seconds + micros / 1e6 for seconds, micros in stamps), math.inf)


class DatagramLink(StreamLink):
    """A link over a connected UDP socket."""

    framing = Framing.DATAGRAM

    def __init__(
        self, sock: socket.socket, locator: Locator, *, ours: bool, first: bytes | None = None, came: float = math.inf
    ) -> None:
        """`first`: the datagram with which the peer opened the link, and `came`: when, by `time.time()`."""
        super().__init__(sock, locator, ours=ours)
        self._first, self._came, self._burst = first, came, 0
        widen(sock)

    def send(self, data: bytes, deadline: Deadline) -> int:
        """Send one datagram. Raises CannotGoOn for one that is larger than the link carries."""
        self._let_peer_read(len(data), self.locator.port)
        while self._writable():
            began = time.monotonic()
            try:
                self._sock.send(data)
            except BlockingIOError:
                if not self._wait(select.POLLOUT, deadline):
                    break
            except ConnectionRefusedError:
                self._end(Happened.RESET)
            except OSError as why:
                larger = f"a datagram of {len(data)} bytes does not pass {self.locator}"
                raise CannotGoOn(larger, step="send", seen=str(why), hint="is the batch above the link's MTU?") from why
            else:
                self._tell(LinkEvent(began, True, Happened.BYTES, data))
                return len(data)
        return 0

    def _let_peer_read(self, size: int, port: int) -> None:
        """Between bursts, let a peer on this machine read before its buffer overflows; no other machine shows its buffer."""
        self._burst += size + OVERHEAD
        if self._burst < BURST:
            return
        self._burst, ours = 0, self._sock.getsockname()[1]
        for _ in range(LOOKS):
            if unread_at(port, ours) < UNREAD:
                return
            time.sleep(LOOK)  # the kernel reports no event for it

    @property
    def waited(self) -> float:
        """Seconds since the datagram came that opened the link, while it was not read; else 0: the kernel does not count them."""
        return max(0.0, time.time() - self._came) if self._first is not None else 0.0

    def half_closed(self) -> bool:
        """False: a datagram link has no halves."""
        return False

    def _read(self) -> bytes:
        """The next datagram: first the one that opened the link."""
        data, self._first = self._sock.recv(CHUNK) if self._first is None else self._first, None
        return data


def widen(sock: socket.socket) -> None:
    """Ask for a large receive buffer; the kernel grants what its limit permits."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, FORCED, RECEIVE_BUFFER)
    except OSError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)


def unread_at(port: int, sender: int) -> int:
    """Bytes that wait at a UDP port of this machine for a socket that hears `sender`, a port; 0 where that cannot be seen."""
    try:
        rows = [line.split() for line in SOCKETS.read_text(encoding="ascii").splitlines()[1:]]
    except OSError:
        return 0
    ports = ((int(row[1][-4:], 16), int(row[2][-4:], 16), row[4]) for row in rows)
    return max((int(queues[-8:], 16) for at, other, queues in ports if at == port and other in (0, sender)), default=0)


def lost_datagrams() -> int:
    """Return how many datagrams this machine has dropped since its start for want of room; 0 where that cannot be seen."""
    try:
        names, values, *_ = (
            line.split() for line in COUNTERS.read_text(encoding="ascii").splitlines() if line[:4] == "Udp:"
        )
    except (OSError, ValueError):
        return 0
    return int(dict(zip(names, values, strict=True)).get("RcvbufErrors", 0))


class Accepted(NamedTuple):
    """A datagram link that was accepted."""

    sock: socket.socket
    """Connected to the peer; further datagrams of the peer come here."""
    address: Any
    """The kernel's address of the peer."""
    first: bytes
    """The datagram that opened the link."""
    came: float
    """When it came, by `time.time()`."""


class DatagramDoor:
    """Accepts a datagram link for each address that sends to a listening UDP socket."""

    def __init__(self, sock: socket.socket) -> None:
        """`sock` is bound, non-blocking, and has SO_REUSEADDR."""
        self._sock = sock
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)

    def accept(self) -> Accepted:
        """The link of the next datagram. Raises BlockingIOError if there is none."""
        while True:
            try:
                first, told, _, address = self._sock.recvmsg(CHUNK, socket.CMSG_SPACE(STAMP.size))
            except ConnectionRefusedError:  # of something that an earlier link sent
                continue
            sock = socket.socket(self._sock.family, socket.SOCK_DGRAM)
            try:
                sock.setblocking(False)
                widen(sock)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind(self._sock.getsockname())
                sock.connect(address)
            except OSError:
                sock.close()
                raise
            return Accepted(sock, address, first, came_at(told))
