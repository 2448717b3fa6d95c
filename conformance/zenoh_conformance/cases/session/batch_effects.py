"""What a batch does: nothing before it is read to its end, nothing for what is no message; and when a target sends its own."""

from __future__ import annotations

from hashlib import shake_128

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import proposal, takes, works_in_the_end
from zenoh_conformance.cases.initiator.open_ack import a_sane_handshake_makes_a_session
from zenoh_conformance.cases.routing.plain import ROUTES, a_publication_reaches_a_subscriber, heard_of, low_latency
from zenoh_conformance.judging.finding import NOT_REACHED
from zenoh_conformance.messages import (
    Compression,
    KeepAlive,
    LowLatency,
    Push,
    Put,
    Query,
    Request,
    ResponseFinal,
    sane,
)
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.reading.batch import LARGEST
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import OpenSyn
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue, Scene, parties_of
from zenoh_conformance.wire import exts

from .fragments import PUSH_HEAD, expect_value, push

RESTS = {"cut-push": bytes.fromhex("7d0003"), "unknown-id": bytes.fromhex("0d00")}
"""What is behind a FRAME in its batch: half a PUSH, and a header whose id no message has."""

EXPRESS = sane.BLOCK | 0x10
"""The QoS byte of an express message of priority Data that may not be dropped."""

SIZES = (2000, 10, 300, 4000)
"""Bytes of values that come in compressed batches and in others."""

ALIVE = 40
"""KEEP_ALIVEs of a batch that LZ4 makes smaller."""

MANY, SIZE = 120, 1000
"""Publications, and bytes of each: together more than the largest batch."""


@case(
    "batching/batch-decoded-before-processing",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(rest=tuple(RESTS)),
    breaks=("law/what-is-said-decodes",),
    is_heard=True,
)
def nothing_of_a_broken_batch_takes_effect(scene: Scene, *, rest: str) -> None:
    """
    A batch holds a whole FRAME, and bytes behind it that are no message: what the FRAME holds is not passed on. The session may end.

        publisher  FRAME (PUSH) and half a message, or an id that no message has, in one batch
        target     to the subscriber: nothing
    """
    publisher, subscriber = heard_of(scene)

    publisher.us.send(encode(publisher.us.frame(push(publisher, "k/broken", b"1"))) + RESTS[rest])
    publisher.settles_or_ends()

    subscriber.expect_no_push(step="a batch that cannot be read", but=1)


@case(
    "message-reference/unassigned-id-refused",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(mid=(0x0D, 0x15, 0x0E)),
    breaks=("law/what-is-said-decodes",),
    is_heard=True,
)
def an_id_of_no_message_is_taken_for_none(scene: Scene, *, mid: int) -> None:
    """
    A header has an id that no message has, and differs from FRAME or FRAGMENT in one bit; what follows would be a PUSH in such a
    one. It is not passed on. The session may end.

        publisher  a header with an id of no message, a number, PUSH
        target     to the subscriber: nothing
    """
    publisher, subscriber = heard_of(scene)
    batch = bytearray(encode(publisher.us.frame(push(publisher, "k/odd", b"1"))))
    batch[0] = batch[0] & ~0x1F | mid

    publisher.us.send(bytes(batch))
    publisher.settles_or_ends()

    subscriber.expect_no_push(step="an id of no message", but=1)


@case("batching/flush-on-timer", needs=ROUTES, control=a_publication_reaches_a_subscriber)
def what_fills_no_batch_comes_by_itself(scene: Scene) -> None:
    """
    One small publication, that is not express, and nothing behind it: it comes.

        publisher  PUSH
        target     to the subscriber: PUSH
    """
    publisher, subscriber = heard_of(scene)

    publisher.says(push(publisher, "k/alone", b"1"))

    expect_value(subscriber, "k/alone", b"1", step="a publication alone")


@case("batching/flush-on-express", needs=ROUTES, control=a_publication_reaches_a_subscriber)
def what_is_express_comes_at_once(scene: Scene) -> None:
    """
    One small express publication, and nothing behind it: it comes.

        publisher  PUSH (QoS: Express)
        target     to the subscriber: PUSH
    """
    publisher, subscriber = heard_of(scene)

    publisher.says(Push(key=publisher.key("k/alone"), exts=exts(QoS(value=EXPRESS)), body=Put(payload=b"1")))

    expect_value(subscriber, "k/alone", b"1", step="an express publication alone")


