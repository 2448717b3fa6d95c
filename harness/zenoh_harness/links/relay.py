"""One link through the tap: two sockets, what came on one handed to the other, ends as ends and resets as resets."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import selectors
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from zenoh_conformance.conversation import Happened, Side
from zenoh_harness.links.changed import ChangedSide, Held, Piece
from zenoh_harness.links.timing import Deadline

CHUNK: Final = 1 << 16
HELD: Final = 1 << 20
"""Bytes held for a side that does not read; beyond it the other side is not read either, as without a tap."""
CONNECTING: Final = 10.0
"""Seconds that the far side may take to accept."""

_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)

Record = Callable[[str, Side, Happened, bytes], None]
"""Takes what happened: the link's name, who did it, what, and the bytes."""


@dataclass(slots=True)
class Passed:
    """What went over one link."""

    name: str
    initiator: str
    """Where the initiator came from."""
    sent: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(Side, 0))
    """Bytes that each side sent."""
    reached: bool = False
    """Whether the far side accepted."""
    first: Side | None = None
    """Who ended it; None while nobody has, or when the tap did."""
    how: str = ""
    """`eof`, `reset`, or why the far side could not be reached."""

    def __str__(self) -> str:
        sent = ", ".join(f"{side.value} {self.sent[side]} bytes" for side in Side)
        end = f"ended by the {self.first.value} ({self.how})" if self.first else "ended by the tap"
        return f"{self.name} from {self.initiator}: {sent}; {end}"


@dataclass(slots=True, eq=False)
class End:
    """One side of the link."""

    side: Side
    sock: socket.socket
    relay: Relay
    open: bool
    """Whether its connection stands."""
    waiting: bytearray = field(default_factory=bytearray)
    """What it has not taken yet."""
    finished: bool = False
    """It sends no more."""
    told: bool = False
    """Its end has gone on: all that it said went before."""
    gone: bool = False
    """Sending to it failed: what is left to read of it ends in a reset, whatever the kernel calls it then."""
    passed_on: bool = False
    """It was told that the other side sends no more."""
    interest: int = 0
    """What the selector waits for on its socket."""


