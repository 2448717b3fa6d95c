"""Nodes that use other channels, links and sequence numbers than the reference node, fill frames, or drop publications."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

from zenoh_conformance.messages import Close, Frame, Push, sane
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import Action, Base, Link, Reference

from . import row, variant

ID, FRAGMENT = 0x1F, 0x06
"""The bits of a header that tell the message, and what they are in a FRAGMENT."""


class _HoldsBack(Reference):
    """Collects the messages for each link until the current call has produced all, or the link ends."""

    held_back = cached_property(lambda node: dict[str, Any]())

    def let_go(self, link: Link) -> None:
        """Send the collected messages of a link."""
        raise NotImplementedError

    def end(self, link: Link) -> None:
        self.let_go(link)
        super().end(link)

    def drain(self) -> list[Action]:
        for link in list(self.links.values()):
            self.let_go(link)
        self.held_back.clear()
        return super().drain()


@dataclass(slots=True)
class Filling:
    """A FRAME to which messages are added."""

    reliable: bool
    lane: int
    messages: list[Any] = field(default_factory=list)
    size: int = 16
    """Bytes of its head at most, and of what it holds."""


@variant(permitted="message-reference#frame: one or more network messages")
class FillsFrames(_HoldsBack):
    """Sends all messages of one channel that are due at a time in one FRAME, as far as they fit."""

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if link.inside is not None or link.terms.lowlatency or not link.live:
            super().say(link, message, reliable=reliable)
            return
        now, size = Filling(reliable, self.lane_of(link, message)), len(encode(message))
        frame = self.held_back.get(link.name, now)
        other = (frame.reliable, frame.lane) != (now.reliable, now.lane)
        if other or frame.size + size > self.room(link):
            self.let_go(link)
            frame = now
        if frame.size + size > self.room(link):
            super().say(link, message, reliable=reliable)
            return
        frame.messages.append(message)
        frame.size += size
        self.held_back[link.name] = frame

    def let_go(self, link: Link) -> None:
        frame = self.held_back.pop(link.name, None)
        if frame is not None:
            exts = Exts(() if frame.lane == sane.DEFAULT_PRIORITY else (sane.lane(frame.lane),))
            sn = self.next_sn(link, frame.reliable, frame.lane)
            full = Frame(reliable=frame.reliable, sn=sn, exts=exts, messages=tuple(frame.messages))
            self.send_batch(link, encode(full))

    def send(self, link: Link, *messages: Any) -> None:
        self.let_go(link)
        super().send(link, *messages)


@variant(permitted="erratum several-messages-per-batch")
class SeveralMessagesABatch(_HoldsBack):
    """Sends all messages that are due at a time in one batch, as far as they fit; a FRAGMENT is the last of its batch."""

    def send_batch(self, link: Link, batch: bytes) -> None:
        if not link.live or link.terms.lowlatency:
            super().send_batch(link, batch)
            return
        if len(self.held_back.get(link.name, b"")) + len(batch) > self.room(link):
            self.let_go(link)
        self.held_back[link.name] = self.held_back.get(link.name, b"") + batch
        if batch[0] & ID == FRAGMENT:
            self.let_go(link)

    def let_go(self, link: Link) -> None:
        if held := self.held_back.pop(link.name, b""):
            super().send_batch(link, held)


row(
    "says-all-with-best-effort",
    "Sends everything on the best-effort channel.",
    permitted="message-reference#frame: R; the sender chooses the channel",
    say=lambda base: base(reliable=False),
)


@variant(
    "say",
    permitted="frame-format: a receiver takes what is a little ahead; the baseline leaves one out after fragments",
    state={"turn": lambda: count(1)},
)
def skips_numbers(node: Any, base: Base[None], link: Link, message: Any, *, reliable: bool = True) -> None:
    """Skips up to eight sequence numbers between two messages of a channel, and with best effort before the first one, too."""
    channel = (reliable, node.lane_of(link, message))
    if not reliable and channel not in link.tx and not link.terms.lowlatency:
        node.next_sn(link, *channel)
    base(link, message, reliable=reliable)
    if channel in link.tx:
        link.tx[channel] = (link.tx[channel] + next(node.turn) % 9) & node.sn_mask(link)


@variant("say", permitted="qos#congestion-control: D and F clear: may be lost under congestion", state={"queued": dict})
def drops_what_may_be_dropped(node: Any, base: Base[None], link: Link, message: Any, **how: Any) -> None:
    """Queues at most eight droppable publications at a time, and drops more."""
    if link.inside is not None or not isinstance(message, Push) or blocks(message):
        base(link, message, **how)
        return
    at, queued = node.queued.get(link.session, (node.now, 0))
    queued = queued + 1 if at == node.now else 1
    node.queued[link.session] = (node.now, queued)
    if queued <= 8:
        base(link, message, **how)


def blocks(push: Push) -> bool:
    """Whether a publication waits where there is no room."""
    qos = push.exts.get(QoS)
    return qos is not None and (qos.block or qos.block_first)


@variant(
    permitted="qos: each priority is a lane of its own, in no order among each other; batching#flush",
)
class UrgentGoesFirst(Reference):
    """Flushes by a timer, and then sends the urgent before the rest, and of one lane what goes with best effort before the reliable."""

    waiting = cached_property(lambda node: defaultdict[str, list[tuple[Any, bool]]](list))
    due = cached_property(lambda node: dict[str, float]())

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if link.inside is not None or link.terms.lowlatency or not link.terms.qos:
            super().say(link, message, reliable=reliable)
        else:
            self.due.setdefault(link.name, self.now + 0.02)
            self.waiting[link.name].append((message, reliable))

    def let_go(self, link: Link) -> None:
        """Send the waiting messages."""
        self.due.pop(link.name, None)
        waiting = self.waiting.pop(link.name, [])
        for message, reliable in sorted(waiting, key=lambda one: (self.lane_of(link, one[0]), one[1])):
            super().say(link, message, reliable=reliable)

    def send(self, link: Link, *messages: Any) -> None:
        if any(isinstance(message, Close) for message in messages):
            self.let_go(link)  # nothing comes behind CLOSE
        super().send(link, *messages)

    def end(self, link: Link) -> None:
        self.let_go(link)
        super().end(link)

    def drop(self, link: Link) -> None:
        self.due.pop(link.name, None)
        self.waiting.pop(link.name, None)
        super().drop(link)

    def tick(self, now: float) -> list[Action]:
        self.now = now
        for link in list(self.links.values()):
            if self.due.get(link.name, now + 1) <= now:
                self.let_go(link)
        return super().tick(now)


@variant(
    "say",
    permitted="session-establishment: a session has several links; no page says which carries what",
    state={"turn": count},
)
def takes_turns_on_links(node: Any, base: Base[None], link: Link, message: Any, **how: Any) -> None:
    """In a session of several links, sends each message on the next link."""
    if link.inside is None:
        links = [other for other in node.links.values() if other.live and other.session == link.session] or [link]
        link = links[next(node.turn) % len(links)]
    base(link, message, **how)
