"""Links: raw bytes to and from a peer, blocking, with deadlines and a time for each event.

A link knows nothing of batches. It reports bytes, ends and resets as values, since the behaviour of a peer is evidence; only
an address that cannot be reached raises.
"""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, Self

from zenoh_conformance.reading.conversation import Framing, Happened
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline

CHUNK: Final = 65536

RESETTING: Final = 0.05
"""Seconds in which the kernel of a peer with a closed socket answers further bytes with a reset."""


class LinkEvent(NamedTuple):
    """An event on a link."""

    time: float
    """Seconds on `time.monotonic()`."""
    ours: bool
    """Whether we caused it; else the peer did."""
    what: Happened
    data: bytes = b""
    waited: float = 0.0
    """Of what we sent: seconds since the peer sent last, from the kernel; 0 where it does not tell."""

    @property
    def ended(self) -> bool:
        """Whether nothing more can come from that side."""
        return self.what in (Happened.EOF, Happened.RESET)


Observer = Callable[[LinkEvent], None]


class RecordedLink(Protocol):
    """A link to one peer."""

    locator: Locator
    """The address of the peer."""
    observer: Observer | None
    """Called with every event, in order, in the thread that uses the link."""
    framing: Framing
    proxied: bool
    """Whether a proxy is between us and the peer, so that an end may be the proxy's."""

    def send(self, data: bytes, deadline: Deadline) -> int:
        """Send `data`; return the number of bytes sent (fewer if the peer stopped reading or the link ended)."""

    def receive(self, deadline: Deadline) -> LinkEvent | None:
        """The next event of the peer; None after the deadline; the end once more at each call after the end."""

    @property
    def ended(self) -> LinkEvent | None:
        """The event by which the peer ended the link; None before it was seen."""

    def half_closed(self) -> bool:
        """Whether a peer that sent FIN still accepts bytes. Call it after the last send."""

    def finish(self) -> None:
        """End our direction (FIN); receiving is still possible."""

    def abort(self) -> None:
        """Reset the link (RST)."""

    def close(self) -> None:
        """Close the link; idempotent."""


_HEARD: Final = struct.Struct("=52xI")
"""Linux's `tcp_info` up to `tcpi_last_data_recv`, in milliseconds."""


