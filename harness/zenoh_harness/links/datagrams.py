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
from typing import Any, Final, NamedTuple

from zenoh_conformance.reading.conversation import Framing, Happened
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.links.links import CHUNK, LinkEvent, StreamLink
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline

RECEIVE_BUFFER: Final = 1 << 23
"""The bytes that may wait for us: what comes while the buffer is full is lost."""


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
        self._first, self._came = first, came
        widen(sock)

    def send(self, data: bytes, deadline: Deadline) -> int:
        """Send one datagram. Raises CannotGoOn for one that is larger than the link carries."""
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
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)


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
