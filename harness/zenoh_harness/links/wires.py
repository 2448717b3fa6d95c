"""Wires: links for cases and dialogues, with every event recorded in a conversation."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Protocol

from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_harness.links.links import LinkEvent, Observer, RecordedLink
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline

SENDING = 10.0
"""Seconds after which bytes that a peer does not read count as lost."""


class Reachable(Protocol):
    """A node to which a wire can be opened."""

    @property
    def side(self) -> Side:
        """RESPONDER if it listens, INITIATOR if it connects to us."""

    @property
    def locator(self) -> Locator:
        """The address at which it listens, or at which we do."""

    def link(self, deadline: Deadline, observer: Observer | None = None) -> RecordedLink:
        """Open or accept a new link. Raises CannotConnect after the deadline."""


class Recorder:
    """Records the conversation of one check: the events of several links in order."""

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.began = time.monotonic()
        self._lock = threading.Lock()

    def note(self, event: Event) -> None:
        """Append an event."""
        with self._lock:
            self.conversation.events.append(event)

    def wire(self, node: Reachable, name: str, deadline: Deadline) -> LinkWire:
        """Open or accept a new link, recorded under `name`. Raises CannotConnect after the deadline."""
        return LinkWire.open(node, name, self, deadline)


class LinkWire:
    """One recorded link: a `zenoh_conformance.talking.scene.Wire`."""

    def __init__(self, name: str, target: Side, recorder: Recorder) -> None:
        self.name = name
        self.side = target.other
        self._target = target
        self._recorder = recorder
        self._link: RecordedLink | None = None
        self._held_up: Callable[[float], float] = lambda _since: math.inf
        self.done = False
        """Whether we have ended the link, or our direction of it."""
        self.told_end = False
        """Whether `receive` has returned the target's end."""

    @classmethod
    def open(cls, node: Reachable, name: str, recorder: Recorder, deadline: Deadline) -> LinkWire:
        """A wire over a new link of `node`."""
        wire = cls(name, node.side, recorder)
        names = ("harness", "target") if node.side is Side.RESPONDER else ("target", "harness")
        recorder.conversation.connections[name] = Connection(
            name, node.locator.protocol, node.locator.framing, initiator=names[0], responder=names[1]
        )
        wire._link = node.link(deadline, wire._observe)
        wire._held_up = getattr(node, "held_up", wire._held_up)
        return wire

    @property
    def raw(self) -> RecordedLink:
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
        """Send bytes unchanged; they are lost if the link has ended."""
        self.raw.send(data, Deadline.after(SENDING))

    def receive(self, within: float) -> Event | None:
        """The next event of the target; its end is returned once, and after it None at once."""
        if self.told_end:
            return None
        event = self.raw.receive(Deadline(time.monotonic() + within))
        if event is None:
            return None
        self.told_end = event.ended
        return self._event(event)

    def held_up(self, since: float) -> float:
        """Seconds for which the target could not run since a time of `now`; infinite where that cannot be seen."""
        return self._held_up(self._recorder.began + since)

    def half_closed(self) -> bool:
        """Whether the target ended its own direction only. Call it after the last send."""
        return self.raw.half_closed()

    def finish(self) -> None:
        """End our direction (FIN); receiving is still possible."""
        self.done = True
        self.raw.finish()

    def reset(self) -> None:
        """Reset the link."""
        self.done = True
        self.raw.abort()

    def shut(self) -> None:
        """Close the link."""
        self.done = True
        self.raw.close()

    def _observe(self, event: LinkEvent) -> None:
        self._recorder.note(self._event(event))

    def _event(self, event: LinkEvent) -> Event:
        sender = self.side if event.ours else self._target
        if event.what is Happened.OPEN:
            sender = Side.INITIATOR
        began = self._recorder.began
        return Event(event.time - began, self.name, sender, event.what, event.data, waited=event.waited)
