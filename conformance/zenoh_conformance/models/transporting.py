"""Channels, lanes, fragments and leases as a Hypothesis state machine: any division of publications gives the same deliveries.

One session publishes in four drawn channels, another one subscribes. Publications are divided into batches, FRAMEs and FRAGMENTs as
drawn; numbers are left out, chains lose a fragment or are given up, what no receiver may take is sent, and the publisher comes back
with other terms. The oracle is a list for each channel; the receive window (`laws/window.py`) judges what the node sends, at the end
with every other law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from zenoh_conformance.cases.session.leases import send_each_kind
from zenoh_conformance.cases.session.settled_terms import LITTLE, listens
from zenoh_conformance.messages import Drop, First, Fragment, KeepAlive, Push, sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.reading.names import root_of_scene
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.talking import Dialogue, Party, Scene
from zenoh_conformance.wire import exts

from . import blame
from .divisions import (
    LANES,
    WRONG,
    Channel,
    Publication,
    amids,
    channels,
    divide,
    frame_of,
    pieces_of,
    resolutions,
    said,
    terms,
)
from .manners import TIME_IS_FREE
from .modelled import FIRSTS, Known, judged, mask_of, unless_known

REQUIREMENT = "fragmentation/fragments-reassemble"
DELIVERED: Final = "push/push-reaches-intersecting"
AGAIN: Final = 3
"""How often what is missing of best effort is said again: a router without a processor lost two of three, twice."""

LOST: Final = "fragmentation/lost-fragment-discards-chain"
PAST: Final = "batching/sn-outside-resolution-rejected"
KEPT_ALIVE: Final = "keep-alive/something-every-quarter-lease"
ALSO = (
    DELIVERED, LOST, "fragmentation/drop-discards", "fragmentation/fragments-consecutive",
    "fragmentation/no-message-between-fragments", "fragmentation/more-until-last", "fragmentation/first-marked",
    "batching/sn-ahead-of-last", "message-reference/fragment-shares-frame-sn-space",
    KEPT_ALIVE, *dict(WRONG),
)  # fmt: skip
"""Requirements whose breach it finds as well; each was shown to it once."""
NEEDS = ("stream", "routing", "several-sessions", "interests", "finals", "qos")
BREAKS = (
    "law/first-fragments-are-marked", "law/fragment-numbers-follow", "law/what-is-said-decodes", "law/sn-within-resolution",
)  # fmt: skip
"""Laws that our own side breaks in it on purpose."""
SHARE = 0.6
"""Of the runs that a model has: one run says as much as several cases."""
SMALL: Final = 512
"""Bytes of the batches that the subscriber takes: larger values come back in fragments."""
LEAST: Final = 512
"""Bytes of the smallest batch in which what is drawn has room; a target with a smaller one is judged by the cases."""

Terms = tuple[dict[str, Any], str, dict[str, Any]]
has_room = precondition(lambda self: self.publisher.us.room >= LEAST)


class Transporting(RuleBasedStateMachine):
    """Subclass it with a `stage`; see `machine`."""

    stage: ClassVar[Callable[[], Scene]]
    known: ClassVar[Known] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.scene = type(self).stage()
        self.values: dict[Channel, list[bytes]] = {}
        """What the subscriber has to get, by the channel in which it was said."""
        self.pieces_of: dict[bytes, int] = {}
        """In how many fragments a value was said."""
        self.alone: set[bytes] = set()
        """Values that were said in fragments with nothing else in their batches: one that is lost was not reassembled."""
        self.judged: set[bytes] = set()
        """Values that came and must not: each is judged once, and then passed over where it is known."""
        self.count = 0
        self.may_skip: set[Channel] = set()
        """Channels whose first number was used: it is never left out."""

    @initialize(
        pair=st.lists(st.sampled_from(LANES), min_size=2, max_size=2, unique=True), batch=st.sampled_from((SMALL, SMALL, 65535)),
        ours=terms, theirs=terms,
    )  # fmt: skip
    def arrive(self, pair: list[int], batch: int, ours: Terms, theirs: Terms) -> None:
        """A subscriber and a publisher, and the lanes of this run."""
        self.channels = [(reliable, priority) for priority in pair for reliable in (True, False)]
        us = self.session("subscriber", theirs, batch)
        self.subscriber = Party(us, "subscriber", root_of_scene(us.zid))
        self.subscriber.declares_subscriber("k")
        self.publisher = self.publishing(ours)

    def publishing(self, ours: Terms) -> Party:
        """A session that publishes, with those terms."""
        return Party(self.session("publisher", ours), "publisher", self.subscriber.root)

    def session(self, name: str, drawn: Terms, batch: int = sane.DEFAULT_BATCH) -> Dialogue:
        """A session with drawn terms."""
        (fields, first, lease), us = drawn, self.scene.dialogue(name)
        offers = sane.offers("QoS", "Compression", patch=1)
        with us.about(blame.INIT_IS_ANSWERED):
            syn = us.init_syn(**{"batch_size": batch, "exts": offers, **fields})
            ack = us.ask(syn, expect=InitAck, step="await-init: InitSyn")
        us.initial_sn = FIRSTS[first](mask_of(ack))
        with us.about(blame.OPEN_IS_ANSWERED):
            us.ask(us.open_syn(ack, **lease), expect=OpenAck, step="init-acked: OpenSyn")
        return us

    # -- steps

    @has_room
    @rule(several=st.lists(said, min_size=1, max_size=5))
    def say(self, several: list[Publication]) -> None:
        """Publish, divided as drawn."""
        whole = [
            self.publication(each)
            for each in several
            for _ in range(each.times if each.size == 4 else min(each.times, 3))
        ]
        for batch in divide(self.publisher, whole):
            self.publisher.us.send(*batch)
        self.all_came(DELIVERED)

    @has_room
    @rule(one=channels, other=channels, count=st.integers(2, 5))
    def say_in_turn(self, one: int, other: int, count: int) -> None:
        """Fragments of two channels in turn make two messages."""
        pair = {self.channel_of(one), self.channel_of(other)}
        chains = [self.pieces(channel, self.value(channel, 300), count) for channel in sorted(pair)]
        for piece in chain.from_iterable(zip(*chains, strict=True)):
            self.publisher.us.send(piece)
        self.all_came(REQUIREMENT)

    @has_room
    @rule(lane=st.integers(0, 1), lost=st.integers(0, 2), times=st.sampled_from((1, 3)), amid=amids)
    def lose(self, lane: int, lost: int, times: int, amid: str) -> None:
        """A fragment of best effort is lost: the message is, too. Without markers nobody can tell which one the first or last was."""
        channel = self.channel_of(2 * lane + 1)
        for _ in range(times):
            for piece in self.with_a_hole(channel, lost if channel in self.may_skip else max(lost, 1)):
                self.publisher.us.send_each(piece, *[KeepAlive()] * amid.startswith("KEEP_ALIVE"))
        self.nothing_more_came(LOST)

    def with_a_hole(self, channel: Channel, lost: int) -> list[Fragment]:
        """The fragments of a publication but one; what is left without the middle one would make a message."""
        us = self.publisher.us
        if lost == 1 or us.patch == 0:
            first, last = self.pieces(channel, self.fresh(300), 2)
            return [first, replace(last, sn=us.next_sn(*channel))]
        pieces = self.pieces(channel, self.fresh(300), 3)
        return pieces[1:] if lost == 0 else pieces[:-1]

    @precondition(lambda self: self.publisher.us.patch > 0 and self.publisher.us.room >= LEAST)
    @rule(channel=channels, kept=st.integers(1, 3), drops=st.booleans())
    def give_up(self, channel: int, kept: int, drops: bool) -> None:
        """A message is given up with Drop, after some of its fragments or all, or left before its end, as the next First says."""
        settled, us = self.channel_of(channel), self.publisher.us
        pieces = (
            self.pieces(settled, self.fresh(300), kept) if kept > 1 else self.pieces(settled, self.fresh(300), 2)[:1]
        )
        lane: list[Any] = [each for each in pieces[0].exts if not isinstance(each, First)]
        if not drops:
            pieces[-1] = replace(pieces[-1], payload=pieces[-1].payload[:-1])
        for piece in pieces:
            us.send(replace(piece, more=True))
        if drops:
            us.send(replace(pieces[0], more=False, sn=us.next_sn(*settled), exts=exts(*lane, Drop()), payload=b""))
        self.nothing_more_came("fragmentation/drop-discards")

    @has_room
    @rule(channel=channels, how=st.integers(0, len(WRONG) - 1))
    def say_wrongly(self, channel: int, how: int) -> None:
        """What no receiver may take comes to nobody; the session may end."""
        settled, (requirement, make) = self.channel_of(channel), WRONG[how]
        if requirement == PAST and self.publisher.us.sn_mask > SN_MASK[1]:  # no number is past a large resolution
            self.come_back((resolutions["fsn 0"], "zero", {}), politely=True)
        self.publisher.us.send(frame_of(self.publisher, settled, self.value(settled, 4)))  # it uses the first number
        self.all_came(DELIVERED)
        self.publisher.us.send_each(*make(self.publisher, settled, self.fresh(40)))
        if not self.publisher.us.works_or_is_over(step="what no receiver may take"):
            self.publisher.us.hang_up()
            self.publisher, self.may_skip = self.publishing(({}, "zero", {})), set()
        self.nothing_more_came(requirement, beside=1)

    @rule(ours=terms, politely=st.booleans())
    def come_back(self, ours: Terms, politely: bool) -> None:
        """The publisher leaves, and another one comes with other terms."""
        if politely:
            self.publisher.us.send(sane.close())
            with self.publisher.us.about(blame.CLOSED):
                self.publisher.us.expect_end(step="after Close")
        self.publisher.us.hang_up()
        self.publisher, self.may_skip = self.publishing(ours), set()

    @has_room
    @precondition(lambda self: self.scene.fact(TIME_IS_FREE, False))
    @rule(
        how=st.sampled_from(("is silent", "is silent in a message", "is idle", "is idle after work")), channel=channels
    )
    def rest(self, how: str, channel: int) -> None:
        """A session lives on through a silence of less than its lease, in a message, too; it is kept alive whatever was sent."""
        if how.startswith("is silent"):
            self.pause(self.channel_of(channel), half=how != "is silent")
        else:
            self.idle(works=how != "is idle")

    def pause(self, channel: Channel, *, half: bool) -> None:
        """Be silent for more than half a lease, with a message half said or not."""
        us = self.publisher.us
        pieces = self.pieces(channel, self.value(channel, 300), 2) if half else []
        us.send(*pieces[:1]) if half else None
        us.listen(0.6 * min(us.lease, 10))
        for piece in pieces[1:]:
            us.send(piece)
        with us.about("session-establishment/any-message-renews-lease"):
            us.require(us.ended is None, expected="a session that lives", got=us.text_of(None), step="within its lease")
        self.all_came(REQUIREMENT)

    def idle(self, *, works: bool) -> None:
        """Be idle in both sessions for longer than the target may be silent."""
        if works:
            self.count += 1
            send_each_kind(self.publisher, self.subscriber, f"to/subscriber/{self.count}")
            send_each_kind(self.subscriber, self.publisher, f"to/publisher/{self.count}")
        both = [self.publisher.us, self.subscriber.us]
        lease = max(sane.lease_of(us.their_open) for us in both)
        with both[0].about(KEPT_ALIVE), both[1].about(KEPT_ALIVE):
            listens(both, 1.5 * lease / 4 + both[0].unit / 4, min(lease / 5, LITTLE))

    # -- what is said

    def publication(self, drawn: Publication) -> tuple[Publication, Channel, bytes]:
        """A publication with its channel and a value; numbers are left out before it where they may be."""
        channel = self.channel_of(drawn.channel)
        drawn = drawn if channel in self.may_skip else drawn._replace(skips=0)
        value = self.value(channel, drawn.size)
        if drawn.pieces > 1:
            self.pieces_of[value] = drawn.pieces
            self.alone |= set() if drawn.behind else {value}
        return drawn, channel, value

    def channel_of(self, at: int) -> Channel:
        """A channel of the run, or that of the default lane where no lanes are settled."""
        channel = self.channels[at]
        lanes = self.publisher.has_lanes and self.subscriber.has_lanes
        return channel if lanes else (channel[0], sane.DEFAULT_PRIORITY)

    def fresh(self, size: int) -> bytes:
        """A value that was not said before."""
        self.count += 1
        return self.count.to_bytes(4, "big") * (size // 4)

    def value(self, channel: Channel, size: int) -> bytes:
        """A value that the subscriber has to get."""
        most = self.scene.fact("message_size")
        value = self.fresh(size if most is None else min(size, most // 2))
        self.values.setdefault(channel, []).append(value)
        self.may_skip.add(channel)
        return value

    def pieces(self, channel: Channel, value: bytes, count: int) -> list[Fragment]:
        """A publication in fragments."""
        self.pieces_of[value] = count
        return pieces_of(self.publisher, channel, value, count)

    # -- what comes

    def came(self) -> list[bytes]:
        """Values that the subscriber has got."""
        key = self.subscriber.whole("k")
        return [heard.message.body.payload for heard in self.subscriber.heard(Push) if heard.key == key]

    def all_came(self, requirement: str) -> None:
        """Each value comes, and those of one channel in their order."""
        with self.publisher.us.about(blame.LIVES):
            self.publisher.settles("the publisher's session")
        us = self.subscriber.us
        here = self.is_here() or any(self.say_again() and self.is_here() for _ in range(AGAIN))
        with unless_known(us, self.known, REQUIREMENT if not here and self.missing() <= self.alone else requirement):
            us.require(here, expected="Push", got="silence", step="what was said")
            order = self.came()
            for values in self.values.values():
                wanted = set(values)
                mine = [value for value in order if value in wanted]
                us.require(mine == values, expected="each once, in order", got="another order", step="what was said")

    def missing(self) -> set[bytes]:
        """Values that have not come."""
        return {value for values in self.values.values() for value in values} - set(self.came())

    def is_here(self) -> bool:
        """Whether each value comes."""
        return self.subscriber.awaits(lambda: not self.missing())

    def say_again(self) -> bool:
        """Say what is missing of best effort once more, which a busy node may lose, in as many fragments; whether there was any."""
        missing = self.missing()
        lost = [
            (channel, value)
            for channel, values in self.values.items()
            if not channel[0]
            for value in values
            if value in missing
        ]
        for channel, value in lost:
            self.values[channel].remove(value)
            self.values[channel].append(value)
            for unit in (
                self.pieces(channel, value, self.pieces_of[value])
                if value in self.pieces_of
                else [frame_of(self.publisher, channel, value)]
            ):
                self.publisher.us.send(unit)
        return bool(lost)

    def nothing_more_came(self, requirement: str, beside: int = 0) -> None:
        """What was lost or given up does not come, and what comes after it does; `beside`: values that were said just before."""
        self.all_came(DELIVERED)
        wanted = {value for values in self.values.values() for value in values}
        us, unwanted = self.subscriber.us, set(self.came()) - wanted - self.judged
        self.judged |= unwanted
        with unless_known(us, self.known, requirement):
            got, expected = f"{beside + len(unwanted)} Push", f"{beside} Push" if beside else "no Push"
            us.require(not unwanted, expected=expected, got=got, step="what was not whole")

    def teardown(self) -> None:
        """Let go, and let the laws judge."""
        for party in (getattr(self, "publisher", None), getattr(self, "subscriber", None)):
            if party is not None:
                party.us.hang_up()
        judged(self.scene, Side.RESPONDER, self.known, BREAKS)


def machine(stage: Callable[[], Scene], known: Known = frozenset()) -> type[Transporting]:
    """The machine for a stage: every run of it begins with a new scene."""
    return type("TransportingOnStage", (Transporting,), {"stage": staticmethod(stage), "known": known})
