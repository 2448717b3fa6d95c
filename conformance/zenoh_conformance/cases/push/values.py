"""A publication comes as it was said: value, deletion, and what stands around them. Toward a node that routes between its clients."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid, pairwise
from zenoh_conformance.cases.routing.plain import (
    ROUTES,
    a_publication_reaches_a_subscriber,
    asked_of,
    heard_of,
    low_latency,
)
from zenoh_conformance.messages import Del, DelAttachment, Push, Put, PutAttachment, Reply, Response
from zenoh_conformance.messages.data import Shm, SourceInfo
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import Encoding, Timestamp, ZenohID
from zenoh_conformance.talking import Party, Scene, payload_of
from zenoh_conformance.wire import Enc, Exts, Unknown

URGENT = 2
"""A priority above the default one."""

STAMP = Timestamp(time=0x6500_0000_8000_0000, zid=ZenohID(b"\x11\x22\x33"))
SOURCE = SourceInfo(zid=ZenohID(b"\x44\x55"), eid=300, sn=70_000)
ENCODINGS = {
    "absent": None,
    "zero": Encoding(0),
    "known": Encoding(5),
    "schema": Encoding(3, b"a schema"),
    "large": Encoding(65535),
}
OPAQUE = {"absent": None, "empty": b"", "text": b"a=b&c", "bytes": bytes(range(256))}

FIELDS = pairwise(
    stamped=(False, True), encoding=tuple(ENCODINGS), attachment=tuple(OPAQUE), source=(False, True), payload=(b"", b"\x00", b"value"),
)  # fmt: skip
"""What a PUT may have, each two of them together once."""


def said_and_heard(scene: Scene, body: Any, *exts: Any) -> tuple[Party, Any]:
    """Publish a body, and what comes of it."""
    publisher, subscriber = heard_of(scene, whole=False)
    publisher.puts("k", body=body, exts=exts)
    return subscriber, subscriber.expect_push("k", step="the publication")


@case("push/put-delivers-value", needs=ROUTES, control=a_publication_reaches_a_subscriber, parameters=FIELDS)
def a_value_comes_with_all_its_fields(
    scene: Scene, *, stamped: bool, encoding: str, attachment: str, source: bool, payload: bytes
) -> None:
    """
    A PUT comes as it was published: payload, encoding, timestamp, SourceInfo, attachment. One without a timestamp may get one.

        publisher  PUSH (PUT with these fields)
        target     to the subscriber: PUSH (PUT with the same)
    """
    chain: list[Any] = [SOURCE] if source else []
    chain += [] if OPAQUE[attachment] is None else [PutAttachment(payload=OPAQUE[attachment] or b"")]
    put = Put(timestamp=STAMP if stamped else None, encoding=ENCODINGS[encoding], exts=Exts(chain), payload=payload)

    subscriber, push = said_and_heard(scene, put)

    same_put(subscriber, put, push.body)


def same_put(who: Party, said: Put, got: Any) -> None:
    """Deviate where a value is not the one that was said."""
    who.us.require(isinstance(got, Put), expected="PUT", got=type(got).__name__.upper(), step="the value")
    fields = {
        "payload": (said.payload, got.payload),
        "encoding": (said.encoding or Encoding(0), got.encoding or Encoding(0)),
        "timestamp": (said.timestamp, got.timestamp if said.timestamp else None),
        "source info": (said.exts.get(SourceInfo), got.exts.get(SourceInfo)),
        "attachment": (said.exts.get(PutAttachment), got.exts.get(PutAttachment)),
    }
    for name, (wanted, came) in fields.items():
        who.us.require(wanted == came, expected=f"the {name} as it was said", got="another", step="the value")


@case(
    "push/put-delivers-value",
    needs=ROUTES,
    control=a_value_comes_with_all_its_fields,
    parameters=grid(length=(127, 128, 255)),
)
def a_schema_of_any_length_passes(scene: Scene, *, length: int) -> None:
    """
    A schema has up to 255 bytes, and all of them come.

        publisher  PUSH (PUT, an encoding with a schema of so many bytes)
        target     to the subscriber: PUSH (PUT, the same encoding)
    """
    put = Put(encoding=Encoding(5, b"s" * (length - 1) + b"."), payload=b"1")

    subscriber, push = said_and_heard(scene, put)

    same_put(subscriber, put, push.body)


@case("primitives/encoding-absent", needs=ROUTES, control=a_value_comes_with_all_its_fields)
def no_encoding_is_the_default(scene: Scene) -> None:
    """
    A value without an encoding comes without one, or with the default.

        publisher  PUSH (PUT without E)
        target     to the subscriber: PUSH (PUT without E, or encoding 0)
    """
    subscriber, push = said_and_heard(scene, Put(payload=b"1"))

    default = isinstance(push.body, Put) and push.body.encoding in (None, Encoding(0))
    subscriber.us.require(default, expected="the default encoding", got="another", step="the encoding")


@case(
    "push/del-signals-deletion",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(stamped=(False, True), attachment=tuple(OPAQUE)),
)
def a_deletion_comes_as_one(scene: Scene, *, stamped: bool, attachment: str) -> None:
    """
    A DEL comes as a DEL, with what stands in it, and not as an empty value. Those with a timestamp are said in a lane above Data.

        publisher  PUSH (DEL)
        target     to the subscriber: PUSH (DEL)
    """
    opaque = OPAQUE[attachment]
    exts: Exts[Any] = Exts(() if opaque is None else (DelAttachment(payload=opaque),))
    gone = Del(timestamp=STAMP if stamped else None, exts=exts)

    publisher, subscriber = heard_of(scene, whole=False)
    publisher.puts("k", body=gone, priority=URGENT if stamped else None)
    push = subscriber.expect_push("k", step="the publication")

    us = subscriber.us
    us.require(isinstance(push.body, Del), expected="DEL", got=type(push.body).__name__.upper(), step="the deletion")
    same = push.body.exts.get(DelAttachment) == gone.exts.get(DelAttachment)
    us.require(same, expected="the attachment as it was said", got="another", step="the deletion")
    us.require(
        not stamped or push.body.timestamp == STAMP, expected="the timestamp", got="another", step="the deletion"
    )


@case(
    "push/source-info-names-origin",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(of=("put", "del")),
)
def the_source_passes_unchanged(scene: Scene, *, of: str) -> None:
    """
    SourceInfo comes as it was said: it names who published, not who passes on.

        publisher  PUSH (SourceInfo)
        target     to the subscriber: PUSH, the same SourceInfo
    """
    source: Exts[Any] = Exts((SOURCE,))
    subscriber, push = said_and_heard(scene, Put(exts=source, payload=b"1") if of == "put" else Del(exts=source))

    same = push.body.exts.get(SourceInfo) == SOURCE
    subscriber.us.require(same, expected="SourceInfo as it was said", got="another", step="the source")


@case(
    "message-reference/attachment-opaque",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(value=tuple(OPAQUE)[1:]),
)
def an_attachment_passes_unchanged(scene: Scene, *, value: str) -> None:
    """
    An attachment is bytes: it comes as it was said.

        publisher  PUSH (PUT with an attachment)
        target     to the subscriber: PUSH (PUT with the same)
    """
    attachment = PutAttachment(payload=OPAQUE[value] or b"")
    subscriber, push = said_and_heard(scene, Put(exts=Exts((attachment,)), payload=b"1"))

    same = push.body.exts.get(PutAttachment) == attachment
    subscriber.us.require(same, expected="the attachment as it was said", got="another", step="the attachment")


@case(
    "message-reference/qos-default-priority",
    needs=(*ROUTES, "qos"),
    control=a_publication_reaches_a_subscriber,
    parameters=grid(value=(None, 0x01, 0x02, 0x05, 0x07, 0x0D, 0x15, 0x1D)),
)
def priority_and_congestion_control_pass(scene: Scene, *, value: int | None) -> None:
    """
    Priority, congestion control and express come as they were said; without QoS they are Data, Drop and not express.

        publisher  PUSH (QoS, or none)
        target     to the subscriber: PUSH (the same QoS, or none where it says no more than that), in the lane of its priority
    """
    publisher, subscriber = heard_of(scene, whole=False)
    exts = () if value is None else (QoS(value=value),)
    push = Push(key=publisher.key("k"), exts=Exts(exts), body=Put(payload=b"1"))
    publisher.says(push, priority=None if value is None else value & 7)

    came = subscriber.expect_push("k", step="the publication").exts.get(QoS)
    wanted, got = (0x05 if value is None else value), (0x05 if came is None else came.value)
    subscriber.us.require(got & 0x1F == wanted, expected="QoS as it was said", got="another", step="QoS")


SLICES = b"\x01\x00\x03raw"
"""A payload that is a list of one slice."""


@case(
    "push/shm-not-understood-rejects",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    breaks=("law/shared-memory-is-agreed",),
    parameters=grid(what=("value", "answer")),
)
def a_value_in_shared_memory_is_refused(scene: Scene, *, what: str) -> None:
    """
    Nobody has shown shared memory in INIT; a PUT with the Shm marker is refused: it comes to nobody.

        publisher  PUSH (PUT, Shm); or, of a query, RESPONSE (REPLY (PUT, Shm))
        target     to the subscriber or querier: nothing; the publisher's session may end
    """
    marked = Put(exts=Exts((Shm(),)), payload=SLICES)
    if what == "value":
        publisher, subscriber = heard_of(scene, whole=False)
        publisher.puts("k", body=marked)
        publisher.settles_or_ends()
        subscriber.expect_no_push(step="the marked value", but=1)
        return
    querier, queryable = asked_of(scene)
    asked = querier.asks("k", consolidation=1)
    number = queryable.takes(asked, step="not reached: the query is passed on")
    queryable.says(Response(id=number, key=queryable.key("k"), body=Reply(body=marked)))
    queryable.settles_or_ends()
    querier.settles()
    came = [each for each in querier.answers(asked) if payload_of(each.message) == SLICES]
    querier.us.require(not came, expected="no Response", got="Response", step="the marked answer")


@case(
    "primitives/unknown-optional-forwarded",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(where=("network", "data"), enc=(Enc.UNIT, Enc.Z64, Enc.ZBUF)),
)
def an_unknown_extension_is_forwarded(scene: Scene, *, where: str, enc: Enc) -> None:
    """
    An extension that no page names, and that is not mandatory, goes on with the message.

        publisher  PUSH (an unknown extension, of PUSH or of PUT)
        target     to the subscriber: PUSH (the same extension)
    """
    odd = Unknown(id=0xD, enc=enc, value={Enc.UNIT: None, Enc.Z64: 300, Enc.ZBUF: b"odd"}[enc])
    body = Put(exts=Exts((odd,) if where == "data" else ()), payload=b"1")
    subscriber, push = said_and_heard(scene, body, *([odd] if where == "network" else []))

    there = odd in (push.body.exts if where == "data" else push.exts)
    subscriber.us.require(there, expected="the extension as it was said", got="none", step=f"extension of {where}")


@case(
    "push/push-direct-in-low-latency",
    profile="low-latency",
    needs=(*ROUTES, "low-latency"),
    control=a_publication_reaches_a_subscriber,
)
def a_publication_passes_without_frame(scene: Scene) -> None:
    """
    On low-latency sessions a PUSH stands in the batch by itself.

        publisher  PUSH, without FRAME
        target     to the subscriber: PUSH
    """
    publisher, subscriber = low_latency(scene, "publisher", "subscriber")
    subscriber.declares_subscriber("k")

    publisher.puts("k", b"1")

    subscriber.expect_push("k")
