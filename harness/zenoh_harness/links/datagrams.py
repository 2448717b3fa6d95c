"""UDP links: each write is a datagram, and a datagram holds one batch without a length (primitives, framing).

A datagram link has no end of its own: a peer that is gone shows, if at all, when the kernel reports its port unreachable.
"""

from __future__ import annotations

import select
import socket
import time
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


class DatagramLink(StreamLink):
    """A link over a connected UDP socket."""

    framing = Framing.DATAGRAM

    def __init__(self, sock: socket.socket, locator: Locator, *, ours: bool, first: bytes | None = None) -> None:
        """`first`: the datagram with which the peer opened the link."""
        super().__init__(sock, locator, ours=ours)
        self._first = first
        widen(sock)

    def send(self, data: bytes, deadline: Deadline) -> int:
        """Send one datagram. Raises CannotGoOn for one that is larger than the link carries."""
        while self._writable():
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
                self._tell(LinkEvent(time.monotonic(), True, Happened.BYTES, data))
                return len(data)
        return 0

    @property
    def waited(self) -> float:
        """0: the kernel does not count the time since the last datagram."""
        return 0.0

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


class DatagramDoor:
    """Accepts a datagram link for each address that sends to a listening UDP socket."""

    def __init__(self, sock: socket.socket) -> None:
        """`sock` is bound, non-blocking, and has SO_REUSEADDR."""
        self._sock = sock

    def accept(self) -> Accepted:
        """The link of the next datagram. Raises BlockingIOError if there is none."""
        while True:
            try:
                first, address = self._sock.recvfrom(CHUNK)
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
            return Accepted(sock, address, first)
