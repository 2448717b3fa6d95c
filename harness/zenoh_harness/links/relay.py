"""One link through the tap: forwards bytes between two sockets, an end as an end and a reset as a reset."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import selectors
import socket
import ssl
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from zenoh_conformance.messages import sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness.links.changed import ChangedSide, DelayedBytes, DelayQueue
from zenoh_harness.links.timing import Deadline
from zenoh_harness.links.tls import TlsSocket

CHUNK: Final = 1 << 16
HELD: Final = 1 << 20
"""Bytes buffered for a side that does not read; with a full buffer the other side is not read either, as without a tap."""
CONNECTING: Final = 10.0
"""Seconds after which a far side that has not accepted counts as unreachable."""

_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
CLOSE: Final = encode(sane.close())

Record = Callable[[str, Side, Happened, bytes], None]
"""Receives an event: the link's name, the sender, the kind, and the bytes."""


@dataclass(slots=True)
class Passed:
    """A summary of one link."""

    name: str
    initiator: str
    """The address of the initiator."""
    sent: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(Side, 0))
    """The number of bytes that each side sent."""
    reached: bool = False
    """Whether the far side accepted."""
    first: Side | None = None
    """The side that ended the link; None while it is open, or when the tap ended it."""
    how: str = ""
    """`eof`, `reset`, or why the far side could not be reached, or there is no TLS."""

    def __str__(self) -> str:
        sent = ", ".join(f"{side.value} {self.sent[side]} bytes" for side in Side)
        end = f"ended by the {self.first.value} ({self.how})" if self.first else "ended by the tap"
        return f"{self.name} from {self.initiator}: {sent}; {end}"


@dataclass(slots=True, eq=False)
class RelayEnd:
    """One side of the link."""

    side: Side
    sock: socket.socket
    relay: Relay
    open: bool
    """Whether its connection is established."""
    waiting: bytearray = field(default_factory=bytearray)
    """The bytes that it has not taken yet."""
    finished: bool = False
    """Whether it has sent FIN."""
    forwarded_end: bool = False
    """Whether its FIN was forwarded, after all its bytes."""
    gone: bool = False
    """Whether sending to it failed: after its last bytes, its end counts as a reset, whatever the kernel reports."""
    passed_on: bool = False
    """Whether it was sent the FIN of the other side."""
    interest: int = 0
    """The events that the selector waits for on its socket."""

    @property
    def can_send(self) -> bool:
        """Whether bytes can be sent to it: over TLS not before the handshake, which goes on as bytes are received."""
        return not isinstance(self.sock, TlsSocket) or self.sock.shaken


