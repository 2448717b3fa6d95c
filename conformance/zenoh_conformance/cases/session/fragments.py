"""Messages in fragments, or many in a batch: reassembled, told apart by channel, and dropped if a fragment is lost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, product, zip_longest
from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.routing.plain import ROUTES, a_publication_reaches_a_subscriber, heard_of
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Drop, First, Fragment, KeepAlive, Push, Put, sane
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.fragments import fragment
from zenoh_conformance.talking import Party, Scene, parties_of, payload_of
from zenoh_conformance.talking.speaker import FRAGMENT_HEAD, Sendable
from zenoh_conformance.wire import exts

SIZE = 400
"""Bytes of a value that comes in pieces, each of which fits the smallest batches."""

MANY, SOME = 100, 5
"""Messages of one batch; fewer on best effort, where a node with a short queue may drop."""

PUSH_HEAD = 64
"""Most that stands before the value in a PUSH of these cases."""

HEADS = 8
"""Bytes that FRAME and KEEP_ALIVE take of a batch for one message."""

BEHIND_A_FRAME = ("many-frames", "with-keep-alives", "a-fragment-behind")
"""Ways to say many messages in which something stands behind a FRAME in its batch."""

URGENT = 2
"""A priority beside the default one."""


def push(who: Party, key: str, payload: bytes, priority: int = sane.DEFAULT_PRIORITY) -> Push:
    """A publication that may not be dropped."""
    return Push(key=who.key(key), exts=exts(QoS(value=sane.BLOCK & ~7 | priority)), body=Put(payload=payload))


def in_pieces(
    who: Party, message: Push, count: int, *, reliable: bool = True, priority: int = sane.DEFAULT_PRIORITY
) -> list[Fragment]:
    """A message as about so many fragments of a channel, which take its next numbers."""
    data, us = encode(message), who.us
    first, size = us.next_sn(reliable, priority), -(-len(data) // count)
    if -(-len(data) // size) < count:  # many small ones: as many at least
        size = max(1, len(data) // count)
    pieces = list(
        fragment(
            data, sn=first, size=size, mask=us.sn_mask, reliable=reliable, marks=us.patch > 0,
            priority=None if priority == sane.DEFAULT_PRIORITY else priority,
        )
    )  # fmt: skip
    for _ in pieces[1:]:
        us.next_sn(reliable, priority)
    return pieces


def fits(who: Party, pieces: int) -> int:
    """Bytes of a value that so many fragments can hold, in batches as small as the target takes them; SIZE at most."""
    return max(1, min(SIZE, pieces * (who.us.room - FRAGMENT_HEAD) - PUSH_HEAD))


def expect_value(who: Party, key: str, payload: bytes, *, step: str, later: Collection[bytes] = ()) -> None:
    """That value comes; one of `later`, which were sent behind it, tells that it was lost or overtaken."""
    got = payload_of(who.expect_push(key, step=step))
    if got != payload and got in later:
        came = who.awaits(lambda: any(payload_of(heard.message) == payload for heard in who.heard(Push)))
        who.us.require(came, expected="Push", got=who.us.text_of(None), step=step)
        who.us.deviate(expected="the order as sent", got="another", step=step)
    who.us.require(got == payload, expected=f"{len(payload)} bytes as sent", got="others", step=step)


def marking(scene: Scene, *names: str) -> tuple[Party, ...]:
    """Sessions in which a patch with markers is settled; the first one says something, and is not reached where none was."""
    several = parties_of(scene, **{name: {"exts": sane.offers("QoS", patch=1)} for name in names})
    us = several[0].us
    us.require(us.patch > 0, expected="Patch", got="none", step="not reached: init.exts.patch")
    return several


@case(
    "fragmentation/fragments-reassemble",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(pieces=(2, 11, 100, 300), reliable=(True, False)),
    is_heard=True,
)
def pieces_are_put_together(scene: Scene, *, pieces: int, reliable: bool) -> None:
    """
    A message that came in fragments is the message that its bytes make, however many they are, on either channel.

        publisher  FRAGMENT, .., FRAGMENT (together a PUSH)
        target     to the subscriber: the PUSH
    """
    publisher, subscriber = heard_of(scene)
    payload = sane.payload(fits(publisher, pieces))

    for piece in in_pieces(publisher, push(publisher, "k/a", payload), pieces, reliable=reliable):
        publisher.us.send(piece)

    expect_value(subscriber, "k/a", payload, step="the fragments together")


@case(
    "fragmentation/fragments-reassemble",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(what=("fragments", "frame", "keep-alive", "frame-in-another-lane")),
    is_heard=True,
)
def pieces_of_two_channels_are_told_apart(scene: Scene, *, what: str) -> None:
    """
    Between the fragments of one channel come those of another one, a whole message of it, or KEEP_ALIVE: each message is whole. So it
    is where the other channel is as reliable, in another lane.

        publisher  FRAGMENT (reliable), FRAGMENT (best effort), FRAGMENT (reliable), FRAGMENT (best effort), ..
        target     to the subscriber: both PUSHes
    """
    publisher, subscriber = heard_of(scene)
    size = fits(publisher, 5)
    one, other = bytes([1]) * size, bytes([2]) * (size if what == "fragments" else 1)
    pieces = in_pieces(publisher, push(publisher, "k/one", one), 5)
    beside: Sequence[Sendable] = [KeepAlive()] * 4
    if what == "fragments":
        beside = in_pieces(publisher, push(publisher, "k/other", other), 5, reliable=False)
    elif what == "frame":
        beside = [publisher.us.frame(push(publisher, "k/other", other), reliable=False)]
    elif what == "frame-in-another-lane":
        publisher.us.require(publisher.has_lanes, expected="lanes", got="none", step="not reached: lanes")
        beside = [publisher.us.frame(push(publisher, "k/other", other, URGENT), priority=URGENT)]

    for each in chain.from_iterable(zip_longest(pieces, beside)):
        if each is not None:
            publisher.us.send(each)

    expect_value(subscriber, "k/one", one, step="the fragments of one channel")
    if what != "keep-alive":
        expect_value(subscriber, "k/other", other, step="what came between")


@case(
    "fragmentation/fragments-reassemble",
    needs=(*ROUTES, "qos"),
    control=a_publication_reaches_a_subscriber,
    is_heard=True,
)
def pieces_of_two_lanes_are_told_apart(scene: Scene) -> None:
    """
    Each priority is a channel of its own: fragments of two in turn make two messages.

        publisher  FRAGMENT (priority 5), FRAGMENT (priority 2), FRAGMENT (priority 5), FRAGMENT (priority 2), ..
        target     to the subscriber: both PUSHes
    """
    publisher, subscriber = heard_of(scene)
    settled = "lanes on this session"
    publisher.us.require(publisher.has_lanes, expected=settled, got="none", step="not reached: lanes")
    come_whole_in_turn(publisher, subscriber, priority=URGENT)


@case(
    "fragmentation/drop-discards",
    needs=(*ROUTES, "patch"),
    control=pieces_are_put_together,
    parameters=({}, {"at": "last-piece"}),
    is_heard=True,
)
def what_is_dropped_is_discarded(scene: Scene, *, at: str = "end") -> None:
    """
    The sender gives a message up, in each channel: what came of it is nothing, and what comes after it is whole. A node of
    patch 0 knows no Drop.

        publisher  InitSyn (patch 1)
        target     InitAck (patch 1)
        publisher  FRAGMENT, .. FRAGMENT (all of a PUSH), FRAGMENT (Drop, M clear); or Drop is on the last of them
        publisher  the same as best effort, and in all other lanes if there are lanes
        publisher  FRAME (another PUSH)
        target     to the subscriber: the other PUSH
    """
    publisher, subscriber = marking(scene, "publisher", "subscriber")
    subscriber.declares_subscriber("k/**")
    for priority, reliable in product(range(8) if publisher.has_lanes else [sane.DEFAULT_PRIORITY], (True, False)):
        dropped = push(publisher, "k/dropped", bytes(fits(publisher, 3)), priority)
        pieces = [
            replace(each, more=True) for each in in_pieces(publisher, dropped, 3, reliable=reliable, priority=priority)
        ]
        lane: list[Any] = [each for each in pieces[0].exts if not isinstance(each, First)]
        if at == "end":
            number = publisher.us.next_sn(reliable, priority)
            pieces.append(replace(pieces[-1], sn=number, payload=b""))
        pieces[-1] = replace(pieces[-1], more=False, exts=exts(*lane, Drop()))
        for each in pieces:
            publisher.us.send(each)
    publisher.puts("k/after", b"1")
    publisher.settles()

    subscriber.expect_push("k/after", step="what comes after it")
    subscriber.expect_no_push(step="what was dropped", but=1)


@case(
    "fragmentation/lost-fragment-discards-chain",
    needs=ROUTES,
    control=pieces_are_put_together,
    breaks=("law/fragment-numbers-follow", "law/what-is-said-decodes"),
    is_heard=True,
)
def a_chain_with_a_hole_is_discarded(scene: Scene) -> None:
    """
    On best effort a fragment is lost: the message is, too, and what comes after it is whole.

        publisher  FRAGMENT, FRAGMENT (the third one, all best effort), FRAGMENT, FRAME (another PUSH)
        target     to the subscriber: the other PUSH
    """
    publisher, subscriber = heard_of(scene)
    first, _lost, third, last = in_pieces(
        publisher, push(publisher, "k/lost", bytes(fits(publisher, 4))), 4, reliable=False
    )

    for each in (first, third, last):
        publisher.us.send(each)
    publisher.says(push(publisher, "k/after", b"1"), reliable=False)
    publisher.settles()

    subscriber.expect_push("k/after", step="what comes after it")
    subscriber.expect_no_push(step="what was lost", but=2)


@contextmanager
def one_frame_as_written(publisher: Party, *, several: bool = True) -> Iterator[None]:
    """What is lost meanwhile in a session that the target ended is lost as the text has it, where `several` messages were in a batch.

    The messages of a FRAME fill what remains of its batch (message-reference#frame): what stands behind it is none of them.
    """
    try:
        yield
    except Deviation as found:
        publisher.us.wait_until(lambda: publisher.us.is_over)
        if not several or not publisher.us.is_over:
            raise
        us, about = publisher.us, "message-reference/frame-messages-fill-batch"
        got = us.end() if us.closed is not None else us.text_of(None)
        finding = replace(found.finding, requirement=about, got=got, follows="several-messages-per-batch")
        raise Deviation(finding) from None


@case(
    "push/push-reaches-intersecting",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(how=("one-frame", "best-effort", "many-frames", "with-keep-alives", "a-fragment-behind")),
    is_heard=True,
)
def every_message_of_a_batch_is_taken(scene: Scene, *, how: str) -> None:
    """
    A batch holds many messages, in one FRAME or in as many, with KEEP_ALIVE between them or not, or a FRAGMENT behind a FRAME: all are
    passed on, in order.

        publisher  FRAME (PUSH, .., PUSH), reliable or best effort; or FRAME, KEEP_ALIVE, FRAME, .. in one batch; or FRAME, FRAGMENT
                   in one, FRAGMENT
        target     to the subscriber: all PUSHes
    """
    publisher, subscriber = heard_of(scene)
    count = SOME if how == "best-effort" else MANY
    pushes = [push(publisher, "k/a", bytes([number])) for number in range(count)]
    fit = max(1, publisher.us.room // (len(encode(pushes[0])) + HEADS))

    for at in range(0, count, fit):
        some = pushes[at : at + fit]
        if how in {"one-frame", "best-effort"}:
            publisher.us.say(*some, reliable=how == "one-frame")
        elif how == "a-fragment-behind":
            for one, other in zip(some[::2], some[1::2], strict=False):
                frame, pieces = publisher.us.frame(one), in_pieces(publisher, other, 2)
                publisher.us.send(frame, pieces[0])
                publisher.us.send(*pieces[1:])
            if len(some) % 2:
                publisher.us.say(some[-1])
        else:
            between: list[Sendable] = [KeepAlive()] if how == "with-keep-alives" else []
            publisher.us.send(*chain.from_iterable([*between, publisher.us.frame(each)] for each in some))

    values = [bytes([number]) for number in range(count)]
    with one_frame_as_written(publisher, several=how in BEHIND_A_FRAME):
        for number, value in enumerate(values, 1):
            expect_value(subscriber, "k/a", value, step=f"message {number} of {count}", later=values[number:])


def come_whole_in_turn(
    publisher: Party, subscriber: Party, *, reliable: bool = True, priority: int = sane.DEFAULT_PRIORITY
) -> None:
    """Say two values in pieces that come in turn, one in the default channel and one in that: deviate unless both come whole."""
    one, other = bytes([1]) * fits(publisher, 5), bytes([2]) * fits(publisher, 5)
    pieces = in_pieces(publisher, push(publisher, "k/one", one), 5)
    message = push(publisher, "k/other", other, priority)
    beside = in_pieces(publisher, message, 5, reliable=reliable, priority=priority)

    for each in chain.from_iterable(zip(pieces, beside, strict=True)):
        publisher.us.send(each)

    expect_value(subscriber, "k/one", one, step="the pieces of one channel")
    expect_value(subscriber, "k/other", other, step="those of the other")
