"""Sizes at the edge of a batch: what just fits is taken, what just does not is fragmented to its end, and nothing is larger."""

from __future__ import annotations

from dataclasses import replace
from hashlib import shake_128

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.routing.plain import ROUTES, a_publication_reaches_a_subscriber
from zenoh_conformance.messages import Compression, Fragment, Frame, sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.talking import Party, Scene, parties_of

from .batches import what_does_not_fit_is_fragmented
from .fragments import expect_value, in_pieces, push

SMALL = 512
"""Bytes of the batches that a subscriber takes."""

LARGE = 1500
"""Bytes of a value that comes in several of them."""

BESIDE = 8
"""Sizes on either side of the one that fills its fragments: what stands before a value may be of another length each time."""


@case(
    "session-establishment/batch-size-effective-minimum",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=(*grid(size=(509, 512, 1021, 2048, 9001)), *grid(size=(512, 2048), of=("fragment",))),
    is_heard=True,
)
def a_batch_as_large_as_settled_is_taken(scene: Scene, *, size: int, of: str = "frame") -> None:
    """
    A FRAME that fills a batch of the settled size to the last byte counts, and so does one that is a byte smaller; or a FRAGMENT does.

        publisher  InitSyn (batch size) .. OpenAck
        publisher  FRAME (PUSH; with the prefix as many bytes as were settled), or such a FRAGMENT and the last one
        target     to the subscriber: PUSH
    """
    takes(scene, size)
    publisher, subscriber = parties_of(scene, publisher={"batch_size": size}, subscriber={})
    subscriber.declares_subscriber("k")

    for room in (publisher.us.room - 1, publisher.us.room):
        units, payload = filled_in_pieces(publisher, room) if of == "fragment" else filled(publisher, room)
        for unit in units:
            publisher.us.send(unit)
        expect_value(
            subscriber, "k", payload, step="the largest batch" if room == publisher.us.room else "one byte less"
        )


@case("fragmentation/more-until-last", needs=ROUTES, control=what_does_not_fit_is_fragmented)
def a_chain_ends_whatever_its_size(scene: Scene) -> None:
    """
    Values of all sizes around one that fills its fragments: of each there is a last fragment, and it is whole.

        subscriber  InitSyn (batch size 512) .. OpenAck, subscribes
        publisher   PUSH (two fragments and some bytes less), PUSH (one byte more), ..
        target      to the subscriber: FRAGMENT, FRAGMENT (M clear), each time
    """
    publisher, subscriber = parties_of(scene, publisher={}, subscriber={"batch_size": SMALL})
    subscriber.declares_subscriber("k")
    filling = size_that_fills(publisher, subscriber)

    for size in range(filling - BESIDE, filling + BESIDE + 1):
        publisher.puts("k", bytes(size), exts=sane.SURELY, encoding=None)
        expect_value(subscriber, "k", bytes(size), step="the fragments to the last one")


@case(
    "fragmentation/fragments-consecutive",
    needs=ROUTES,
    control=what_does_not_fit_is_fragmented,
    parameters=grid(reliable=(True, False)),
)
def a_chain_to_us_is_of_one_channel(scene: Scene, *, reliable: bool) -> None:
    """
    What must come in fragments, on either channel, comes with all of them on one: together they make it whole.

        subscriber  InitSyn (batch size 512) .. OpenAck, subscribes
        publisher   FRAME (reliable, or best effort: PUSH, larger than that)
        target      to the subscriber: FRAGMENT, .., FRAGMENT, all reliable or none
    """
    publisher, subscriber = parties_of(scene, publisher={}, subscriber={"batch_size": SMALL})
    subscriber.declares_subscriber("k")

    publisher.says(push(publisher, "k", bytes(LARGE)), reliable=reliable)

    expect_value(subscriber, "k", bytes(LARGE), step="the fragments of one channel together")
    pieces = [seen for seen in subscriber.us.heard if isinstance(seen.message, Fragment)]
    subscriber.us.require(bool(pieces), expected="fragments", got="none", step="not reached: fragments")


@case(
    "session-establishment/batch-size-is-receive-limit",
    profile="compression",
    needs=(*ROUTES, "compression"),
    control=what_does_not_fit_is_fragmented,
)
def what_does_not_shrink_fits_with_its_compression_header(scene: Scene) -> None:
    """
    Values that no compression makes smaller, of all sizes around a batch of 512 bytes: no batch is larger, its header included.

        subscriber  InitSyn (Compression, batch size 512) .. OpenAck, subscribes
        publisher   PUSH (380 bytes), PUSH (381 bytes), ..
        target      to the subscriber: batches of at most 512 bytes
    """
    offers = sane.offers("Compression")
    publisher, subscriber = parties_of(
        scene, publisher={"exts": offers}, subscriber={"exts": offers, "batch_size": SMALL}
    )
    us = subscriber.us
    agreed = us.theirs is not None and us.theirs.exts.get(Compression) is not None
    us.require(agreed, expected="Compression", got="none", step="not reached: init.exts.compression")
    subscriber.declares_subscriber("k")

    for size in range(380, SMALL + 8):
        payload = shake_128(size.to_bytes(2, "big")).digest(size)
        publisher.puts("k", payload, exts=sane.SURELY, encoding=None)
        with us.about("push/push-reaches-intersecting"):
            expect_value(subscriber, "k", payload, step=f"a value of {size} bytes")

    us.require(us.largest <= SMALL, expected=f"at most {SMALL} bytes", got="a larger batch", step="batch")


def filled_in_pieces(who: Party, room: int) -> tuple[list[Fragment], bytes]:
    """Two FRAGMENTs, of which the first has so many bytes, and the payload of the PUSH in them."""
    payload = sane.payload(room)
    first, last = in_pieces(who, push(who, "k", payload), 2)
    data, at = first.payload + last.payload, len(first.payload) + room - len(encode(first))
    return [replace(first, payload=data[:at]), replace(last, payload=data[at:])], payload


def filled(who: Party, room: int) -> tuple[list[Frame], bytes]:
    """A FRAME with the next number and a PUSH, of so many bytes, and the payload."""
    sn = who.us.next_sn()
    size = room
    while True:
        payload = sane.payload(size)
        frame = Frame(reliable=True, sn=sn, messages=(push(who, "k", payload),))
        over = len(encode(frame)) - room
        if over <= 0:
            return [frame], payload
        size -= over
        who.us.require(size > 0, expected="room for a value", got="none", step="not reached: a small batch")


def size_that_fills(publisher: Party, subscriber: Party) -> int:
    """The size of a value that fills its last fragment about as the largest one is filled, from how a larger one comes."""
    before = len(subscriber.us.heard)
    publisher.puts("k", bytes(LARGE), exts=sane.SURELY, encoding=None)
    expect_value(subscriber, "k", bytes(LARGE), step="not reached: a plain publication")
    pieces = [len(seen.message.payload) for seen in subscriber.us.heard[before:] if seen.kind == "fragment"]
    enough = len(pieces) > 2
    subscriber.us.require(enough, expected="several fragments", got="fewer", step="not reached: fragments")
    head, full = sum(pieces) - LARGE, max(pieces)
    more = max(1, -(-(SMALL // 2 + head - pieces[0]) // full))
    return pieces[0] + more * full - head
