"""What our InitAck settles with a node that connects to us, in what its application says and hears then."""

from __future__ import annotations

from itertools import product

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.session.fragments import fits, in_pieces, push
from zenoh_conformance.messages import sane
from zenoh_conformance.messages.init import QoS, QoSLink
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Scene, Told, named
from zenoh_conformance.talking.application import settling, told
from zenoh_conformance.talking.speaker import PREFIX
from zenoh_conformance.wire import Exts

from .exchange import (
    PUT,
    SERVES,
    SUBSCRIBES,
    a_queryable_ends_what_it_answers,
    an_application_hears,
    an_application_publishes,
)

LOWEST = 0
"""A resolution byte: numbers and request ids of 8 bits."""
PAST = (256, 300, 70_000)
"""Request ids of more."""
URGENT = (1, 2, 7)
"""Priorities that have lanes of their own, where there are lanes."""
PIECES = 4
"""Pieces in which a value comes."""


@case(
    "session-establishment/qos-needs-both",
    role=Side.INITIATOR,
    needs=(*PUT, "qos"),
    control=an_application_publishes,
    parameters=grid(priority=URGENT),
)
def an_application_uses_no_lanes_that_we_declined(scene: Scene, *, priority: int) -> None:
    """
    The target offers lanes, and our InitAck has none: what its application puts comes without a lane, whatever its priority.

        target  InitSyn (QoS)
        us      InitAck (no extension) .. DECLARE (D_SUBSCRIBER)
        target  FRAME or FRAGMENT (no QoS, or that of Data), with PUSH (PUT)
    """
    us = settling(scene, exts=Exts())
    offered = us.us.theirs is not None and any(isinstance(ext, QoS | QoSLink) for ext in us.us.theirs.exts)
    us.us.require(offered, expected="lanes that are offered", got="none", step="not reached: lanes")
    us.declares_subscriber("k/**")

    scene.agent.ask("put", key=us.whole("k/a"), payload="01", priority=priority)
    us.expect_push("k/a", step="not reached: the publication")

    lanes = {seen.channel[1] for seen in us.us.heard if seen.kind in ("frame", "fragment") and seen.channel}
    us.us.require(lanes <= {sane.DEFAULT_PRIORITY}, expected="no lane", got="a lane", step="exts.qos")


@case("fragmentation/fragments-reassemble", role=Side.INITIATOR, needs=SUBSCRIBES, control=an_application_hears)
def an_application_needs_no_marks_that_we_declined(scene: Scene) -> None:
    """
    Our InitAck states no patch: what we say in fragments has no marks, and comes to its application.

        target       InitSyn (perhaps with Patch)
        us           InitAck (no extension)
        us           FRAGMENT (no First), .., FRAGMENT (together a PUSH)
        application  a put
    """
    us = settling(scene, exts=Exts())
    scene.agent.ask("declare_subscriber", id=named(us), key=us.whole("k/**"))
    us.settles("not reached: the session works")
    payload = sane.payload(fits(us, PIECES))

    for piece in in_pieces(us, push(us, "k/a", payload), PIECES):
        us.us.send(piece)

    event = told(scene, us, scene.unit)
    us.us.require(event is not None, expected="a put", got="silence", step="the fragments together")
    right = event is not None and event.get("payload") == payload.hex()
    us.us.require(right, expected="the value", got="another", step="the fragments together")


@case(
    "fragmentation/fragments-reassemble", role=Side.INITIATOR, needs=(*SUBSCRIBES, "qos"), control=an_application_hears
)
def an_application_hears_every_channel(scene: Scene) -> None:
    """
    In each channel but those of Control, which is no priority of applications, we publish a value in fragments, with another one in the
    next lane between them: its application is told of both.

        us           FRAGMENT (priority 1, reliable), FRAME (priority 2, reliable: PUSH), FRAGMENT, ..; then the next channel
        application  two puts, each time
    """
    us = settling(scene)
    us.us.require(us.has_lanes, expected="lanes", got="none", step="not reached: lanes")
    scene.agent.ask("declare_subscriber", id=named(us), key=us.whole("k/**"))
    us.settles("not reached: the session works")

    for reliable, priority in product((True, False), range(1, 8)):
        value, beside = bytes([priority]) * fits(us, PIECES), priority % 7 + 1
        first, *rest = in_pieces(us, push(us, "k/a", value, priority), PIECES, reliable=reliable, priority=priority)
        us.us.send(first)
        us.says(push(us, "k/a", b"beside", beside), reliable=reliable, priority=beside)
        us.us.send_each(*rest)
        events = [told(scene, us, scene.unit) for _ in range(2)]
        step = "the fragments, and what came between"
        us.us.require(None not in events, expected="two puts", got="fewer", step=step)
        came = {event and event.get("payload") for event in events} == {value.hex(), b"beside".hex()}
        us.us.require(came, expected="two puts", got="others", step=step)


