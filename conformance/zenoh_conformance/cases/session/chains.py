"""Chains of fragments, one after the other on a channel, with whole messages between them; and numbers that no receiver may take."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.routing.plain import ROUTES, a_publication_reaches_a_subscriber
from zenoh_conformance.messages import Fragment, Frame, Push, sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.talking import Party, Scene, parties, parties_of
from zenoh_conformance.talking.speaker import FRAGMENT_HEAD
from zenoh_conformance.wire import exts

from .batches import what_does_not_fit_is_fragmented
from .fragments import URGENT, expect_value, fits, in_pieces, pieces_are_put_together, push

SMALL, LARGE = 512, 1200
"""Bytes of the batches that the subscriber takes, and of a value that comes in several of them."""

PATTERN = ("large", "small", "large", "large", "large", "small", "large")
"""What is said one after the other: chains with a FRAME between them and without, past the third one."""

CHANNELS = tuple({"priority": priority, "reliable": reliable} for priority in (5, URGENT) for reliable in (True, False))

CHANNEL = {
    "reliable": (True, sane.DEFAULT_PRIORITY), "best-effort": (False, sane.DEFAULT_PRIORITY), "lane": (True, URGENT),
}  # fmt: skip
"""Channels by name: (reliable, priority)."""

PAST_THE_RANGE = {0: 1 << 8, 1: 1 << 16}
"""What is added to a number by FSN code, so that it is past the resolution in either reading and means a good one where it is cut."""


@case(
    "fragmentation/fragments-consecutive",
    needs=(*ROUTES, "qos"),
    control=what_does_not_fit_is_fragmented,
    parameters=CHANNELS,
    is_heard=True,
)
def chains_follow_each_other_on_a_channel(scene: Scene, *, priority: int, reliable: bool) -> None:
    """
    Large and small values, in one lane and channel, both ways in fragments: all come, in order, in chains that hold their rules.

        subscriber  InitSyn (batch size 512, patch 1) .. OpenAck, DECLARE (subscriber)
        publisher   FRAGMENTs (PUSH), FRAME (PUSH), FRAGMENTs, FRAGMENTs, FRAGMENTs, FRAME, FRAGMENTs
        target      to the subscriber: the same, each chain with First, consecutive numbers, and M but on its last fragment
    """
    takes(scene, LARGE)
    publisher, subscriber = with_lanes(scene, priority)
    subscriber.declares_subscriber("k")

    values = [bytes([number]) * (LARGE if size == "large" else 8) for number, size in enumerate(PATTERN)]
    if reliable:
        for payload in values:
            says_divided(publisher, payload, reliable, priority)

    with subscriber.us.about("fragmentation/fragments-reassemble"):
        for number, payload in enumerate(values):
            if not reliable:
                says_until_it_comes(publisher, subscriber, payload, priority)
            step = f"publication {number + 1} of {len(values)}"
            expect_value(subscriber, "k", payload, step=step, later=values[number + 1 :])


def says_divided(publisher: Party, payload: bytes, reliable: bool, priority: int) -> None:
    """Publish a value in a channel: a large one in three fragments, or more where batches are small, a small one in a FRAME."""
    message = push(publisher, "k", payload, priority)
    if len(payload) == LARGE:
        needed = -(-len(encode(message)) // (publisher.us.room - FRAGMENT_HEAD))
        for piece in in_pieces(publisher, message, max(3, needed), reliable=reliable, priority=priority):
            publisher.us.send(piece)
    else:
        publisher.says(message, reliable=reliable, priority=priority)


def says_until_it_comes(publisher: Party, subscriber: Party, payload: bytes, priority: int) -> None:
    """Publish with best effort up to three times: a busy node may lose what is said so, though it may not be dropped."""
    before = len(subscriber.heard(Push))
    for _ in range(3):
        says_divided(publisher, payload, False, priority)
        if subscriber.awaits(lambda: len(subscriber.heard(Push)) > before):
            return


@case("fragmentation/fragments-reassemble", needs=ROUTES, control=pieces_are_put_together)
def pieces_of_two_sessions_are_told_apart(scene: Scene) -> None:
    """
    Two sessions send fragments in turn, on the same channel: each message is whole.

        one, other  FRAGMENT (one), FRAGMENT (other), FRAGMENT (one), FRAGMENT (other), ..
        target      to the subscriber: both PUSHes
    """
    one, other, subscriber = parties(scene, "one", "other", "subscriber")
    subscriber.declares_subscriber("k/**")
    values = {"k/one": bytes([1]) * fits(one, 4), "k/other": bytes([2]) * fits(other, 4)}
    chains = [
        in_pieces(who, push(who, key, value), 4) for who, (key, value) in zip((one, other), values.items(), strict=True)
    ]

    for mine, theirs in zip(*chains, strict=True):
        one.us.send(mine)
        other.us.send(theirs)

    for key, value in values.items():
        expect_value(subscriber, key, value, step=f"the fragments of {key.removeprefix('k/')}")


@case(
    "batching/sn-outside-resolution-rejected",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(fsn=(0, 1), what=("frame", "fragments"), channel=tuple(CHANNEL)),
    breaks=("law/sn-within-resolution",),
    is_heard=True,
)
def a_number_past_the_resolution_is_rejected(scene: Scene, *, fsn: int, what: str, channel: str) -> None:
    """
    FRAME, or FRAGMENT, with a number that the settled resolution does not have, in either reading of it: what it carries is not
    passed on. The session may end.

        publisher  InitSyn (FSN 8 or 16 bit) .. OpenAck
        publisher  FRAME (PUSH), FRAME (the next number and 2^8 or 2^16: PUSH)
        target     to the subscriber: the first PUSH only
    """
    publisher, subscriber = parties_of(scene, publisher={"resolution": fsn | 2 << 2}, subscriber={})
    settled = publisher.us.sn_mask < PAST_THE_RANGE[fsn]
    publisher.us.require(settled, expected="this resolution", got="another", step="not reached: init.resolution")
    subscriber.declares_subscriber("k/**")
    reliable, priority = CHANNEL[channel]
    lanes = priority == sane.DEFAULT_PRIORITY or publisher.has_lanes
    publisher.us.require(lanes, expected="lanes", got="none", step="not reached: lanes")
    publisher.says(push(publisher, "k/good", b"1", priority), reliable=reliable, priority=priority)
    subscriber.expect_push("k/good", step="not reached: a plain publication")

    message = push(publisher, "k/past", b"1", priority)
    lane = None if priority == sane.DEFAULT_PRIORITY else priority
    pieces: list[Frame] | list[Fragment] = (
        in_pieces(publisher, message, 2, reliable=reliable, priority=priority)
        if what == "fragments"
        else [publisher.us.frame(message, reliable=reliable, priority=lane)]
    )
    for piece in pieces:
        publisher.us.send(replace(piece, sn=piece.sn + PAST_THE_RANGE[fsn]))
    publisher.settles_or_ends()

    subscriber.expect_no_push(step="a number past the resolution", but=1)


@case(
    "fragmentation/lost-fragment-discards-chain",
    needs=(*ROUTES, "qos"),
    control=pieces_are_put_together,
    parameters=grid(priority=(sane.DEFAULT_PRIORITY, URGENT)),
    breaks=("law/fragment-numbers-follow",),
    is_heard=True,
)
def what_is_left_of_a_chain_is_no_message(scene: Scene, *, priority: int) -> None:
    """
    On best effort the middle one of three fragments is lost, and the others would make a message: it is not passed on.

        publisher  FRAGMENT (First), FRAGMENT (number after the next, M clear; together a PUSH), FRAME (another PUSH)
        target     to the subscriber: the other PUSH
    """
    publisher, subscriber = with_lanes(scene, priority)
    subscriber.declares_subscriber("k/**")
    first, last = in_two(publisher, push(publisher, "k/left", bytes(fits(publisher, 2)), priority), priority)

    publisher.us.send(first)
    publisher.us.send(last)
    publisher.says(push(publisher, "k/after", b"1", priority), reliable=False, priority=priority)
    publisher.settles()

    subscriber.expect_push("k/after", step="what comes after it")
    subscriber.expect_no_push(step="what was left of a message", but=1)


def with_lanes(scene: Scene, priority: int) -> tuple[Party, Party]:
    """A publisher and a subscriber that takes small batches, with patch 1 where it is known; not reached without lanes."""
    offers = sane.offers("QoS", patch=1)
    publisher, subscriber = parties_of(
        scene, publisher={"exts": offers}, subscriber={"exts": offers, "batch_size": SMALL}
    )
    lanes = priority == sane.DEFAULT_PRIORITY or (publisher.has_lanes and subscriber.has_lanes)
    publisher.us.require(lanes, expected="lanes", got="none", step="not reached: lanes")
    return publisher, subscriber


def in_two(who: Party, message: Push, priority: int) -> tuple[Fragment, Fragment]:
    """Two best-effort fragments that make the message, with one number left out between them."""
    data, us = encode(message), who.us
    lane = [] if priority == sane.DEFAULT_PRIORITY else [sane.lane(priority)]
    numbers = [us.next_sn(False, priority) for _ in range(3)]
    marks = [sane.first()] if us.patch > 0 else []
    half = len(data) // 2
    return (
        Fragment(reliable=False, more=True, sn=numbers[0], exts=exts(*lane, *marks), payload=data[:half]),
        Fragment(reliable=False, more=False, sn=numbers[2], exts=exts(*lane), payload=data[half:]),
    )
