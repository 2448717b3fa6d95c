"""The tap: a proxy between two nodes that records both directions, and changes nothing unless rules say so (`changing.py`).

    initiator  ---->  tap  ---->  responder        one thread, any number of links
               <----       <----

What arrives is handed on before it is recorded; an end is handed on as an end, half or whole, a reset as a reset.
Only two things are not as without it: a link is accepted before the far side has agreed, and a far side that cannot be
reached shows as a reset instead of a refusal.
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
from typing import Self

from zenoh_conformance.conversation import Connection, Conversation, Event, Happened, Side
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files import conversations
from zenoh_harness.links.changed import ChangedSide
from zenoh_harness.links.changing import Rule
from zenoh_harness.links.links import listening, socket_address
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.relay import CHUNK, CONNECTING, End, Passed, Relay

Sink = Callable[[Event], None]
Change = Callable[[str], ChangedSide]
"""By a link's name: what is changed on it."""


class Tap:
    """Listens at `listen`, opens one link to `to` for each that comes in; `sink` gets every event, in order.

    Run it with `serve` in a thread of one's own, or use it as a context manager, which runs it beside.
    """

    def __init__(
        self, listen: Locator, to: Locator, sink: Sink, *, on_end: Callable[[Passed], None] | None = None,
        change: Change | None = None,
    ) -> None:  # fmt: skip
        """`sink` gets what goes on, as `change` made it.

        Raises CannotConnect when nobody may listen there, UsageError for a protocol that is not spoken.
        """
        self.to = to
        self.conversation = Conversation(about={"to": str(to)})
        """Names the connections; the events go to the sink."""
        self._family, self._address = socket_address(to)
        self._door, self.locator = listening(listen)
        self._sink = sink
        self._on_end = on_end
        self._change = change
        self._began = time.monotonic()
        self._names = (f"link-{number}" for number in count(1))
        self.newest = 0.0
        """When the newest link was let through, on `time.monotonic()`."""
        self._relays: set[Relay] = set()
        self._awaited: set[Relay] = set()
        """Those whose far side has not accepted yet."""
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
        """Pass on and record until `leave` is called; then every link is ended. Raises what the sink raises."""
        try:
            while not self._leaving:
                for key, ready in self._selector.select(self._patience()):
                    if isinstance(key.data, End):
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
        """Cut every link, and let none through from now on; from any thread but the tap's. Returns when it is done."""
        self._cut_all.clear()
        self._barred = True
        self._ring()
        self._cut_all.wait(CONNECTING)

    def unbar(self) -> None:
        """Links are let through again."""
        self._barred = False

    def leave(self) -> None:
        """Make `serve` return; from any thread or signal handler, any number of times."""
        self._leaving = True
        self._ring()

    def _ring(self) -> None:
        """Wake the thread that serves."""
        with contextlib.suppress(OSError):  # it has left already, or has not listened for long
            self._rope.send(b"x")

    def close(self) -> None:
        """Leave, and wait for the thread beside, if there is one; raises what stopped it before."""
        self.leave()
        if self._thread is not None:
            self._thread.join()
        if self._failed is not None:
            raise self._failed

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._serve_beside, name="tap", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve_beside(self) -> None:
        try:
            self.serve()
        except Exception as why:  # noqa: BLE001  raised again in the thread that closes the tap
            self._failed = why

    def _patience(self) -> float | None:
        """Seconds until the first far side is late, or something that is held back may go on; None when nothing is awaited."""
        late = [each.awaited.remaining() for each in self._awaited if each.awaited]
        if self._change is not None:
            late += [max(0.0, each.due - time.monotonic()) for each in self._relays if each.due is not None]
        return min(late, default=None)

    def _release(self) -> None:
        for relay in tuple(self._relays):
            relay.release()
            self._settle(relay)

    def _give_up_on_the_late(self) -> None:
        for relay in [each for each in self._awaited if each.awaited and each.awaited.passed]:
            relay.give_up()
            self._settle(relay)

    def _accept(self) -> None:
        """A link comes in: name it, and open the other half. Raises CannotGoOn when there is no descriptor left."""
        try:
            far = socket.socket(self._family, socket.SOCK_STREAM)
            near, address = self._door.accept()
        except OSError as why:
            if why.errno in (errno.EMFILE, errno.ENFILE):
                many = f"{len(self._relays)} links are too many"
                raise CannotGoOn(many, step="tap", seen=str(why), hint="raise ulimit -n") from why
            far.close()  # whoever came has left again
            return
        if self._barred:
            near.close()
            far.close()
            return
        passed = Passed(next(self._names), _told(address, self.locator))
        self.conversation.connections[passed.name] = Connection(
            passed.name, self.to.protocol, initiator=passed.initiator, responder=str(self.to)
        )
        self.newest = time.monotonic()
        changed = self._change(passed.name) if self._change else None
        relay = Relay(self._selector, near, far, passed, self._record, changed)
        self._relays.add(relay)
        relay.begin(self._address)
        self._settle(relay)

    def _cut(self) -> None:
        for relay in tuple(self._relays):
            relay.cut()
            self._settle(relay)
        self._cut_all.set()

    def _settle(self, relay: Relay) -> None:
        """Keep the books after something happened to a link."""
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
        for each in (self._selector, self._door, self._bell, self._rope):
            each.close()
        if self.locator.protocol == "unixsock-stream":
            Path(self.locator.address).unlink(missing_ok=True)

    def _record(self, name: str, side: Side, kind: Happened, data: bytes) -> None:
        self._sink(Event(time.monotonic() - self._began, name, side, kind, data))


def change_of(rules: Sequence[Rule], side: Side, met: Counter[Rule] | None = None) -> Change | None:
    """What a tap needs to change what `side` says; None without rules. `met` counts what each rule changed."""
    return (lambda name: ChangedSide(rules, side, name, met)) if rules else None


class Recording:
    """A conversation file that grows while the tap runs; readable at any moment, complete once closed."""

    def __init__(self, path: Path) -> None:
        """Raises CannotGoOn when it cannot be written there."""
        self.path = path
        try:
            self._writer = conversations.ConversationWriter(path, Conversation())
        except OSError as why:
            raise CannotGoOn(f"cannot write {path}", step="record", seen=str(why)) from why

    def __call__(self, event: Event) -> None:
        """Add an event. Raises CannotGoOn when the disk refuses; what was written stays."""
        try:
            self._writer.event(event)
        except OSError as why:
            raise CannotGoOn(f"cannot go on writing {self.path}", step="record", seen=str(why)) from why

    def close(self, conversation: Conversation) -> None:
        """No more will come: put the connections, which nobody knew at the beginning, into the first line.

        Raises CannotGoOn when there is no room for that; the file stays as it grew, readable without their names.
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


def _told(address: object, locator: Locator) -> str:
    """Where an initiator came from; one on a Unix socket has no name."""
    if isinstance(address, tuple):
        return str(Locator.tcp(str(address[0]), int(address[1])))
    return f"{locator.protocol}/"
