"""Channels: lanes for those who settled on them, and each channel's numbers, from the first one to where they begin anew."""

from __future__ import annotations

from itertools import product

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.routing.plain import ROUTES, a_publication_reaches_a_subscriber
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.talking import Party, Scene, parties, parties_of
from zenoh_conformance.wire import NO_EXTS

from .fragments import URGENT, expect_value, in_pieces, push

ROUND = 140
"""Publications that take a sender past the last number of 8 bits."""

BITS_8 = 2 << 2
"""The resolution byte: 8 bits for numbers, 32 for requests."""

FIRSTS = {"one": 1, "middle": 0x0C00_0000, "last": 0x0FFF_FFFE}
"""First numbers of ours: at either end, and where what is left to the end is less than what stands before it."""


@case("session-establishment/qos-needs-both", needs=(*ROUTES, "qos"), control=a_publication_reaches_a_subscriber)
def who_has_no_lanes_hears_none(scene: Scene) -> None:
    """
    Beside sessions with lanes there are two whose INIT left them out: what is published in a lane comes there without one.

        plain      InitSyn (no QoS), subscribes
        patched    InitSyn (Patch, no QoS), subscribes
        other      InitSyn (QoS), subscribes
        publisher  FRAME (priority 2: PUSH)
        target     to each: PUSH; to the plain and the patched one in no lane
    """
    without = {"plain": {"exts": NO_EXTS}, "patched": {"exts": sane.offers(patch=1)}}
    publisher, *plain, other = parties_of(scene, publisher={}, **without, other={})
    publisher.us.require(publisher.has_lanes, expected="lanes", got="none", step="not reached: lanes")
    for each in (*plain, other):
        each.declares_subscriber("k")

    publisher.says(push(publisher, "k", b"1", URGENT), priority=URGENT)

    for each in (*plain, other):
        each.expect_push("k")
    for each in plain:
        lanes = {seen.channel[1] for seen in each.us.heard if seen.kind in ("frame", "fragment") and seen.channel}
        each.us.require(lanes == {sane.DEFAULT_PRIORITY}, expected="no lane", got="a lane", step="frame.exts.qos")


@case(
    "batching/sn-within-resolution",
    needs=(*ROUTES, "qos"),
    control=a_publication_reaches_a_subscriber,
    parameters=({"priority": URGENT, "reliable": True}, {"priority": URGENT, "reliable": False}, {"priority": 5, "reliable": False},
                {"priority": 5, "reliable": True, "pieces": 3}),
    is_heard=True,
)  # fmt: skip
def numbers_of_every_lane_wrap(scene: Scene, *, priority: int, reliable: bool, pieces: int = 1) -> None:
    """
    Numbers of 8 bits are settled, and more is published in one lane than they count: all of it comes, and nothing is numbered higher.
    So it does in FRAGMENTs, where a chain goes on past the last number.

        publisher, subscriber  InitSyn (FSN 8 bit) .. OpenAck
        publisher              FRAME (priority 2, or best effort: PUSH), 140 times
        target                 to the subscriber: PUSH, 140 times, no number above 0x7f
    """
    terms = {"resolution": BITS_8}
    publisher, subscriber = parties_of(scene, publisher=terms, subscriber=terms)
    lanes = priority == sane.DEFAULT_PRIORITY or (publisher.has_lanes and subscriber.has_lanes)
    publisher.us.require(lanes, expected="lanes", got="none", step="not reached: lanes")
    subscriber.declares_subscriber("k")

    says_and_hears(publisher, subscriber, ROUND, priority=priority, reliable=reliable, pieces=pieces)

    numbers = [seen.message.sn for seen in subscriber.us.heard if seen.kind in ("frame", "fragment")]
    within = max(numbers) <= SN_MASK[0]
    subscriber.us.require(within, expected="at most 0x7f", got="a larger number", step="frame.sn")


@case(
    "session-establishment/initial-sn-own-start",
    needs=(*ROUTES, "qos"),
    control=a_publication_reaches_a_subscriber,
    parameters=grid(first=tuple(FIRSTS), priority=(sane.DEFAULT_PRIORITY, URGENT), reliable=(True, False)),
)
def every_channel_of_ours_begins_with_our_number(scene: Scene, *, first: str, priority: int, reliable: bool) -> None:
    """
    The number that our OPEN states is the first one of each channel of ours: what we say from it on counts.

        publisher  OpenSyn (initial_sn)
        publisher  FRAME (priority 2, or best effort; initial_sn: PUSH), FRAME (the next number: PUSH), ..
        target     to the subscriber: each PUSH
    """
    (subscriber,) = parties(scene, "subscriber")
    subscriber.declares_subscriber("k")
    publisher = begun_with(scene, subscriber, FIRSTS[first])
    lanes = priority == sane.DEFAULT_PRIORITY or publisher.has_lanes
    publisher.us.require(lanes, expected="lanes", got="none", step="not reached: lanes")

    says_and_hears(publisher, subscriber, 3, priority=priority, reliable=reliable)


@case(
    "session-establishment/initial-sn-own-start",
    needs=(*ROUTES, "qos"),
    control=every_channel_of_ours_begins_with_our_number,
    is_heard=True,
)
def all_channels_of_ours_count_apart(scene: Scene) -> None:
    """
    One session uses all sixteen channels one after the other: each begins with the number that our OPEN states, whatever the others
    have counted.

        publisher  OpenSyn (initial_sn)
        publisher  FRAME (priority 0, reliable; initial_sn: PUSH), FRAME (the next number: PUSH), then best effort, then priority 1, ..
        target     to the subscriber: each PUSH
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    publisher.us.require(publisher.has_lanes, expected="lanes", got="none", step="not reached: lanes")
    subscriber.declares_subscriber("k")

    for priority, reliable in product(range(8), (True, False)):
        says_and_hears(publisher, subscriber, 2, priority=priority, reliable=reliable)


def begun_with(scene: Scene, beside: Party, first: int) -> Party:
    """One more session, in which our first number is that one, or the last one that the settled resolution has."""
    us = scene.dialogue("publisher")
    ack = us.ask(us.init_syn(), expect=InitAck, step="not reached: init")
    us.initial_sn = min(us.sn_mask - 1, first)
    us.ask(us.open_syn(ack), expect=OpenAck, step="not reached: open")
    return Party(us, "publisher", beside.root)


def says_and_hears(
    publisher: Party, subscriber: Party, many: int, *, priority: int, reliable: bool, pieces: int = 1
) -> None:
    """So many values, each whole or in pieces, of which each comes; what does not is judged as a publication that does not."""
    for number in range(many):
        value = number.to_bytes(2, "big")
        said = push(publisher, "k", value, priority)
        if pieces > 1:
            for piece in in_pieces(publisher, said, pieces, reliable=reliable, priority=priority):
                publisher.us.send(piece)
        else:
            publisher.says(said, reliable=reliable, priority=priority)
        with subscriber.us.about("push/push-reaches-intersecting"):
            expect_value(subscriber, "k", value, step=f"publication {number + 1}")