class StreamLink:
    """A link over a connected stream socket: TCP or a Unix socket."""

    framing = Framing.STREAM

    def __init__(self, sock: socket.socket, locator: Locator, *, ours: bool) -> None:
        """`ours`: we opened it."""
        self.locator = locator
        self.proxied = False
        self.observer: Observer | None = None
        self.opened = LinkEvent(time.monotonic(), ours, Happened.OPEN)
        self._sock = sock
        self._ended: LinkEvent | None = None
        self._waiting: deque[LinkEvent] = deque()
        self._closed = False
        self._over: float | None = None
        sock.setblocking(False)
        if sock.type is socket.SOCK_STREAM and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def ended(self) -> LinkEvent | None:
        """The event by which the peer ended the link; None before it was seen."""
        return self._ended

    def send(self, data: bytes, deadline: Deadline) -> int:
        """Send, and receive meanwhile, so that two full buffers never wait for each other.

        The time of an event is the one before the bytes went out: who receives them may run before we do again, and its lease with it.
        """
        view, sent = memoryview(data), 0
        while sent < len(data) and self._writable():
            began = time.monotonic()
            try:
                count = self._sock.send(view[sent:])
            except BlockingIOError:
                if not self._wait(select.POLLOUT | select.POLLIN, deadline):
                    break
                self._drain()
            except OSError:
                self._drain()
                self._end(Happened.RESET)
                break
            else:
                data_sent = bytes(view[sent : sent + count])
                self._tell(LinkEvent(began, True, Happened.BYTES, data_sent, self.waited))
                sent += count
        return sent

    def _writable(self) -> bool:
        """Whether the peer may still receive: also after its FIN, but not after a reset or our own end."""
        return not self._closed and (self._ended is None or self._ended.what is not Happened.RESET)

    def receive(self, deadline: Deadline) -> LinkEvent | None:
        """The next event of the peer; None after the deadline; the end once more at each call after the end."""
        event = self._next_event()
        while event is None:
            if not self._wait(select.POLLIN, deadline):
                return None
            event = self._next_event()
        return event

    def _next_event(self) -> LinkEvent | None:
        if not self._waiting:
            self._drain(once=True)
        return self._waiting.popleft() if self._waiting else self._ended

    @property
    def forsaken(self) -> bool:
        """Whether the peer has ended its direction, even if its bytes are still unread."""
        return ready(self._sock, select.POLLRDHUP, Deadline(0.0))

    @property
    def over(self) -> float | None:
        """The time at which either side ended the link; None while it is up."""
        known = [at for at in (self._ended.time if self._ended else None, self._over) if at is not None]
        return min(known, default=None)

    @property
    def waited(self) -> float:
        """Seconds since the peer sent last, from the kernel: the time for which an accepted link was waiting."""
        if self._sock.family not in (socket.AF_INET, socket.AF_INET6) or not hasattr(socket, "TCP_INFO"):
            return 0.0
        info = self._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _HEARD.size)
        return float(_HEARD.unpack(info)[0]) / 1000

    def half_closed(self) -> bool:
        """Whether a peer that sent FIN still accepts bytes; sends one byte, which is not recorded."""
        if self._closed or self.proxied or self._ended is None or self._ended.what is not Happened.EOF:
            return False
        try:
            self._sock.send(b"\0")
        except OSError:
            return False
        return not ready(self._sock, 0, Deadline.after(RESETTING))  # no events: errors and hang-ups only

    def observe(self, observer: Observer | None) -> None:
        """Report events to `observer` from now on, beginning with the link's opening."""
        self.observer = observer
        self._tell(self.opened)

    def finish(self) -> None:
        """End our direction (FIN); receiving is still possible."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
            self._tell(LinkEvent(time.monotonic(), True, Happened.EOF))

    def abort(self) -> None:
        """Reset the link: on TCP the peer receives RST."""
        if not self._closed:
            with contextlib.suppress(OSError):
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._end_ours(Happened.RESET)

    def close(self) -> None:
        """Close the link; idempotent."""
        if not self._closed:
            self._end_ours(Happened.EOF)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end_ours(self, how: Happened) -> None:
        self._closed = True
        self._over = time.monotonic()
        self._sock.close()
        event = LinkEvent(time.monotonic(), True, how)
        self._tell(event)
        self._ended = self._ended or event

    def _wait(self, for_what: int, deadline: Deadline) -> bool:
        return ready(self._sock, for_what, deadline)

    def _drain(self, once: bool = False) -> None:
        """Receive the bytes that have arrived, and queue them as events."""
        while self._ended is None:
            try:
                data = self._read()
            except BlockingIOError:
                return
            except OSError as gone:
                self._end(Happened.EOF if gone.errno == errno.ENOTCONN else Happened.RESET)
                return
            if not data and self.framing is Framing.STREAM:  # an empty datagram says nothing
                self._end(Happened.EOF)
                return
            event = LinkEvent(time.monotonic(), False, Happened.BYTES, data)
            self._tell(event)
            self._waiting.append(event)
            if once:
                return

    def _read(self) -> bytes:
        """What has arrived. Raises OSError where nothing has, or nothing more can."""
        return self._sock.recv(CHUNK)

    def _end(self, what: Happened) -> None:
        if self._ended is None:
            self._ended = LinkEvent(time.monotonic(), False, what)
            self._tell(self._ended)

    def _tell(self, event: LinkEvent) -> None:
        if self.observer is not None:
            self.observer(event)


def ready(sock: socket.socket, for_what: int, deadline: Deadline) -> bool:
    """Whether one of these events of `poll` comes before the deadline."""
    poll = select.poll()
    poll.register(sock, for_what)
    return bool(poll.poll(deadline.remaining() * 1000))
