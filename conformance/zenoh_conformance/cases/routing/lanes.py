"""Lanes: what is large keeps to one, what is asked in one is answered, and an answer goes in its own. Toward a node that routes."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.session.batches import what_does_not_fit_is_fragmented
from zenoh_conformance.cases.session.fragments import one_frame_as_written, push
from zenoh_conformance.messages import (
    Del,
    Err,
    Fragment,
    Push,
    Put,
    Query,
    Reply,
    Request,
    Response,
    ResponseFinal,
    sane,
)
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.talking import Asked, Heard, Party, Scene, parties, parties_of, payload_of, told
from zenoh_conformance.wire import Exts

from .plain import ROUTES, a_query_reaches_a_queryable, asked_of

LANES = (2, 7)
"""Priorities above and below the default one."""

SMALL, BATCH, SIZE = 512, 65535, 1500
"""Batch sizes that a receiver may announce, and the bytes of a value that does not fit into the first one."""


def in_its_lane(who: Party, heard: Heard) -> None:
    """Deviate unless a message came in the lane of the priority that it names; not reached where no lanes were settled."""
    qos, channel = heard.message.exts.get(QoS), heard.seen.channel
    settled = who.has_lanes and channel is not None
    who.us.require(settled, expected="lanes", got="none", step="not reached: lanes")
    right = channel is not None and channel[1] == (sane.DEFAULT_PRIORITY if qos is None else qos.priority)
    who.us.require(right, expected="the priority of its message", got="another", step=f"{outer(heard)}.exts.qos")


def outer(heard: Heard) -> str:
    """In what a network message came."""
    return "fragment" if any(isinstance(each, Fragment) for each in heard.seen.around) else "frame"


@case(
    "batching/frame-carries-priority",
    needs=(*ROUTES, "qos"),
    control=what_does_not_fit_is_fragmented,
    parameters=grid(priority=LANES),
)
def a_large_message_keeps_its_lane(scene: Scene, *, priority: int) -> None:
    """
    A message that comes in fragments comes in the lane of its priority, as one that fits does.

        subscriber  InitSyn (batch size 512, patch 1) .. OpenAck, DECLARE (subscriber)
        publisher   PUSH (of some priority), larger than that
        target      to the subscriber: FRAGMENTs in the lane of the priority that the PUSH has
    """
    takes(scene, SIZE)
    (publisher,) = parties(scene, "publisher")
    us = scene.dialogue("subscriber").open(batch_size=SMALL, exts=sane.offers("QoS", patch=1))
    subscriber = Party(us, "subscriber", publisher.root)
    subscriber.declares_subscriber("k")

    publisher.says(push(publisher, "k", bytes(SIZE), priority), priority=priority)

    with subscriber.us.about("push/push-reaches-intersecting"):
        subscriber.expect_push("k", step="the publication")
    [*_, heard] = subscriber.heard(Push)
    in_pieces = outer(heard) == "fragment"
    subscriber.us.require(in_pieces, expected="fragments", got="one batch", step="not reached: fragments")
    in_its_lane(subscriber, heard)


@case(
    "batching/frame-carries-priority",
    needs=(*ROUTES, "qos"),
    control=what_does_not_fit_is_fragmented,
    parameters=grid(priority=tuple(range(8))),
)
def a_value_and_a_deletion_keep_their_lane(scene: Scene, *, priority: int) -> None:
    """
    A value and a deletion are taken in each lane, and come in the lane of the priority that they have.

        publisher  FRAME (priority 0 to 7: PUSH (PUT)), FRAME (the same: PUSH (DEL))
        target     to the subscriber: both, in the lane of their priority
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    subscriber.declares_subscriber("k")

    qos: Exts[QoS] = Exts((QoS(value=sane.BLOCK & ~7 | priority),))
    for body in (Put(payload=b"1"), Del()):
        publisher.says(Push(key=publisher.key("k"), exts=qos, body=body), priority=priority)
        with one_frame_as_written(publisher), subscriber.us.about("push/push-reaches-intersecting"):
            subscriber.expect_push("k", step="the publication")
        in_its_lane(subscriber, subscriber.heard(Push)[-1])


