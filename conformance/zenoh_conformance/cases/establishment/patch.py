"""What the patch in INIT changes: markers on fragments. Toward a responder."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.routing.plain import ROUTES
from zenoh_conformance.cases.session.batches import what_does_not_fit_is_fragmented
from zenoh_conformance.cases.session.fragments import (
    URGENT,
    come_whole_in_turn,
    expect_value,
    fits,
    in_pieces,
    marking,
    pieces_are_put_together,
    push,
)
from zenoh_conformance.messages import Drop, First, Fragment, Push, Put, sane
from zenoh_conformance.reading.codec import Layer, decode
from zenoh_conformance.talking import Dialogue, Scene, parties_of
from zenoh_conformance.wire import DecodeError

from .sane import a_session_does_work

SMALL = 256
"""Bytes of the batches that we take: what is larger comes in fragments."""

LARGE = 1500
"""Bytes of a value that comes in several of them."""


@case(
    "session-establishment/patch-zero-sends-no-markers",
    needs=("routing", "several-sessions"),
    control=a_session_does_work,
    parameters=grid(size=(600, 5000)),
)
def toward_patch_zero_no_marker_is_needed(scene: Scene, *, size: int) -> None:
    """
    We state no patch and take small batches; what comes in fragments makes a message for a node that knows no markers. First on its
    first fragment is what the baseline sends to everybody (erratum first-marker-always); as written there is none.

        us      InitSyn (batch size 256, no Patch) .. a live session
        us      DECLARE (subscriber)
        other   PUSH (larger than our batch)
        target  FRAGMENT, .., to us: no Drop, and together they are the PUSH
    """
    takes(scene, size)
    us = scene.dialogue().open(batch_size=SMALL)
    key = f"zconform/patch/{us.zid.hex()}"
    us.subscribe(key)
    us.fence(step="not reached: subscribed")

    scene.session("other").publish(key, bytes(size), block=True)

    pieces = until_whole(us)
    marks = {type(mark) for piece in pieces for mark in piece.exts}
    us.require(Drop not in marks, expected="no Drop", got="Drop", step="fragment.exts")
    us.require(pushed(pieces) == size, expected="the publication", got="something else", step="the fragments together")
    scene.follows("first-marker-always" if First in marks else None)


@case(
    "fragmentation/first-marked",
    needs=(*ROUTES, "patch"),
    control=what_does_not_fit_is_fragmented,
    parameters=grid(patch=(1, 2, 255)),
)
def the_first_fragment_is_marked(scene: Scene, *, patch: int) -> None:
    """
    We state a patch of 1 or more, and so does the target: of the fragments of a message the first one says that it is, and no other.
    With patch 2 there are three such messages, one after the other.

        us      InitSyn (batch size 256, Patch) .. a live session
        us      DECLARE (subscriber)
        other   PUSH (larger than our batch)
        target  FRAGMENT (First), FRAGMENT, .., to us
    """
    other, near = parties_of(scene, other={}, near={"batch_size": SMALL, "exts": sane.offers("QoS", patch=patch)})
    us = near.us
    us.require(us.patch > 0, expected="Patch", got="none", step="not reached: init.exts.patch")
    near.declares_subscriber("k")

    for number in range(3 if patch == 2 else 1):
        other.puts("k", bytes([number]) * LARGE, exts=sane.SURELY)

        marked = [any(isinstance(mark, First) for mark in piece.exts) for piece in until_whole(us)]
        us.require(marked[0], expected="First on the first fragment", got="none", step="fragment.exts.first")
        with us.about("message-reference/fragment-ext-first"):
            us.require(not any(marked[1:]), expected="First on no other", got="another", step="fragment.exts.first")


@case(
    "fragmentation/fragments-reassemble",
    needs=(*ROUTES, "patch"),
    control=pieces_are_put_together,
    parameters=grid(what=("channels", "lanes")),
    is_heard=True,
)
def marked_pieces_of_two_channels_are_told_apart(scene: Scene, *, what: str) -> None:
    """
    A marked chain begins between the pieces of another one, which is of another channel: both are whole.

        publisher  InitSyn (patch 1)
        target     InitAck (patch 1)
        publisher  FRAGMENT (First), FRAGMENT (First; best effort, or another lane), FRAGMENT, FRAGMENT (as the second), ..
        target     to the subscriber: both PUSHes
    """
    publisher, subscriber = marking(scene, "publisher", "subscriber")
    subscriber.declares_subscriber("k/**")
    if what == "channels":
        come_whole_in_turn(publisher, subscriber, reliable=False)
    else:
        publisher.us.require(publisher.has_lanes, expected="lanes", got="none", step="not reached: lanes")
        come_whole_in_turn(publisher, subscriber, priority=URGENT)


@case("fragmentation/fragments-reassemble", needs=(*ROUTES, "patch"), control=pieces_are_put_together)
def without_patch_no_first_is_needed_beside_one_with_it(scene: Scene) -> None:
    """
    Two sessions, one with a patch and one without: what the second one says in fragments that nobody marks is whole.

        subscriber  InitSyn (patch 1)
        target      InitAck (patch 1)
        publisher   InitSyn (no patch) .. FRAGMENT, FRAGMENT, ..
        target      to the subscriber: PUSH
    """
    marks: dict[str, Any] = {"exts": sane.offers("QoS", patch=1)}
    subscriber, publisher = parties_of(scene, subscriber=marks, publisher={})
    us = subscriber.us
    us.require(us.patch > 0, expected="Patch", got="none", step="not reached: init.exts.patch")
    subscriber.declares_subscriber("k")

    value = bytes(fits(publisher, 4))
    for piece in in_pieces(publisher, push(publisher, "k", value), 4):
        publisher.us.send(piece)

    expect_value(subscriber, "k", value, step="the fragments together")


def until_whole(us: Dialogue) -> list[Fragment]:
    """The fragments that the target sends us, up to the first that none follows; deviates when there are none, or no end."""
    chains: dict[Any, list[Fragment]] = defaultdict(list)
    for seen in us.stream():
        whole = seen.kind == "push" and not any(isinstance(each, Fragment) for each in seen.around)
        us.require(not whole, expected="fragments", got="the publication whole", step="not reached: fragments")
        if isinstance(seen.message, Fragment):
            chains[seen.channel].append(seen.message)
            if not seen.message.more:
                pieces = chains.pop(seen.channel)
                if not is_another(pieces):
                    return pieces
    count = sum(map(len, chains.values()))
    us.deviate(expected="fragments to the last", got=f"{count} of them", step="the fragments together")
    raise AssertionError("deviate raises")


def is_another(pieces: list[Fragment]) -> bool:
    """Whether the fragments are a message that is no PUSH, which the target may say in fragments, too."""
    try:
        return not isinstance(decode(b"".join(piece.payload for piece in pieces), Layer.NETWORK).message, Push)
    except DecodeError:
        return False


def pushed(pieces: list[Fragment]) -> int | None:
    """Bytes of the payload of the PUSH that the fragments are, joined as they come; None when they are none."""
    try:
        message = decode(b"".join(piece.payload for piece in pieces), Layer.NETWORK).message
    except DecodeError:
        return None
    return len(message.body.payload) if isinstance(message, Push) and isinstance(message.body, Put) else None
