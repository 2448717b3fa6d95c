"""The tap: a proxy between two nodes that records both directions and changes messages only by rules (`changing.py`).

    initiator  ---->  tap  ---->  responder        one thread, any number of links
               <----       <----

Bytes are forwarded before they are recorded; a FIN is forwarded as a FIN, a reset as a reset. TLS ends at the tap, on either side:
its locators name the certificate that initiators accept, and the authority of the responder's (`tls.py`). Two things differ from a link
without a tap: the tap accepts a link before the far side does, and an unreachable far side shows as a reset instead of a
refused connection.
"""

from __future__ import annotations

import contextlib
import errno
import selectors
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Final, Self

from zenoh_conformance.messages import Init
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.wire import registry
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files import conversations
from zenoh_harness.links.changed import ChangedSide
from zenoh_harness.links.changing import Rule
from zenoh_harness.links.datagrams import DatagramDoor
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import listening, socket_address
from zenoh_harness.links.relay import CHUNK, CLOSE, CONNECTING, Passed, Relay, RelayEnd
from zenoh_harness.links.tls import TlsSocket, connecting_context, listening_context, name_to_verify

MOST_MET: Final = 4096
"""Addresses of ended links of datagrams that a tap knows, at most."""

PASSED_ON: Final = ("tcp", "udp", "tls", "unixsock-stream")
"""The protocols of links that the tap passes on."""

Sink = Callable[[Event], None]
Change = Callable[[str], ChangedSide]
"""Makes the changer of a link from the link's name."""