@case(
    "batching/frame-carries-priority",
    needs=(*ROUTES, "qos"),
    control=a_value_and_a_deletion_keep_their_lane,
    parameters=grid(size=(SMALL, BATCH)),
)
def what_came_in_one_batch_keeps_its_lanes_and_fits(scene: Scene, *, size: int) -> None:
    """
    Several FRAMEs in two lanes come in one batch, with more messages than a small one holds: each is in its lane, in batches that fit.

        subscriber  InitSyn (batch size) .. OpenAck, DECLARE (subscriber)
        publisher   FRAME (priority 2: PUSH, 4 times), FRAME (priority 7: PUSH, 4 times), in one batch
        target      to the subscriber: each PUSH, in the lane of its priority; no batch larger than that
    """
    takes(scene, SIZE)
    publisher, subscriber = parties_of(scene, publisher={}, subscriber={"batch_size": size})
    subscriber.declares_subscriber("k")
    publisher.us.require(publisher.has_lanes, expected="lanes", got="none", step="not reached: lanes")
    of_a_lane = {priority: [push(publisher, "k", bytes(SIZE // 10), priority)] * 4 for priority in LANES}

    frames = [encode(publisher.us.frame(*pushes, priority=lane)) for lane, pushes in of_a_lane.items()]
    fits = sum(map(len, frames)) <= publisher.us.room
    publisher.us.require(fits, expected="room for both", got="a smaller batch", step="not reached: one batch")
    publisher.us.send(*frames)

    for number in range(sum(map(len, of_a_lane.values()))):
        with one_frame_as_written(publisher), subscriber.us.about("push/push-reaches-intersecting"):
            subscriber.expect_push("k", step=f"publication {number + 1} of one batch")
        in_its_lane(subscriber, subscriber.heard(Push)[-1])


def asked_in(scene: Scene, priority: int, body: Reply | Err | None = None) -> tuple[Party, Asked]:
    """A query in a lane, which is answered and then ended in the same: who asked, and what."""
    querier, queryable = asked_of(scene)
    qos: Exts[QoS] = Exts((QoS(value=sane.BLOCK & ~7 | priority),))
    request = Request(id=querier.us.new_id(), key=querier.key("k"), exts=qos, body=Query(consolidation=1))
    querier.says(request, priority=priority)
    asked = Asked(request.id, querier.whole("k"), request, querier)

    number = queryable.takes(asked, step="the query is passed on")
    answer = Response(id=number, key=querier.key("k"), exts=qos, body=body or Reply(body=Put(payload=b"1")))
    queryable.says(answer, priority=priority)
    querier.awaits(lambda: bool(querier.answers(asked)))  # a final that leaves in a more urgent lane would overtake it
    queryable.says(ResponseFinal(id=number, exts=qos), priority=priority)
    return querier, asked


@case(
    "query/query-reaches-intersecting",
    needs=(*ROUTES, "qos"),
    control=a_query_reaches_a_queryable,
    parameters=grid(priority=LANES),
)
def a_query_in_any_lane_is_answered(scene: Scene, *, priority: int) -> None:
    """
    A query of some priority is passed on, and what answers it comes back, as with one that is Data.

        querier    REQUEST (of some priority, None)
        target     to the queryable: REQUEST
        queryable  RESPONSE, RESPONSE_FINAL (of the same)
        target     to the querier: RESPONSE, RESPONSE_FINAL
    """
    querier, asked = asked_in(scene, priority)

    with querier.us.about("query/consolidation-none-forwards-all"):
        got = payload_of(querier.expect_answer(asked))
        querier.us.require(got == b"1", expected="01", got=told([got]), step="the answer")
    with querier.us.about("reply/final-always-comes"):
        querier.expect_final(asked)


@case(
    "batching/frame-carries-priority",
    needs=(*ROUTES, "qos"),
    control=a_query_in_any_lane_is_answered,
    parameters=grid(priority=LANES, what=("reply", "error")),
)
def an_answer_comes_in_its_lane(scene: Scene, *, priority: int, what: str) -> None:
    """
    Whatever priority an answer, or an error, and a final have when they come, they come in the lane of it.

        querier    REQUEST (of some priority)
        queryable  RESPONSE, RESPONSE_FINAL (of the same)
        target     to the querier: RESPONSE, RESPONSE_FINAL, each in the lane of the priority that it has now
    """
    querier, asked = asked_in(scene, priority, Err(payload=b"1") if what == "error" else None)

    with querier.us.about("reply/err-reaches-querier" if what == "error" else "query/consolidation-none-forwards-all"):
        querier.expect_answer(asked)
    querier.expect_end(asked)

    finals = [heard for heard in querier.heard(ResponseFinal) if heard.message.id == asked.id]
    for heard in (*querier.answers(asked), *finals):
        in_its_lane(querier, heard)