class Relay:
    """One link: made when its initiator has come, over when both have finished, one has gone, or `end` is called."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        near: socket.socket,
        far: socket.socket,
        passed: Passed,
        record: Record,
        changed: ChangedSide | None = None,
    ) -> None:
        """`near` is the initiator's, accepted; `far` will be the responder's; `changed` makes of what its side says what goes on."""
        self.passed = passed
        self.over = False
        self.awaited: Deadline | None = None
        """Until when the far side must accept; None when it has."""
        self._selector = selector
        self._record = record
        self._changed = changed
        self._held = Held(changed.rate if changed else None)
        """What the changed side said, and has not gone on yet."""
        self._near = End(Side.INITIATOR, near, self, True)
        self._far = End(Side.RESPONDER, far, self, False)
        for sock in (near, far):
            _prepare(sock)

    def begin(self, address: tuple[str, int] | str) -> None:
        """Open the other half; what the initiator sends meanwhile waits."""
        self._tell(self._near, Happened.OPEN)
        outcome = self._far.sock.connect_ex(address)
        self.awaited = Deadline.after(CONNECTING)
        if outcome == errno.EINPROGRESS:
            self._watch(self._far)
            self._watch(self._near)
        else:
            self._connected(outcome)

    def on_ready(self, end: End, ready: int) -> None:
        """The selector says that something can be done at one end."""
        if self.over:
            return
        if not end.open:
            self._connected(end.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
            return
        if ready & selectors.EVENT_READ:
            self._receive(end)
        if ready & selectors.EVENT_WRITE and not self.over:
            self._flush(end)

    def give_up(self) -> None:
        """The far side has had its time."""
        self._break(self._far, "does not accept")

    def cut(self) -> None:
        """End it in the middle, as a network does; it goes down as a reset on both sides, and nobody is blamed."""
        if not self.over:
            for end in (self._near, self._far):
                self._tell(end, Happened.RESET)
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

    def _other(self, end: End) -> End:
        return self._far if end is self._near else self._near

    def _connected(self, outcome: int) -> None:
        if outcome:
            self._break(self._far, os.strerror(outcome))
            return
        self.awaited = None
        self._far.open = self.passed.reached = True
        self._flush(self._far)

    def _receive(self, end: End) -> None:
        """Hand on what came, then record it."""
        other = self._other(end)
        try:
            # Never into a buffer that relays share. Each tap has a thread of its own, and `recv_into` lets go of the interpreter's
            # lock: between reading and copying, the bytes of another tap came to lie there, and went over the judged link.
            data = end.sock.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._break(end, "reset")
            return
        if data:
            self._take(end, data)
            self._watch(end)
            self._check(other)
        elif end.gone:
            self._break(end, "reset")
        else:
            end.finished = True
            self._blame(end, "eof")
            self._finish(end)

    @property
    def due(self) -> float | None:
        """When something that is held back may go on, on `time.monotonic()`."""
        return self._held.due

    def release(self, now: float | None = None) -> None:
        """Let go on what has waited long enough; of a side that has finished, its end after it."""
        changed = self._changed
        if self.over or changed is None or not self._held:
            return
        end = self._end_of(changed.side)
        for data in self._held.take(time.monotonic() if now is None else now):
            self._go_on(end, data)
        if end.finished and not self._held:
            self._end_goes_on(end)
        self._watch(end)

    def _take(self, end: End, data: bytes) -> None:
        """What an end said goes on: at once, or what the rules make of it, when they say so."""
        if self._changed is None:
            self._go_on(end, data)
        elif end.side is not self._changed.side:
            self._changed.hear(data)
            self._go_on(end, data)
        else:
            for piece in self._changed.feed(data):
                self._held.add(piece, time.monotonic())
            self.release()

    def _go_on(self, end: End, data: bytes) -> None:
        if not data:
            return
        self._pass(self._other(end), data)
        self.passed.sent[end.side] += len(data)
        self._tell(end, Happened.BYTES, data)

    def _finish(self, end: End) -> None:
        """One side sends no more; what is held back of it goes before its end."""
        if self._changed is not None and end.side is self._changed.side:
            if rest := self._changed.rest():
                self._held.add(Piece(rest), time.monotonic())
            self.release()
            if self._held or end.told:
                return
        self._end_goes_on(end)

    def _end_goes_on(self, end: End) -> None:
        if not end.told:
            end.told = True
            self._tell(end, Happened.EOF)
            self._flush(self._other(end))

    def _end_of(self, side: Side) -> End:
        return self._near if side is Side.INITIATOR else self._far

    def _pass(self, end: End, data: bytes) -> None:
        """Send at once what goes, keep the rest."""
        went = self._send(end, data) if end.open and not end.waiting else 0
        if went < len(data):
            end.waiting += data[went:]
            self._watch(end)

    def _flush(self, end: End) -> None:
        """Send what waits; when all has gone and the other side has finished, say so; when both know, it is over."""
        other = self._other(end)
        while end.open and end.waiting and (went := self._send(end, end.waiting)):
            del end.waiting[:went]
        if end.open and not end.waiting and other.told and not end.passed_on:
            end.passed_on = True
            with contextlib.suppress(OSError):  # whoever has gone meanwhile shows it when read
                end.sock.shutdown(socket.SHUT_WR)
        self._check(end)
        if end.passed_on and other.passed_on:
            self.end()
        self._watch(end)
        self._watch(other)

    def _send(self, end: End, data: bytes | bytearray) -> int:
        """How many bytes went; one that has gone swallows them all, and what it sent before is still to be read."""
        try:
            return end.sock.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            end.gone = True
            return len(data)

    def _check(self, end: End) -> None:
        """One that has gone, and of which nothing more is to be read, has reset the link."""
        # Not as soon as sending fails: what it sent before it went may still be unread, and would be missing in the recording.
        if end.gone and end.finished and not self.over:
            self._break(end, "reset")

    def _break(self, end: End, how: str) -> None:
        """One side has gone: the other learns it as a reset, after what was sent before."""
        self._blame(end, how)
        if self._changed is not None and end.side is self._changed.side:
            for data in (*self._held.take(math.inf), self._changed.rest()):
                self._go_on(end, data)
        self._tell(end, Happened.RESET)
        other = self._other(end)
        if other.open:
            # A reset throws away what the kernel still holds, and the other side would miss what was sent before. One more go for it,
            # without waiting.
            if other.waiting:
                self._send(other, other.waiting)
            other.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.end()

    def _blame(self, end: End, how: str) -> None:
        """Whoever ends it first has ended it."""
        if self.passed.first is None:
            self.passed.first, self.passed.how = end.side, how

    def _watch(self, end: End) -> None:
        """Wait for what this end can do next, and for nothing else."""
        if self.over:
            return
        interest = 0
        # Who does not read holds the sender back, as without a tap; without the bound the tap would hide it, and grow.
        if end.open and not end.finished and len(self._other(end).waiting) + self._held.size < HELD:
            interest |= selectors.EVENT_READ
        if not end.open or end.waiting:
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

    def _tell(self, end: End, kind: Happened, data: bytes = b"") -> None:
        self._record(self.passed.name, end.side, kind, data)


def _prepare(sock: socket.socket) -> None:
    sock.setblocking(False)
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
