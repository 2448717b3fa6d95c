"""Channels, lanes, fragments and leases as a Hypothesis state machine: any division of publications gives the same deliveries.

One session publishes in four channels, another one subscribes. Publications are divided into batches, FRAMEs and FRAGMENTs as drawn;
numbers are left out, chains lose a fragment or are given up, and the publisher comes back with other terms. The oracle is a list for
each channel; the receive window (`laws/window.py`) judges what the node sends, at the end with every other law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Final, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from zenoh_conformance.cases.session.fragments import in_pieces, push
from zenoh_conformance.messages import Drop, Fragment, Frame, KeepAlive, Push, sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.names import root_of_scene
from zenoh_conformance.talking import Party, Scene
from zenoh_conformance.wire import exts

from . import blame
from .living import TIME_IS_FREE
from .modelled import Known, judged, unless_known

REQUIREMENT = "fragmentation/fragments-reassemble"
DELIVERED: Final = "push/push-reaches-intersecting"
ALSO = (
    DELIVERED, "fragmentation/lost-fragment-discards-chain", "fragmentation/drop-discards", "fragmentation/fragments-consecutive",
    "fragmentation/no-message-between-fragments", "fragmentation/more-until-last", "fragmentation/first-marked",
    "batching/sn-ahead-of-last", "message-reference/fragment-shares-frame-sn-space",
)  # fmt: skip
"""Requirements whose breach it finds as well; each was shown to it once."""
NEEDS = ("stream", "routing", "several-sessions", "interests", "finals", "qos")
BREAKS = ("law/first-fragments-are-marked", "law/fragment-numbers-follow", "law/what-is-said-decodes")
"""Laws that our own side breaks in it on purpose."""
SHARE = 0.4
"""Of the runs that a model has: one run says as much as several cases."""
SMALL: Final = 512
"""Bytes of the batches that the subscriber takes: larger values come back in fragments."""

Channel = tuple[bool, int]
CHANNELS: Final[Sequence[Channel]] = ((True, 5), (False, 5), (True, 2), (False, 2))
"""(reliable, priority)."""

LEAST = 512
"""Bytes of the smallest batch in which what is drawn has room; a target with a smaller one is judged by the cases."""


class Publication(NamedTuple):
    """How one publication is said."""

    channel: Channel
    size: int
    pieces: int
    """Fragments; 1 for a FRAME."""
    joins: bool
    """Whether it goes into the FRAME before, if that is of its channel."""
    behind: bool
    """Whether it goes behind what is in the batch."""


channels = st.sampled_from(CHANNELS)
said = st.builds(Publication, channels, st.sampled_from((4, 40, 900)), st.integers(1, 4), st.booleans(), st.booleans())


class Transporting(RuleBasedStateMachine):
    """Subclass it with a `stage`; see `machine`."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[Known] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.values: dict[Channel, list[bytes]] = {channel: [] for channel in CHANNELS}
        """What the subscriber has to get, by the channel in which it was said."""
        self.pieces_of: dict[bytes, int] = {}
        """In how many fragments a value was said."""
        self.count = 0
        self.may_skip: set[Channel] = set()
        """Channels whose last number was used: the first one is never left out, and those before the next message are once."""

    @initialize(fsn=st.integers(0, 2), batch=st.sampled_from((SMALL, 65535)))
    def arrive(self, fsn: int, batch: int) -> None:
        """A subscriber and a publisher."""
        us = self.scene.session("subscriber", batch_size=batch, exts=sane.offers("QoS", patch=1))
        self.subscriber = Party(us, "subscriber", root_of_scene(us.zid))
        self.subscriber.declares_subscriber("k")
        self.publisher = self.publishing(fsn)

    def publishing(self, fsn: int) -> Party:
        """A session that publishes, with numbers of that resolution."""
        us = self.scene.session("publisher", resolution=fsn | 2 << 2, exts=sane.offers("QoS", patch=1))
        return Party(us, "publisher", self.subscriber.root)

    # -- steps

    @precondition(lambda self: self.publisher.us.room >= LEAST)
    @rule(several=st.lists(said, min_size=1, max_size=5))
    def say(self, several: list[Publication]) -> None:
        """Publish, divided as drawn."""
        batches = self.divide([each._replace(channel=self.channel_of(each.channel)) for each in several])
        for batch in batches:
            self.publisher.us.send(*batch)
        whole = all(len(batch) == 1 for batch in batches) and any(isinstance(batch[0], Fragment) for batch in batches)
        self.all_came(REQUIREMENT if whole else DELIVERED)

    @precondition(lambda self: self.publisher.us.room >= LEAST)
    @rule(one=channels, other=channels)
    def say_in_turn(self, one: Channel, other: Channel) -> None:
        """Fragments of two channels in turn make two messages."""
        pair = {self.channel_of(one), self.channel_of(other)}
        chains = [self.pieces(channel, self.value(channel, 300), 3) for channel in sorted(pair)]
        for piece in chain.from_iterable(zip(*chains, strict=True)):
            self.publisher.us.send(piece)
        self.all_came(REQUIREMENT)

    @precondition(lambda self: self.publisher.us.room >= LEAST)
    @rule(priority=st.sampled_from((5, 2)), lost=st.integers(0, 2))
    def lose(self, priority: int, lost: int) -> None:
        """A fragment of best effort is lost: the message is, too. Without markers nobody can tell which one the first or last was."""
        channel = self.channel_of((False, priority))
        lost = lost if channel in self.may_skip else max(lost, 1)  # the first number of a channel is used
        us = self.publisher.us
        if lost == 1 or us.patch == 0:  # what is left would make a message
            first, last = self.pieces(channel, self.fresh(300), 2)
            us.send(first)
            us.send(replace(last, sn=us.next_sn(*channel)))
        else:
            pieces = self.pieces(channel, self.fresh(300), 3)
            for piece in pieces[1:] if lost == 0 else pieces[:-1]:
                us.send(piece)
        self.nothing_more_came("fragmentation/lost-fragment-discards-chain")

    @precondition(lambda self: self.publisher.us.patch > 0 and self.publisher.us.room >= LEAST)
    @rule(channel=channels)
    def give_up(self, channel: Channel) -> None:
        """A message is given up with Drop."""
        settled, us = self.channel_of(channel), self.publisher.us
        *pieces, last = self.pieces(settled, self.fresh(300), 3)
        lane = [] if settled[1] == sane.DEFAULT_PRIORITY else [sane.lane(settled[1])]
        for piece in (*pieces, replace(last, more=True)):
            us.send(piece)
        us.send(replace(last, sn=us.next_sn(*settled), exts=exts(*lane, Drop()), payload=b""))
        self.nothing_more_came("fragmentation/drop-discards")

    @rule(channel=channels, count=st.integers(1, 20))
    def leave_numbers_out(self, channel: Channel, count: int) -> None:
        """Numbers may be left out, by less than half the range."""
        settled = self.channel_of(channel)
        if settled in self.may_skip:
            self.may_skip.discard(settled)
            for _ in range(count):
                self.publisher.us.next_sn(*settled)

    @rule(times=st.integers(1, 3))
    def keep_alive(self, times: int) -> None:
        """KEEP_ALIVE takes no number."""
        self.publisher.us.send(*[KeepAlive()] * times)

    @rule(fsn=st.integers(0, 2), politely=st.booleans())
    def come_back(self, fsn: int, politely: bool) -> None:
        """The publisher leaves, and another one comes with other terms."""
        if politely:
            self.publisher.us.send(sane.close())
            with self.publisher.us.about(blame.CLOSED):
                self.publisher.us.expect_end(step="after Close")
        self.publisher.us.wire.shut()
        self.publisher, self.may_skip = self.publishing(fsn), set()

    @precondition(lambda self: self.scene.fact(TIME_IS_FREE, False) and self.publisher.us.room >= LEAST)
    @rule(half=st.booleans())
    def pause(self, half: bool) -> None:
        """A session lives on through a silence of less than its lease, in the middle of a message, too."""
        us = self.publisher.us
        pieces = self.pieces((True, 5), self.value((True, 5), 300), 2) if half else []
        us.send(*pieces[:1]) if half else None
        us.listen(0.6 * us.lease)
        for piece in pieces[1:]:
            us.send(piece)
        with us.about("session-establishment/any-message-renews-lease"):
            us.require(us.ended is None, expected="a session that lives", got=us.text_of(None), step="within its lease")
        self.all_came(REQUIREMENT)

    # -- what is said

    def channel_of(self, channel: Channel) -> Channel:
        """The channel, or that of the default lane where no lanes are settled."""
        return (
            channel if self.publisher.has_lanes and self.subscriber.has_lanes else (channel[0], sane.DEFAULT_PRIORITY)
        )

    def fresh(self, size: int) -> bytes:
        """A value that was not said before."""
        self.count += 1
        return self.count.to_bytes(4, "big") * (size // 4)

    def value(self, channel: Channel, size: int) -> bytes:
        """A value that the subscriber has to get."""
        value = self.fresh(size)
        self.values[channel].append(value)
        self.may_skip.add(channel)
        return value

    def pieces(self, channel: Channel, value: bytes, count: int) -> list[Fragment]:
        """A publication in fragments."""
        self.pieces_of[value] = count
        reliable, priority = channel
        message = push(self.publisher, "k", value, priority)
        return in_pieces(self.publisher, message, count, reliable=reliable, priority=priority)

    def divide(self, several: Sequence[Publication]) -> list[list[Any]]:
        """Batches of transport messages; a FRAGMENT is the last of its batch."""
        batches: list[list[Any]] = []
        for each in several:
            value = self.value(each.channel, each.size)
            last = batches[-1][-1] if batches else None
            if each.pieces > 1:
                units: list[Any] = list(self.pieces(each.channel, value, each.pieces))
            elif each.joins and isinstance(last, Frame) and (last.reliable, priority_of(last)) == each.channel:
                joined = (*last.messages, push(self.publisher, "k", value, each.channel[1]))
                batches[-1][-1] = replace(last, messages=joined)
                continue
            else:
                units = [self.frame(each.channel, value)]
            for unit in units:
                behind = each.behind and batches and not isinstance(batches[-1][-1], Fragment)
                batches[-1].append(unit) if behind else batches.append([unit])
        return list(self.fitting(batches))

    def fitting(self, batches: Sequence[Sequence[Any]]) -> Sequence[list[Any]]:
        """The batches, of which one that is too large is sent as one for each message."""
        room = self.publisher.us.room
        each = (
            [batch] if sum(len(encode(unit)) for unit in batch) <= room else [[unit] for unit in batch]
            for batch in batches
        )
        return [list(batch) for batch in chain.from_iterable(each)]

    def frame(self, channel: Channel, value: bytes) -> Frame:
        """A publication in a FRAME."""
        reliable, priority = channel
        lane = None if priority == sane.DEFAULT_PRIORITY else priority
        return self.publisher.us.frame(push(self.publisher, "k", value, priority), reliable=reliable, priority=lane)

    # -- what comes

    def came(self) -> list[bytes]:
        """Values that the subscriber has got."""
        return [heard.message.body.payload for heard in self.subscriber.heard(Push)]

    def all_came(self, requirement: str) -> None:
        """Each value comes, and those of one channel in their order."""
        with self.publisher.us.about(blame.LIVES):
            self.publisher.settles("the publisher's session")
        us = self.subscriber.us
        with unless_known(us, self.known, requirement):
            here = self.is_here() or (self.say_again() and self.is_here())
            us.require(here, expected="Push", got="silence", step="what was said")
            order = self.came()
            for values in self.values.values():
                mine = [value for value in order if value in values]
                us.require(mine == values, expected="each once, in order", got="another order", step="what was said")

    def is_here(self) -> bool:
        """Whether each value comes."""
        wanted = {value for values in self.values.values() for value in values}
        return self.subscriber.awaits(lambda: wanted <= set(self.came()))

    def say_again(self) -> bool:
        """Say what is missing of best effort once more, which a busy node may lose, in as many fragments; whether there was any."""
        lost = [
            (channel, value)
            for channel in CHANNELS
            if not channel[0]
            for value in self.values[channel]
            if value not in self.came()
        ]
        for channel, value in lost:
            self.values[channel].remove(value)
            self.values[channel].append(value)
            for unit in (
                self.pieces(channel, value, self.pieces_of[value])
                if value in self.pieces_of
                else [self.frame(channel, value)]
            ):
                self.publisher.us.send(unit)
        return bool(lost)

    def nothing_more_came(self, requirement: str) -> None:
        """What was lost or given up does not come, and what comes after it does."""
        self.all_came(DELIVERED)
        wanted = {value for values in self.values.values() for value in values}
        us = self.subscriber.us
        with unless_known(us, self.known, requirement):
            us.require(set(self.came()) <= wanted, expected="no Push", got="Push", step="what was not whole")

    def teardown(self) -> None:
        """Let go, and let the laws judge."""
        for party in (getattr(self, "publisher", None), getattr(self, "subscriber", None)):
            if party is not None:
                party.us.wire.shut()
        judged(self.scene, Side.RESPONDER, self.known, BREAKS)


def machine(stage: Callable[[], Scene], known: Known = frozenset()) -> type[Transporting]:
    """The machine for a stage: every run of it begins with a new scene."""
    return type("TransportingOnStage", (Transporting,), {"stage": staticmethod(stage), "known": known})
