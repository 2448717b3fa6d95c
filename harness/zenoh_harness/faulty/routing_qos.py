"""Routers with faults in messages without QoS, and in congestion control."""

from __future__ import annotations

from functools import cached_property

from zenoh_conformance.messages import NetworkOam, Push
from zenoh_conformance.messages.network import QoS
from zenoh_harness.reference import Link, Reference, before

from . import fault, faulty


class _Bounded(Reference):
    """Base of nodes with a bounded queue of publications."""

    most = 32
    gone = 0
    """Publications since the last other message."""

    def route(self, link, message, **options):
        self.gone = self.gone + 1 if isinstance(message, Push) else 0
        super().route(link, message, **options)

    def full(self, push):
        """Whether the queue is full."""
        return self.gone > self.most


fault(
    "hears-declarations-with-qos-only",
    "Ignores a DECLARE without QoS.",
    on_declare=lambda base, declare: base() if declare.exts.get(QoS) is not None else None,
    caught_by="qos-defaults/a-declaration-without-qos-is-data",
    also={"routing-extensions/what-is-declared*": "the declaration has no QoS"},
)
fault(
    "hears-interests-with-qos-only",
    "Ignores an INTEREST without QoS.",
    on_interest=lambda base, interest: base() if interest.exts.get(QoS) is not None else None,
    caught_by="qos-defaults/an-interest-without-qos-is-data",
    also={"*": "the cases send INTEREST without QoS"},
)
fault(
    "ends-with-an-oam",
    "Closes the session at a network OAM without QoS.",
    route=lambda node, base, link, message: (
        node.refuse(link, 2) if isinstance(message, NetworkOam) and message.exts.get(QoS) is None else base()
    ),
    caught_by="qos-defaults/an-oam-without-qos-is-data",
)
fault(
    "sends-a-batch-in-the-lane-of-its-first-message",
    "Forwards all that came in one batch in the lane of the first of it.",
    on_batch=before(lambda node: node.lane.clear()),
    lane_of=lambda node, base: node.lane.setdefault("first", base()),
    state={"lane": dict},
    caught_by="routing-lanes/what-came-in-one-batch-keeps-its-lanes-and-fits",
)
fault(
    "drops-what-must-wait",
    "Drops publications when its queue is full, whatever their congestion control.",
    of=_Bounded,
    on_push=lambda node, base, push: base() if not node.full(push) else None,
    caught_by="congestion/what-must-not-be-dropped-is-not",
    also={
        "session-lanes/numbers-of-every-lane-wrap": "the case sends more values than its queue holds",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "the case sends more values than its queue holds",
    },
)


fault(
    "drops-what-waits-first",
    "Drops publications with BlockFirst.",
    on_push=lambda base, push: None if any(qos.block_first for qos in push.exts if isinstance(qos, QoS)) else base(),
    caught_by="congestion/of-those-that-wait-first-one-comes",
)


@faulty(
    caught_by="congestion/what-may-be-dropped-comes-in-order",
    also={
        "congestion/*": "it does so with all publications that exceed its queue",
        "session-lanes/numbers-of-every-lane-wrap": "the case sends more values than its queue holds",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "the case sends more values than its queue holds",
    },
)
class ServesTheNewestFirst(_Bounded):
    """Repeats the previous publication when its queue is full."""

    last: Push | None = None

    def on_push(self, link, push, **options):
        super().on_push(link, push, **options)
        if self.full(push) and self.last is not None:
            super().on_push(link, self.last, **options)
        self.last = push


@faulty(
    caught_by="congestion/what-may-be-dropped-comes-in-order",
    values=({"count": 120, "size": 8},),
    also={
        "session-lanes/numbers-of-every-lane-wrap": "the case sends more values than its queue holds",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "the case sends more values than its queue holds",
    },
)
class TurnsRoundWhatFindsNoRoom(_Bounded):
    """Queues publications past a hundred and forwards them newest first when another message comes."""

    most = 100

    waiting = cached_property(lambda node: list[tuple[Link, Push, bool]]())

    def route(self, link, message, **options):
        while self.waiting and not isinstance(message, Push):
            sender, push, how = self.waiting.pop()
            super().on_push(sender, push, reliable=how)
        super().route(link, message, **options)

    def on_push(self, link, push, *, reliable=True):
        if self.full(push):
            self.waiting.append((link, push, reliable))
        else:
            super().on_push(link, push, reliable=reliable)
