"""Nodes that put what they say on other channels, links and numbers than the reference, into fuller frames, or not at all."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

from zenoh_conformance import sane
from zenoh_conformance.codec import encode
from zenoh_conformance.messages import Close, Frame, Push
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.link import Link

from . import variant


@dataclass(slots=True)
class Filling:
    """A FRAME that is filled."""

    reliable: bool
    lane: int
    messages: list[Any] = field(default_factory=list)
    size: int = 16
    """Bytes of its head at most, and of what it holds."""


@variant("fills-frames", permitted="message-reference#frame: one or more network messages")
class FillsFrames(Reference):
    """Puts what it has to say on one channel at a time into one FRAME, as far as it fits."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.filling: dict[str, Filling] = {}

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if link.inside is not None or link.terms.lowlatency or not link.live:
            super().say(link, message, reliable=reliable)
            return
        now, size = Filling(reliable, self.lane_of(link, message)), len(encode(message))
        frame = self.filling.get(link.name, now)
        other = (frame.reliable, frame.lane) != (now.reliable, now.lane)
        if other or frame.size + size > self.room(link):
            self.let_go(link)
            frame = now
        if frame.size + size > self.room(link):
            super().say(link, message, reliable=reliable)
            return
        frame.messages.append(message)
        frame.size += size
        self.filling[link.name] = frame

    def let_go(self, link: Link) -> None:
        """Send the FRAME that is filled, if one is."""
        frame = self.filling.pop(link.name, None)
        if frame is not None:
            exts = Exts(() if frame.lane == sane.DEFAULT_PRIORITY else (sane.lane(frame.lane),))
            sn = self.next_sn(link, frame.reliable, frame.lane)
            full = Frame(reliable=frame.reliable, sn=sn, exts=exts, messages=tuple(frame.messages))
            self.send_batch(link, encode(full))

    def send(self, link: Link, *messages: Any) -> None:
        self.let_go(link)
        super().send(link, *messages)

    def end(self, link: Link) -> None:
        self.let_go(link)
        super().end(link)

    def drain(self) -> list[Action]:
        for link in list(self.links.values()):
            self.let_go(link)
        self.filling.clear()
        return super().drain()


@variant("says-all-with-best-effort", permitted="message-reference#frame: R; who sends chooses the channel")
class SaysAllWithBestEffort(Reference):
    """Says everything on the best-effort channel."""

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        super().say(link, message, reliable=False)


@variant(
    "skips-numbers",
    permitted="frame-format: a receiver takes what is a little ahead; the baseline leaves one out after fragments",
)
class SkipsNumbers(Reference):
    """Leaves up to eight numbers out between two messages of a channel."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.turn = count(1)

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        super().say(link, message, reliable=reliable)
        channel = (reliable, self.lane_of(link, message))
        if channel in link.tx:
            link.tx[channel] = (link.tx[channel] + next(self.turn) % 9) & self.sn_mask(link)


@variant("drops-what-may-be-dropped", permitted="qos#congestion-control: D and F clear: may be lost under congestion")
class DropsWhatMayBeDropped(Reference):
    """Has room for eight publications that may be dropped, in the moment in which they come; more are dropped."""

    ROOM: ClassVar = 8

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.queued: dict[str, tuple[float, int]] = {}

    def say(self, link: Link, message: Any, **how: Any) -> None:
        if link.inside is not None or not isinstance(message, Push) or blocks(message) or self.has_room(link):
            super().say(link, message, **how)

    def has_room(self, link: Link) -> bool:
        """Whether one more has room now; it takes it."""
        at, some = self.queued.get(link.session, (self.now, 0))
        some = some if at == self.now else 0
        self.queued[link.session] = (self.now, some + 1)
        return some < self.ROOM


def blocks(push: Push) -> bool:
    """Whether a publication waits where there is no room."""
    qos = push.exts.get(QoS)
    return qos is not None and (qos.block or qos.block_first)


@variant(
    "urgent-goes-first",
    permitted="qos: each priority is a lane of its own, in no order among each other; batching#flush",
)
class UrgentGoesFirst(Reference):
    """Flushes by a timer, and then sends the urgent before the rest, and of one lane what goes with best effort before the reliable."""

    LATER: ClassVar = 0.02
    """Seconds."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.waiting: dict[str, list[tuple[Any, bool]]] = defaultdict(list)
        self.due: dict[str, float] = {}

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if link.inside is not None or link.terms.lowlatency or not link.terms.qos:
            super().say(link, message, reliable=reliable)
        else:
            self.due.setdefault(link.name, self.now + self.LATER)
            self.waiting[link.name].append((message, reliable))

    def let_go(self, link: Link) -> None:
        """Say what waits."""
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
    "takes-turns-on-links",
    permitted="session-establishment: a session has several links; no page says which carries what",
)
class TakesTurnsOnLinks(Reference):
    """Says what it has to say in a session of several links on one after the other."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.turn = count()

    def say(self, link: Link, message: Any, **how: Any) -> None:
        if link.inside is None:
            every = [one for one in self.links.values() if one.live and one.session == link.session]
            link = every[next(self.turn) % len(every)] if every else link
        super().say(link, message, **how)