@case(
    "session-establishment/batch-size-effective-minimum",
    role=Side.INITIATOR,
    profile="small-batch",
    needs=("small-batch", *PUT),
    control=an_application_publishes,
    parameters=grid(size=(600, 5_000)),
)
def an_application_keeps_to_the_smaller_batch(scene: Scene, *, size: int) -> None:
    """
    The target proposes small batches and we answer with the largest: what its application puts comes in batches that it proposed.

        target  InitSyn (batch size 512)
        us      InitAck (batch size 65535) .. DECLARE (D_SUBSCRIBER)
        target  FRAGMENT, .. (together a PUSH), each within a batch of 512
    """
    takes(scene, size)
    us = settling(scene, batch_size=sane.DEFAULT_BATCH)
    proposed = us.us.room + PREFIX
    us.us.require(proposed < size, expected="less than the value", got="more", step="not reached: its batch size")
    us.declares_subscriber("k/**")

    scene.agent.ask("put", key=us.whole("k/a"), payload="5a" * size, congestion="block")
    us.expect_push("k/a", step="not reached: the publication")

    us.us.require(us.us.largest <= proposed, expected="at most its own size", got="a larger batch", step="batch")


@case(
    "session-establishment/batch-size-is-receive-limit",
    role=Side.INITIATOR,
    needs=PUT,
    control=an_application_publishes,
    parameters=grid(batch=(200, 512, 2048)),
)
def an_application_keeps_to_the_batch_that_we_take(scene: Scene, *, batch: int) -> None:
    """
    Our InitAck states smaller batches than the target proposed: what its application puts, in some lanes if there are any, comes in
    batches that we take.

        target  InitSyn (batch size)
        us      InitAck (a smaller batch size) .. DECLARE (D_SUBSCRIBER)
        target  FRAGMENT, .. (together a PUSH), FRAME (PUSH), FRAGMENT, .., each within a batch of ours
    """
    takes(scene, 2 * batch)
    us = settling(scene, batch_size=batch)
    us.declares_subscriber("k/**")

    lanes: list[Told] = [{}, *({"priority": each} for each in URGENT if us.has_lanes)]
    for lane, size in product(lanes, (2 * batch, 1, 2 * batch)):
        scene.agent.ask("put", key=us.whole("k/a"), payload="5a" * size, congestion="block", **lane)
        us.expect_push("k/a", step="not reached: the publication")

    us.us.require(us.us.largest <= batch, expected="at most what we take", got="a larger batch", step="batch")


@case(
    "query/request-id-out-of-range-refused",
    role=Side.INITIATOR,
    needs=SERVES,
    control=a_queryable_ends_what_it_answers,
    parameters=grid(number=PAST),
    breaks=("law/request-id-in-range",),
)
def an_application_serves_no_id_that_we_ruled_out(scene: Scene, *, number: int) -> None:
    """
    Our InitAck settles request ids of 8 bits: an id of more is not served.

        target       InitSyn (request ids of 32 bits)
        us           InitAck (request ids of 8 bits)
        us           REQUEST (id 200)
        application  a query
        us           REQUEST (id 300)
        application  nothing; the session may end
    """
    us = settling(scene, resolution=LOWEST)
    us.us.require(
        us.us.request_mask < number, expected="ids of 8 bits", got="larger ones", step="not reached: the range"
    )
    scene.agent.ask("declare_queryable", id=named(us), key=us.whole("k/**"), plan=[{"reply": "01"}])
    us.settles("not reached: the session works")
    plain_query = us.asks("k/a", number=200)
    us.expect_end(plain_query)
    us.expect_answers(plain_query, [b"\x01"], step="not reached: the plain query")
    plain = told(scene, us, scene.unit)
    us.us.require(plain is not None, expected="a query", got="silence", step="not reached: the plain query")

    us.asks("k/b", number=number)
    us.settles_or_ends()

    event = told(scene, us, scene.unit / 8)
    us.us.require(event is None, expected="no query", got=str(event and event["event"]), step="an id out of range")