class Relay:
    """One link: begins when an initiator connects; ends when both sides have finished, one is gone, or `end` is called."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        near: socket.socket,
        far: socket.socket,
        passed: Passed,
        record: Record,
        changed: ChangedSide | None = None,
    ) -> None:
        """`near` is accepted from the initiator, `far` will connect to the responder; `changed` changes the bytes of its side."""
        self.passed = passed
        self.over = False
        self.awaited: Deadline | None = None
        """The deadline for the far side to accept; None when it has."""
        self._selector = selector
        self._record = record
        self._changed = changed
        self._held = DelayQueue(changed.rate if changed else None)
        """The bytes of the changed side that are not forwarded yet."""
        self._near = RelayEnd(Side.INITIATOR, near, self, True)
        self._far = RelayEnd(Side.RESPONDER, far, self, False)
        for sock in (near, far):
            _prepare(sock)

    def begin(self, address: tuple[str, int] | str, first: bytes = b"") -> None:
        """Connect to the far side; bytes that the initiator sends meanwhile wait. `first`: the datagram that opened the link."""
        self._tell(self._near, Happened.OPEN)
        outcome = self._far.sock.connect_ex(address)
        self.awaited = Deadline.after(CONNECTING)
        if outcome == errno.EINPROGRESS:
            self._watch(self._far)
            self._watch(self._near)
        else:
            self._on_connected(outcome)
        if first and not self.over:
            self._take(self._near, first)

    def on_ready(self, end: RelayEnd, ready: int) -> None:
        """Handle the events of the selector at one end."""
        if self.over:
            return
        if not end.open:
            self._on_connected(end.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
            return
        if ready & selectors.EVENT_READ:
            self._receive(end)
        if ready & selectors.EVENT_WRITE and not self.over:
            self._flush(end)

    def give_up(self) -> None:
        """End the link because the far side has not accepted in time."""
        self._break(self._far, "does not accept")

    def cut(self) -> None:
        """Reset both sides, as a broken network does; neither side counts as the one that ended the link.

        A link of datagrams has no reset: a CLOSE that is not recorded ends it, or both would go on in the next link.
        """
        if not self.over:
            for end in (self._near, self._far):
                self._tell(end, Happened.RESET)
                if end.sock.type is socket.SOCK_DGRAM:
                    with contextlib.suppress(OSError):
                        end.sock.send(CLOSE)
            self.end()

    def end(self) -> None:
        """Close both halves; idempotent."""
        if self.over:
            return
        self.over = True
        self.awaited = None
        for end in (self._near, self._far):
            if end.interest:
                self._selector.unregister(end.sock)
            end.sock.close()

    def _other(self, end: RelayEnd) -> RelayEnd:
        return self._far if end is self._near else self._near

    def _on_connected(self, outcome: int) -> None:
        if outcome:
            self._break(self._far, os.strerror(outcome))
            return
        self.awaited = None
        self._far.open = self.passed.reached = True
        if isinstance(self._far.sock, TlsSocket):
            self._far.sock.begin_handshake()
        self._flush(self._far)

    def _receive(self, end: RelayEnd) -> None:
        """Forward the bytes that have arrived, then record them."""
        other = self._other(end)
        try:
            # Never receive into a buffer that relays share: each tap has its own thread, and `recv_into` releases the GIL. Once,
            # between receiving and copying, another tap wrote its bytes into the buffer, and they went over the judged link.
            data = end.sock.recv(CHUNK)
        except BlockingIOError:
            self._flush(end)  # what waited for the end of the handshake over TLS
            return
        except OSError as why:
            self._on_broken(end, why)
            return
        if data:
            self._take(end, data)
            self._watch(end)
            self._check(other)
        elif end.gone:
            self._break(end, "reset")
        elif end.sock.type is socket.SOCK_STREAM:  # an empty datagram is no end
            end.finished = True
            self._blame(end, "eof")
            self._finish(end)

    def _on_broken(self, end: RelayEnd, why: OSError) -> None:
        """End the link, which was reset, or whose TLS was refused."""
        how = f"no TLS: {why.reason}" if isinstance(why, ssl.SSLError) else "reset"
        if not self._far.can_send:
            self.passed.reached = False
        self._break(end, how)

    @property
    def due(self) -> float | None:
        """The time of the next delayed bytes, on `time.monotonic()`; None when nothing waits."""
        return self._held.due

    def release(self, now: float | None = None) -> None:
        """Forward the delayed bytes that are due and, after the last of a finished side, its FIN."""
        changed = self._changed
        if self.over or changed is None or not self._held:
            return
        end = self._near if changed.side is Side.INITIATOR else self._far
        for data in self._held.take(time.monotonic() if now is None else now):
            self._forward(end, data)
        if end.finished and not self._held:
            self._forward_end(end)
        self._watch(end)

    def _take(self, end: RelayEnd, data: bytes) -> None:
        """Forward the bytes of one end: at once, or as the rules change and delay them."""
        if self._changed is None:
            self._forward(end, data)
        elif end.side is not self._changed.side:
            self._changed.hear(data)
            self._forward(end, data)
        else:
            for piece in self._changed.feed(data):
                self._held.add(piece, time.monotonic())
            self.release()

    def _forward(self, end: RelayEnd, data: bytes) -> None:
        if data:
            self._send_or_keep(self._other(end), data)
            self.passed.sent[end.side] += len(data)
            self._tell(end, Happened.BYTES, data)

    def _finish(self, end: RelayEnd) -> None:
        """Forward the FIN of one side, after its delayed bytes."""
        if self._changed is not None and end.side is self._changed.side:
            if rest := self._changed.rest():
                self._held.add(DelayedBytes(rest), time.monotonic())
            self.release()
            if self._held or end.forwarded_end:
                return
        self._forward_end(end)

    def _forward_end(self, end: RelayEnd) -> None:
        if not end.forwarded_end:
            end.forwarded_end = True
            self._tell(end, Happened.EOF)
            self._flush(self._other(end))

    def _send_or_keep(self, end: RelayEnd, data: bytes) -> None:
        """Send as many bytes as the socket takes, and keep the rest."""
        sent = self._send(end, data) if end.open and not end.waiting else 0
        if sent < len(data) and end.sock.type is socket.SOCK_STREAM:  # a datagram for which there is no room is lost
            end.waiting += data[sent:]
            self._watch(end)

    def _flush(self, end: RelayEnd) -> None:
        """Send waiting bytes, then the FIN of the other side if it has finished; end the link when both FINs are sent."""
        other = self._other(end)
        while end.open and end.waiting and (sent := self._send(end, end.waiting)):
            del end.waiting[:sent]
        if end.open and not end.waiting and other.forwarded_end and not end.passed_on:
            end.passed_on = True
            with contextlib.suppress(OSError):  # reading from a peer that is gone reports it later
                end.sock.shutdown(socket.SHUT_WR)
        self._check(end)
        if end.passed_on and other.passed_on:
            self.end()
        self._watch(end)
        self._watch(other)

    def _send(self, end: RelayEnd, data: bytes | bytearray) -> int:
        """Return the number of bytes sent; all of them for a peer that is gone, whose earlier bytes are still to be read."""
        try:
            return end.sock.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            end.gone = True
            return len(data)

    def _check(self, end: RelayEnd) -> None:
        """Count a peer that is gone as a reset, once all its bytes are read."""
        # Not as soon as sending fails: its earlier bytes may still be unread, and the recording would lack them.
        if end.gone and end.finished and not self.over:
            self._break(end, "reset")

    def _break(self, end: RelayEnd, how: str) -> None:
        """Reset the other side of a peer that is gone, after the bytes sent before."""
        self._blame(end, how)
        if self._changed is not None and end.side is self._changed.side:
            for data in (*self._held.take(math.inf), self._changed.rest()):
                self._forward(end, data)
        self._tell(end, Happened.RESET)
        other = self._other(end)
        if other.open:
            # A reset discards the bytes in the kernel's buffer. Try once more to send the waiting ones, without blocking.
            if other.waiting:
                self._send(other, other.waiting)
            other.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.end()

    def _blame(self, end: RelayEnd, how: str) -> None:
        """Record the side that ends the link first."""
        if self.passed.first is None:
            self.passed.first, self.passed.how = end.side, how

    def _watch(self, end: RelayEnd) -> None:
        """Register the events that this end can handle next."""
        if self.over:
            return
        interest = 0
        # A side that does not read blocks the sender, as without a tap; without the bound the tap would hide that, and grow.
        if end.open and not end.finished and len(self._other(end).waiting) + self._held.size < HELD:
            interest |= selectors.EVENT_READ
        if not end.open or (end.waiting and end.can_send):
            interest |= selectors.EVENT_WRITE
        if interest == end.interest:
            return
        if not interest:
            self._selector.unregister(end.sock)
        elif end.interest:
            self._selector.modify(end.sock, interest, end)
        else:
            self._selector.register(end.sock, interest, end)
        end.interest = interest

    def _tell(self, end: RelayEnd, kind: Happened, data: bytes = b"") -> None:
        self._record(self.passed.name, end.side, kind, data)


def _prepare(sock: socket.socket) -> None:
    sock.setblocking(False)
    if sock.family in (socket.AF_INET, socket.AF_INET6) and sock.type is socket.SOCK_STREAM:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