@case("batching/flush-on-size", needs=ROUTES, control=a_publication_reaches_a_subscriber)
def what_fills_batches_comes_whole(scene: Scene) -> None:
    """
    More publications than the largest batch holds, one behind the other: all come, in order.

        publisher  PUSH (1000 bytes), 120 times
        target     to the subscriber: each PUSH
    """
    takes(scene, SIZE)
    publisher, subscriber = heard_of(scene)

    values = [number.to_bytes(2, "big") * (SIZE // 2) for number in range(MANY)]
    for value in values:
        publisher.says(push(publisher, "k/many", value))

    for number, value in enumerate(values, 1):
        expect_value(subscriber, "k/many", value, step=f"publication {number} of {MANY}", later=values[number:])


@case(
    "batching/compressed-batch-form",
    profile="compression",
    needs=(*ROUTES, "compression"),
    control=a_publication_reaches_a_subscriber,
    is_heard=True,
)
def both_forms_of_a_batch_are_said_and_read(scene: Scene) -> None:
    """
    Where compression is settled, values that LZ4 makes smaller and values that it does not are read, and come in batches that read.

        publisher   InitSyn (Compression) .. OpenAck
        publisher   header 01, LZ4 block (KEEP_ALIVE, ..)
        publisher   header 01, LZ4 block (FRAME (PUSH)); header 00, FRAME (PUSH); ..
        target      to the subscriber: header, FRAME (PUSH), each time
    """
    takes(scene, max(SIZES))
    offers = sane.offers("QoS", "Compression")
    publisher, subscriber = parties_of(scene, publisher={"exts": offers}, subscriber={"exts": offers})
    agreed = all(us.theirs is not None and us.theirs.exts.get(Compression) for us in (publisher.us, subscriber.us))
    publisher.us.require(agreed, expected="Compression", got="none", step="not reached: init.exts.compression")
    for who in (publisher, subscriber):
        who.us.expect_live("a compressed session")
    subscriber.declares_subscriber("k")
    publisher.us.send(*[KeepAlive()] * ALIVE)

    largest = max(1, min(publisher.us.room - 2 * PUSH_HEAD, scene.fact("message_size") or LARGEST))
    for size in (*SIZES, largest):
        for payload in (bytes(size), shake_128(bytes([size % 251])).digest(size)):
            publisher.says(push(publisher, "k", payload))
            expect_value(subscriber, "k", payload, step=f"a value of {size} bytes")


@case(
    "batching/compressed-batch-form",
    role=Side.INITIATOR,
    profile="compression",
    needs=("compression", "finals"),
    control=a_sane_handshake_makes_a_session,
)
def both_forms_of_a_batch_are_read_by_who_connects(scene: Scene) -> None:
    """
    Where compression is settled, who connects reads a batch that LZ4 makes smaller as well as one that it does not.

        target  InitSyn (Compression)
        us      InitAck (Compression) .. OpenAck
        us      header 00, FRAME (REQUEST); header 01, LZ4 block (FRAME (PUSH, REQUEST))
        target  FRAME (RESPONSE_FINAL), each time
    """

    def lead(us: Dialogue) -> None:
        syn = proposal(us)
        agreed = syn.exts.get(Compression) is not None
        us.require(agreed, expected="Compression", got="none", step=f"{NOT_REACHED}: init.exts.compression")
        us.ask(us.init_ack(syn, exts=sane.offers("Compression")), expect=OpenSyn, step=f"{NOT_REACHED}: open")
        us.send(us.open_ack())

    us = works_in_the_end(scene, lead)
    request = us.new_id()
    us.fences.add(request)
    filling = Push(key=plain("k"), body=Put(payload=bytes(max(SIZES))))
    us.say(filling, Request(id=request, key=plain("k/compressed"), body=Query()))
    us.expect(ResponseFinal, where=lambda final: final.id == request, step="a batch that LZ4 makes smaller")


@case(
    "batching/low-latency-framing",
    profile="low-latency",
    needs=(*ROUTES, "low-latency"),
    control=a_publication_reaches_a_subscriber,
    parameters=grid(size=(1, 1000, 40_000)),
)
def low_latency_batches_have_long_lengths(scene: Scene, *, size: int) -> None:
    """
    Where low latency is settled, a publication goes both ways behind a length of four bytes, without FRAME. It is smaller than `size`
    where a batch cannot hold it: nothing is fragmented there.

        publisher  InitSyn (LowLatency) .. OpenAck
        publisher  a length of four bytes, PUSH
        target     to the subscriber: a length of four bytes, PUSH
    """
    publisher, subscriber = low_latency(scene, "publisher", "subscriber")
    agreed = all(us.theirs is not None and us.theirs.exts.get(LowLatency) for us in (publisher.us, subscriber.us))
    publisher.us.require(agreed, expected="LowLatency", got="none", step="not reached: init.exts.low_latency")
    for who in (publisher, subscriber):
        who.us.expect_live("a session with low latency")
    takes(scene, size)
    subscriber.declares_subscriber("k")
    held = max(1, min(size, *(who.us.room - PUSH_HEAD for who in (publisher, subscriber))))
    payload = bytes(at % 251 for at in range(held))

    publisher.says(push(publisher, "k", payload))

    expect_value(subscriber, "k", payload, step=f"a value of {held} bytes")


@case(
    "batching/low-latency-framing",
    profile="low-latency",
    needs=(*ROUTES, "low-latency"),
    control=low_latency_batches_have_long_lengths,
)
def a_low_latency_batch_holds_many_messages(scene: Scene) -> None:
    """
    Any number of messages may stand in a batch with low latency: all are taken, in order.

        publisher  InitSyn (LowLatency) .. OpenAck
        publisher  a length of four bytes, PUSH, PUSH, PUSH (as many as it has room for)
        target     to the subscriber: all three
    """
    publisher, subscriber = low_latency(scene, "publisher", "subscriber")
    subscriber.declares_subscriber("k")
    subscriber.settles()
    values = [bytes([number]) for number in range(3)]
    pushes = [push(publisher, "k", value) for value in values]
    fit = max(1, publisher.us.room // len(encode(pushes[0])))

    for at in range(0, len(pushes), fit):
        publisher.us.send(*pushes[at : at + fit])

    for number, value in enumerate(values, 1):
        step = f"message {number} of {len(values)}"
        expect_value(subscriber, "k", value, step=step, later=values[number:])