class Tap:
    """Listens at `listen` and opens a link to `to` for each accepted one; `sink` receives every event, in order.

    Call `serve` in your own thread, or use the tap as a context manager, which serves in another thread.
    """

    def __init__(
        self,
        listen: Locator,
        to: Locator,
        sink: Sink,
        *,
        on_end: Callable[[Passed], None] | None = None,
        change: Change | None = None,
    ) -> None:
        """`sink` receives the events after `change`.

        Raises CannotConnect when the address cannot be used, UsageError for an unsupported protocol.
        """
        for each in (to, listen):
            _check_protocol(each)
        if listen.framing is not to.framing:
            mixed = f"{listen} and {to} cut their batches in different ways"
            raise UsageError(mixed, step="link", hint="listen and connect over UDP, or neither")
        self.to = to
        self.conversation = Conversation(about={"to": str(to)})
        """The connections by name; its events go to the sink instead."""
        self._family, self._address = socket_address(to)
        self._listens = listening_context(listen) if listen.protocol == "tls" else None
        self._connects = connecting_context(to) if to.protocol == "tls" else None
        """The TLS of each side; None without."""
        self._door, self.locator = listening(listen)
        self._datagrams = DatagramDoor(self._door) if listen.framing is Framing.DATAGRAM else None
        self._met: dict[object, None] = {}
        """The last addresses that had a link of datagrams: what they send after its end is no new link, unless it is INIT."""
        self._sink = sink
        self._on_end = on_end
        self._change = change
        self._began = time.monotonic()
        self._names = (f"link-{number}" for number in count(1))
        self.newest = 0.0
        """The time of the newest link, on `time.monotonic()`."""
        self._relays: set[Relay] = set()
        self._awaited: set[Relay] = set()
        """The relays whose far side has not accepted yet."""
        self._selector = selectors.DefaultSelector()
        self._bell, self._rope = socket.socketpair()
        self._rope.setblocking(False)
        self._selector.register(self._door, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._thread: threading.Thread | None = None
        self._failed: Exception | None = None
        self._leaving = False
        self._barred = False
        self._cut_all = threading.Event()

    def serve(self) -> None:
        """Forward and record until `leave` is called, then end every link. Raises what the sink raises."""
        try:
            while not self._leaving:
                for key, ready in self._selector.select(self._patience()):
                    if isinstance(key.data, RelayEnd):
                        key.data.relay.on_ready(key.data, ready)
                        self._settle(key.data.relay)
                    elif key.fileobj is self._door:
                        self._accept()
                    else:
                        self._bell.recv(CHUNK)
                self._give_up_on_the_late()
                if self._change is not None:
                    self._release()
                if self._barred and not self._cut_all.is_set():
                    self._cut()
        finally:
            self._shut()

    def bar(self) -> None:
        """Cut every link and refuse new ones; returns when done. Call it from any thread but the tap's."""
        self._cut_all.clear()
        self._barred = True
        self._ring()
        self._cut_all.wait(CONNECTING)

    def unbar(self) -> None:
        """Accept new links again."""
        self._barred = False

    def leave(self) -> None:
        """Make `serve` return. Callable from any thread or signal handler, any number of times."""
        self._leaving = True
        self._ring()

    def _ring(self) -> None:
        """Wake the serving thread."""
        with contextlib.suppress(OSError):  # it has left already, or its buffer is full of wake-ups
            self._rope.send(b"x")

    def close(self) -> None:
        """Make `serve` return and wait for its thread, if there is one. Raises the error that stopped it."""
        self.leave()
        if self._thread is not None:
            self._thread.join()
        if self._failed is not None:
            raise self._failed

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._serve_in_thread, name="tap", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve_in_thread(self) -> None:
        try:
            self.serve()
        except Exception as why:  # noqa: BLE001  raised again in the thread that closes the tap
            self._failed = why

    def _patience(self) -> float | None:
        """Seconds until the first far side is late or delayed bytes are due; None when neither is awaited."""
        times = [relay.awaited.remaining() for relay in self._awaited if relay.awaited]
        if self._change is not None:
            times += [max(0.0, relay.due - time.monotonic()) for relay in self._relays if relay.due is not None]
        return min(times, default=None)

    def _release(self) -> None:
        for relay in tuple(self._relays):
            relay.release()
            self._settle(relay)

    def _give_up_on_the_late(self) -> None:
        for relay in [relay for relay in self._awaited if relay.awaited and relay.awaited.passed]:
            relay.give_up()
            self._settle(relay)

    def _accept(self) -> None:
        """Accept a link and connect to the far side. Raises CannotGoOn when no descriptor is left."""
        first = b""
        try:
            far = socket.socket(self._family, socket.SOCK_STREAM if self._datagrams is None else socket.SOCK_DGRAM)
            if self._datagrams is None:
                near, address = self._door.accept()
            else:
                near, address, first, _ = self._datagrams.accept()
        except OSError as why:
            if why.errno in (errno.EMFILE, errno.ENFILE):
                many = f"{len(self._relays)} links are too many"
                raise CannotGoOn(many, step="tap", seen=str(why), hint="raise ulimit -n") from why
            far.close()  # the initiator has already left
            return
        if (late := self._is_straggler(address, first)) or self._barred:
            if late:
                with contextlib.suppress(OSError):
                    near.send(CLOSE)  # its sender may not have read the first one
            near.close()
            far.close()
            return
        near, far = self._secure(near, far)
        passed = Passed(next(self._names), _origin(address, self.locator))
        self.conversation.connections[passed.name] = Connection(
            passed.name, self.to.protocol, self.to.framing, initiator=passed.initiator, responder=str(self.to)
        )
        self.newest = time.monotonic()
        changed = self._change(passed.name) if self._change else None
        relay = Relay(self._selector, near, far, passed, self._record, changed)
        self._relays.add(relay)
        relay.begin(self._address, first)
        self._settle(relay)

    def _is_straggler(self, address: object, datagram: bytes) -> bool:
        """Return whether a datagram belongs to a link that has ended: its sender goes on until it has read CLOSE."""
        if self._datagrams is None:
            return False
        is_known = address in self._met
        self._met[address] = None
        if len(self._met) > MOST_MET:
            del self._met[next(iter(self._met))]
        return is_known and not (datagram and datagram[0] & 0x1F == registry.of(Init).id)

    def _secure(self, near: socket.socket, far: socket.socket) -> tuple[socket.socket, socket.socket]:
        """Return the two sockets, with TLS where the locator of their side has it."""
        if self._listens is not None:
            near = TlsSocket(near, self._listens, server_side=True)
        if self._connects is not None:
            far = TlsSocket(far, self._connects, server_side=False, name=name_to_verify(self.to))
        return near, far

    def _cut(self) -> None:
        for relay in tuple(self._relays):
            relay.cut()
            self._settle(relay)
        self._cut_all.set()

    def _settle(self, relay: Relay) -> None:
        """Update the sets of relays after an event on a link."""
        if relay.awaited:
            self._awaited.add(relay)
        else:
            self._awaited.discard(relay)
        if relay.over and relay in self._relays:
            self._relays.discard(relay)
            if self._on_end is not None:
                self._on_end(relay.passed)

    def _shut(self) -> None:
        for relay in tuple(self._relays):
            relay.end()
            self._settle(relay)
        for resource in (self._selector, self._door, self._bell, self._rope):
            resource.close()
        if self.locator.protocol == "unixsock-stream":
            Path(self.locator.address).unlink(missing_ok=True)

    def _record(self, name: str, side: Side, kind: Happened, data: bytes) -> None:
        self._sink(Event(time.monotonic() - self._began, name, side, kind, data))


def _check_protocol(locator: Locator) -> None:
    """Raise UsageError for a protocol whose links the tap cannot pass on."""
    if locator.protocol not in PASSED_ON:
        hint = f"use {' or '.join(name + '/' for name in PASSED_ON)}"
        raise UsageError(f"links over {locator.protocol} are not supported by the tap", step="link", hint=hint)


def change_of(
    rules: Sequence[Rule], side: Side, met: Counter[Rule] | None = None, framing: Framing = Framing.STREAM
) -> Change | None:
    """The changer of a tap for the messages of `side`; None without rules. `met` counts the changes of each rule."""
    return (lambda name: ChangedSide(rules, side, name, met, framing)) if rules else None


class Recording:
    """A conversation file that grows while the tap runs; readable at any time, complete once closed."""

    def __init__(self, path: Path) -> None:
        """Raises CannotGoOn when the file cannot be written."""
        self.path = path
        try:
            self._writer = conversations.ConversationWriter(path, Conversation())
        except OSError as why:
            raise CannotGoOn(f"cannot write {path}", step="record", seen=str(why)) from why

    def __call__(self, event: Event) -> None:
        """Add an event. Raises CannotGoOn when it cannot be written; earlier events stay in the file."""
        try:
            self._writer.event(event)
        except OSError as why:
            raise CannotGoOn(f"cannot go on writing {self.path}", step="record", seen=str(why)) from why

    def close(self, conversation: Conversation) -> None:
        """Complete the file: put the connections, which were unknown at its beginning, into the first line.

        Raises CannotGoOn when that cannot be written; the file stays readable, without the names of its connections.
        """
        self._writer.close()
        complete = self.path.with_name(self.path.name + ".complete")
        try:
            with self.path.open(encoding="utf-8") as old, complete.open("w", encoding="utf-8") as new:
                new.writelines(conversations.lines(Conversation(conversation.connections, [], conversation.about)))
                old.readline()
                shutil.copyfileobj(old, new)
            complete.replace(self.path)
        except OSError as why:
            complete.unlink(missing_ok=True)
            raise CannotGoOn(f"cannot complete {self.path}", step="record", seen=str(why)) from why


def _origin(address: object, locator: Locator) -> str:
    """The address of an initiator; on a Unix socket it has none."""
    if isinstance(address, tuple):
        return str(Locator.of(locator.protocol, str(address[0]), int(address[1])))
    return f"{locator.protocol}/"
