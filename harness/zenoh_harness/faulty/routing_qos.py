"""Nodes that route, and are wrong in what a message without QoS is, or in which may be lost."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.messages import Declare, Interest, NetworkOam, Push
from zenoh_conformance.messages.network import QoS
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import faulty

MOST = 32
"""Publications that go on before anybody has read."""


@faulty(
    "hears-declarations-with-qos-only",
    caught_by="qos-defaults/a-declaration-without-qos-is-data",
    also={"routing-extensions/what-is-declared*": "it has none"},
)
class HearsDeclarationsWithQosOnly(Reference):
    """Takes a DECLARE without QoS for none."""

    def on_declare(self, link: Link, declare: Declare) -> None:
        if declare.exts.get(QoS) is not None:
            super().on_declare(link, declare)


@faulty(
    "hears-interests-with-qos-only",
    caught_by="qos-defaults/an-interest-without-qos-is-data",
    also={"*": "whatever asks for declarations does so without QoS"},
)
class HearsInterestsWithQosOnly(Reference):
    """Takes an INTEREST without QoS for none."""

    def on_interest(self, link: Link, interest: Interest) -> None:
        if interest.exts.get(QoS) is not None:
            super().on_interest(link, interest)


@faulty("ends-with-an-oam", caught_by="qos-defaults/an-oam-without-qos-is-data")
class EndsWithAnOam(Reference):
    """Lets a session end at a network OAM in the lane of Data: it takes one without QoS for Control."""

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        if isinstance(message, NetworkOam) and message.exts.get(QoS) is None:
            self.refuse(link, 2)
        else:
            super().route(link, message, reliable=reliable)


class _Bounded(Reference):
    """Has room for so many publications at a time."""

    most = MOST

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.gone = 0
        """Publications since something else came."""

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        self.gone = self.gone + 1 if isinstance(message, Push) else 0
        super().route(link, message, reliable=reliable)

    def full(self, push: Push) -> bool:
        """Whether there is no room for it."""
        return self.gone > self.most


@faulty(
    "drops-what-must-wait",
    caught_by="congestion/what-must-not-be-dropped-is-not",
    also={
        "session-lanes/numbers-of-every-lane-wrap": "more values come than it keeps",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "more values come than it keeps",
    },
)
class DropsWhatMustWait(_Bounded):
    """Drops what finds no room, whatever its QoS says."""

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        if not self.full(push):
            super().on_push(link, push, reliable=reliable)


@faulty(
    "serves-the-newest-first", caught_by="congestion/what-may-be-dropped-comes-in-order",
    also={
        "congestion/*": "so are all that find no room",
        "session-lanes/numbers-of-every-lane-wrap": "more values come than it keeps",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "more values come than it keeps",
    },
)  # fmt: skip
class ServesTheNewestFirst(_Bounded):
    """Passes on at once what finds no room, and what came before it once more."""

    last: Push | None = None

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        super().on_push(link, push, reliable=reliable)
        if self.full(push) and self.last is not None:
            super().on_push(link, self.last, reliable=reliable)
        self.last = push


@faulty(
    "turns-round-what-finds-no-room", caught_by="congestion/what-may-be-dropped-comes-in-order",
    values=({"count": 120, "size": 8},),
    also={
        "session-lanes/numbers-of-every-lane-wrap": "more values come than it keeps",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "more values come than it keeps",
    },
)  # fmt: skip
class TurnsRoundWhatFindsNoRoom(_Bounded):
    """Has room for more than is said by day. What finds none waits, and goes on when something else comes, the newest first."""

    most = 100

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.waiting: list[tuple[Link, Push, bool]] = []

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        while self.waiting and not isinstance(message, Push):
            sender, push, how = self.waiting.pop()
            super().on_push(sender, push, reliable=how)
        super().route(link, message, reliable=reliable)

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        if self.full(push):
            self.waiting.append((link, push, reliable))
        else:
            super().on_push(link, push, reliable=reliable)


@faulty("drops-what-waits-first", caught_by="congestion/of-those-that-wait-first-one-comes")
class DropsWhatWaitsFirst(Reference):
    """Does not know BlockFirst, and drops what says so."""

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        qos = push.exts.get(QoS)
        if qos is None or not qos.block_first:
            super().on_push(link, push, reliable=reliable)
