"""Wires: links as cases and dialogues see them, every event recorded in a conversation."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from zenoh_conformance.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_harness.links.links import Link, LinkEvent, Observer
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline

SENDING = 10.0
"""Seconds after which a peer that reads nothing has lost what we send."""


class Reachable(Protocol):
    """What a wire needs of a node: which side it is, where it is reached, and a fresh link to it."""

    @property
    def side(self) -> Side:
        """RESPONDER when it listens, INITIATOR when it comes to us."""

    @property
    def locator(self) -> Locator:
        """Where it listens, or where we do."""

    def link(self, deadline: Deadline, observer: Observer | None = None) -> Link:
        """A fresh link, opened or accepted; CannotConnect when there is none in time."""


class Recorder:
    """The conversation of one check: events of several links in the order in which they were seen."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.began = time.monotonic()
        self._lock = threading.Lock()

    def note(self, event: Event) -> None:
        """Append an event."""
        with self._lock:
            self.conversation.events.append(event)

    def wire(self, node: Reachable, name: str, deadline: Deadline) -> LinkWire:
        """A new link to a node, opened or accepted, recorded under `name`; CannotConnect when there is none in time."""
        return LinkWire.open(node, name, self, deadline)


class LinkWire:
    """One recorded link: a `zenoh_conformance.scene.Wire`."""

    def __init__(self, name: str, target: Side, recorder: Recorder) -> None:
        self.name = name
        self.side = target.other
        self._target = target
        self._recorder = recorder
        self._link: Link | None = None
        self.done = False
        """Whether we have ended it, or our direction of it."""
        self.told_end = False
        """Whether the target's end was received: nothing comes any more."""

    @classmethod
    def open(cls, node: Reachable, name: str, recorder: Recorder, deadline: Deadline) -> LinkWire:
        """A wire over a fresh link of `node`."""
        wire = cls(name, node.side, recorder)
        names = ("harness", "target") if node.side is Side.RESPONDER else ("target", "harness")
        recorder.conversation.connections[name] = Connection(
            name, node.locator.protocol, Framing.STREAM, initiator=names[0], responder=names[1]
        )
        wire._link = node.link(deadline, wire._observe)
        return wire

    @property
    def raw(self) -> Link:
        """The link below."""
        assert self._link is not None
        return self._link

    @property
    def framing(self) -> Framing:
        """Stream or datagram."""
        return self.raw.framing

    @property
    def link(self) -> str:
        """The link protocol, as in `tcp`."""
        return self.raw.locator.protocol

    def now(self) -> float:
        """Seconds since the conversation began."""
        return time.monotonic() - self._recorder.began

    def send(self, data: bytes) -> None:
        """Put bytes on the link as they are; a link that has gone swallows them."""
        self.raw.send(data, Deadline.after(SENDING))

    def receive(self, within: float) -> Event | None:
        """The next thing that the target does; an end is told once, after it there is None at once."""
        if self.told_end:
            return None
        event = self.raw.receive(Deadline(time.monotonic() + within))
        if event is None:
            return None
        self.told_end = event.ended
        return self._event(event)

    def half_closed(self) -> bool:
        """Whether the target ended its own direction only. To be asked when all is said."""
        return self.raw.half_closed()

    def finish(self) -> None:
        """Send no more (FIN), go on reading."""
        self.done = True
        self.raw.finish()

    def reset(self) -> None:
        """End the link at once."""
        self.done = True
        self.raw.abort()

    def shut(self) -> None:
        """End the link in order."""
        self.done = True
        self.raw.close()

    def _observe(self, event: LinkEvent) -> None:
        self._recorder.note(self._event(event))

    def _event(self, event: LinkEvent) -> Event:
        sender = self.side if event.ours else self._target
        if event.what is Happened.OPEN:
            sender = Side.INITIATOR
        return Event(event.time - self._recorder.began, self.name, sender, event.what, event.data)
