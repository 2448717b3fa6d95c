"""JOIN and the numbers after it on multicast, and SCOUT and HELLO (message-reference#join, scouting)."""

from __future__ import annotations

from typing import Any, Final
from zlib import crc32

from zenoh_conformance.judging.law import Law, law
from zenoh_conformance.messages import Fragment, Frame, Hello, Join, Scout, sane
from zenoh_conformance.messages.join import QoS
from zenoh_conformance.reading.connection import Nature, Seen
from zenoh_conformance.reading.conversation import Event, Side
from zenoh_conformance.reading.pieces import SN_MASK

from .reserved import ReservedBits

ON_MULTICAST: Final = frozenset({Nature.MULTICAST})
IN_SCOUTING: Final = frozenset({Nature.SCOUTING})

REORDERED: Final = 256
"""Numbers by which a datagram may be late: one overtakes another, and a JOIN may follow a FRAME that it does not count."""

DELAYED: Final = 1.0
"""Seconds after which a JOIN counts every FRAME before it; a FRAME may have waited in its lane for longer than a JOIN."""

LOST: Final = 1 << 20
FASTEST: Final = 1e7
"""Messages that may be lost at once, and that a node sends in a second, at most: a number further on was never the next one."""

PERIOD: Final = 60.0
"""Seconds for which a sender may say no JOIN, at least; known implementations say it every 2.5 seconds."""

HEARD: Final = 10.0
"""Seconds between two messages of a sender that was there all the time, at least."""


class _Whole(Law):
    """What begins like a message, at the beginning of a datagram, is one to its end, and one that its receivers need not reject.

    They reject an unknown mandatory extension (primitives#extensions); the decoder does, too, except in scouting.
    """

    mid = 0
    """The id of the message."""
    kind = ""
    first = False
    """The datagram has just begun."""

    def on_batch(self, seen: Seen, batch: bytes) -> None:
        """What comes next is its first message."""
        self.first = True

    def on_alone(self, seen: Seen, message: Any) -> None:
        began, self.first = self.first, False
        if began and seen.raw and seen.raw[0] & 0x1F == self.mid:
            self.subject(seen)
            self.require(
                seen.kind == self.kind, at=seen, path=self.kind, why=f"what begins like {self.kind.upper()} is none"
            )
            for unknown in seen.diagnostics:
                mandatory = unknown.kind == "unknown-extension" and unknown.why.endswith("mandatory")
                self.require(not mandatory, at=seen, path=f"{self.kind}.{unknown.path}", why=unknown.why)


@law("message-reference/join-field-order")
class JoinIsWhole(_Whole):
    """JOIN has all its fields, in their order, with values that they can have."""

    natures = ON_MULTICAST
    mid, kind = 0x07, "join"


@law("scouting/scout-field-order")
class ScoutIsWhole(_Whole):
    """SCOUT has all its fields, in their order, with values that they can have."""

    natures = IN_SCOUTING
    mid, kind = 0x01, "scout"


@law("scouting/hello-field-order")
class HelloIsWhole(_Whole):
    """HELLO has all its fields, in their order, with values that they can have."""

    natures = IN_SCOUTING
    mid, kind = 0x02, "hello"


@law("message-reference/join-packed-reserved")
class JoinPackedReserved(ReservedBits):
    """Bits 3:2 of JOIN's packed byte are zero."""

    natures = ON_MULTICAST
    path = "join.packed"

    def on_join(self, seen: Seen, join: Join) -> None:
        self.judge_bits(seen)


@law("scouting/hello-packed-reserved")
class HelloPackedReserved(ReservedBits):
    """Bits 3:2 of HELLO's packed byte are zero."""

    natures = IN_SCOUTING
    path = "hello.packed"

    def on_hello(self, seen: Seen, hello: Hello) -> None:
        self.judge_bits(seen)


@law("scouting/scout-flags-5-6")
class ScoutFlagsReserved(ReservedBits):
    """Bits 5 and 6 of SCOUT's header are zero."""

    natures = IN_SCOUTING
    path = "scout.header"

    def on_scout(self, seen: Seen, scout: Scout) -> None:
        self.judge_bits(seen)


@law("scouting/hello-flag-6")
class HelloFlagReserved(ReservedBits):
    """Bit 6 of HELLO's header is zero."""

    natures = IN_SCOUTING
    path = "hello.header"

    def on_hello(self, seen: Seen, hello: Hello) -> None:
        self.judge_bits(seen)


@law("scouting/own-scout-unanswered")
class HelloGoesToOthers(Law):
    """No HELLO goes to its own sender: only the connections of a capture, `SENDER > RECEIVER udp`, tell who both are."""

    natures = IN_SCOUTING

    def on_hello(self, seen: Seen, hello: Hello) -> None:
        sender, between, receiver = seen.connection.removesuffix(" udp").partition(" > ")
        if between:
            self.subject(seen)
            self.require(
                sender != receiver, at=seen, path="hello", expected="HELLO to another node", got="one to itself"
            )


@law("message-reference/join-sent-periodically")
class JoinIsRepeated(Law):
    """
    Who goes on speaking on multicast says JOIN again within a minute, or within twice its lease. No page states the period.

    Who was not heard for longer than its lease may have been away, as may the capture: the time begins anew.
    """

    natures = ON_MULTICAST

    def __init__(self) -> None:
        super().__init__()
        self.since: dict[Side, float] = {}
        """When each sender said JOIN, or was heard again."""
        self.heard: dict[Side, float] = {}
        self.lease: dict[Side, float] = {}

    def on_alone(self, seen: Seen, message: Any) -> None:
        side = seen.sender
        if side in self.since:
            lease = self.lease[side]
            if seen.time - self.heard[side] > max(lease, HEARD):
                self.since[side] = seen.time
            self.subject(seen)
            holds = seen.time - self.since[side] <= max(PERIOD, 2 * lease)
            self.require(holds, at=seen, path="join", expected="JOIN again", got="none for long")
        if isinstance(message, Join):
            self.since[side], self.lease[side] = seen.time, seconds_of_lease(message)
        self.heard[side] = seen.time


@law("join/numbers-go-on")
class NumbersGoOnFromJoin(Law):
    """The number that JOIN tells for a channel, and those of the FRAMEs and FRAGMENTs there, never go back, and none is used twice.
    Nor do they go further on than what can have been lost between them.

    A JOIN with another ZID, or after silence for the lease, is that of a node which has come back: it begins anew.
    """

    natures = ON_MULTICAST

    def __init__(self) -> None:
        super().__init__()
        self.next: dict[tuple[Side, bool, int], int] = {}
        """Each channel's next number, by sender, reliability and priority."""
        self.told: dict[tuple[Side, bool, int], float] = {}
        """When each channel's last number was told."""
        self.mask: dict[Side, int] = {}
        self.joined: dict[Side, Join] = {}
        """Each sender's last JOIN."""
        self.heard: dict[Side, float] = {}
        """When each sender said something last."""
        self.used: dict[tuple[Side, bool, int], dict[int, tuple[int, Event]]] = {}
        """Each channel's last numbers, and what had each, when: the network may bring one datagram twice."""

    def on_join(self, seen: Seen, join: Join) -> None:
        """Note the numbers of the lanes that the JOIN has: eight with QoS, else one."""
        before = self.joined.get(seen.sender)
        if before is not None and (
            before.zid != join.zid or seen.time - self.heard[seen.sender] >= seconds_of_lease(before)
        ):
            self.next = {channel: number for channel, number in self.next.items() if channel[0] is not seen.sender}
            self.used.clear()
        self.joined[seen.sender], self.heard[seen.sender] = join, seen.time
        resolution = sane.DEFAULT_RESOLUTION if join.resolution is None else join.resolution
        self.mask[seen.sender] = SN_MASK[resolution & 3]
        for priority, reliable, best_effort in told_numbers(join):
            self._judge(seen, (seen.sender, True, priority), reliable, "join.next_sn_reliable")
            self._judge(seen, (seen.sender, False, priority), best_effort, "join.next_sn_best_effort")

    def on_frame(self, seen: Seen, message: Frame | Fragment) -> None:
        if seen.channel is not None and seen.sender in self.mask:
            self.heard[seen.sender] = seen.time
            channel = (seen.sender, *seen.channel)
            self._judge(seen, channel, message.sn, f"{seen.kind}.sn", following=1)
            self._judge_use(seen, self.used.setdefault(channel, {}), message.sn)

    on_fragment = on_frame

    def _judge_use(self, seen: Seen, used: dict[int, tuple[int, Event]], number: int) -> None:
        """Judge that no other message had the number, and keep it among the last ones."""
        told = (crc32(seen.raw), seen.event)
        before = used.get(number)
        if before is None:
            used[number] = told
        fresh = before is None or (before[0] == told[0] and before[1] is not told[1])
        self.require(fresh, at=seen, path=f"{seen.kind}.sn", expected="a number of its own", got="one of another")
        if len(used) > REORDERED:
            del used[next(iter(used))]

    def _judge(self, seen: Seen, channel: tuple[Side, bool, int], number: int, path: str, following: int = 0) -> None:
        """Judge a number against the last one of its channel, and keep the next one where it is further on."""
        mask, last = self.mask[seen.sender], self.next.get(channel)
        if last is not None:
            self.subject(seen)
            stale = path.startswith("join") and seen.time - self.told[channel] >= DELAYED
            late = 0 if stale else REORDERED
            on = (number - last + late) & mask
            holds = number <= mask and on <= (mask >> 1) + late
            self.require(holds, at=seen, path=path, expected="a number after the last one", got="one before it")
            near = not holds or on <= LOST + FASTEST * max(0.0, seen.time - self.told[channel])
            self.require(near, at=seen, path=path, expected="the number after the last one", got="one far after it")
        if last is None or (number - last) & mask <= mask >> 1:
            self.next[channel], self.told[channel] = (number + following) & mask, seen.time


def seconds_of_lease(join: Join) -> float:
    """The lease that a JOIN states, in seconds."""
    return join.lease / (1 if join.lease_in_seconds else 1000)


def told_numbers(join: Join) -> list[tuple[int, int, int]]:
    """The (priority, reliable number, best-effort number) of each lane: those of QoS replace those in the body (join#qos)."""
    lanes = join.exts.get(QoS)
    if lanes is None:
        return [(sane.DEFAULT_PRIORITY, join.next_sn_reliable, join.next_sn_best_effort)]
    return [(priority, lane.reliable, lane.best_effort) for priority, lane in enumerate(lanes.sns)]


@law("batching/sn-within-resolution")
class NumbersFitTheJoin(Law):
    """Every number on multicast is inside the resolution that the sender's JOIN states."""

    natures = ON_MULTICAST

    def __init__(self) -> None:
        super().__init__()
        self.mask: dict[Side, int] = {}

    def on_join(self, seen: Seen, join: Join) -> None:
        self.mask[seen.sender] = SN_MASK[(sane.DEFAULT_RESOLUTION if join.resolution is None else join.resolution) & 3]

    def on_frame(self, seen: Seen, message: Frame | Fragment) -> None:
        if (most := self.mask.get(seen.sender)) is not None:
            self.subject(seen)
            self.require(
                message.sn <= most,
                at=seen,
                path=f"{seen.kind}.sn",
                expected=f"at most {most:#x}",
                got="a larger number",
            )

    on_fragment = on_frame
