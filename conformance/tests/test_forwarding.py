"""The pairing of what a router forwards with what it received, and the table that says what it may change."""

from dataclasses import fields, replace

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.laws.forwarding import FORWARDED
from zenoh_conformance.laws.origins import MOST
from zenoh_conformance.laws.receivers import SENTENCES
from zenoh_conformance.messages import (
    Declare,
    Del,
    DQueryable,
    DSubscriber,
    Err,
    Frame,
    Push,
    Put,
    PutAttachment,
    Query,
    Reply,
    Request,
    Response,
    sane,
)
from zenoh_conformance.primitives import Encoding, Timestamp, ZenohID
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.reading.names import plain
from zenoh_conformance.tables.forwarding import ROWS
from zenoh_conformance.wire import NO_EXTS, Exts
from zenoh_conformance.wire.describe import describe

ROUTER, NEAR, FAR = b"\x01", b"\x02\x02", b"\x03\x03"
OURS, THEIRS = "zconform/0011223344556677/k", "demo/k"
STAMP = Timestamp(time=1 << 40, zid=ZenohID(NEAR))
ATTACHED = Exts((PutAttachment(payload=b"a"),))
CHAINS = {
    "push.put": (Push, Put), "push.del": (Push, Del), "request.query": (Request, Query), "response.err": (Response, Err),
    "response.reply.put": (Response, Reply, Put), "response.reply.del": (Response, Reply, Del),
}  # fmt: skip
NOT_COMPARED = {"id", "key", "exts", "body"}
"""Ids are those of the receiver; keys are compared whole, in a row of their own."""
SHARED_MEMORY = {"shm", "body_shm"}
"""What lies in shared memory is no field to forward (push#shm)."""


def said(side, message, link):
    return Event(0.0, link, side, Happened.BYTES, frame_batch(encode(message)))


def session(link, zid):
    return [
        said(Side.INITIATOR, sane.init_syn(zid), link),
        said(Side.RESPONDER, sane.init_ack(sane.init_syn(zid), ROUTER, b"c"), link),
    ]


def came(message, link="near"):
    return said(Side.INITIATOR, Frame(sn=1, messages=(message,)), link)


def went(message, link="far"):
    return said(Side.RESPONDER, Frame(sn=1, messages=(message,)), link)


WHAT = [each for each in FORWARDED if each.sentence not in SENTENCES.values()]
TO_WHOM = [each for each in FORWARDED if each.sentence in SENTENCES.values()]


def findings(*events, laws=WHAT):
    """The paths of the findings of the laws about what is forwarded, which are all about the router."""
    every = judge(Conversation(events=[*session("near", NEAR), *session("far", FAR), *events]), laws)
    assert all(each.sender is Side.RESPONDER for each in every if each.findings)
    return [finding.path for each in every for finding in each.findings]


def push(key=OURS, exts=NO_EXTS, **fields):
    return Push(key=plain(key), body=Put(payload=fields.pop("payload", b"1"), exts=exts, **fields))


@pytest.mark.parametrize("chain", CHAINS)
def test_every_field_and_extension_has_a_row(chain):
    rows = {row.path for row in ROWS if row.chain == chain}
    wanted = set()
    for depth, cls in enumerate(CHAINS[chain]):
        here = ".".join(chain.split(".")[: depth + 1])
        wanted |= {f"{here}.{field.name}" for field in fields(cls) if field.name not in NOT_COMPARED}
        wanted |= {f"{here}.exts.{ext.path}" for ext in describe(cls).extensions if ext.path not in SHARED_MEMORY}

    assert [path for path in sorted(wanted) if not any(f"{row}.".startswith(f"{path}.") for row in rows)] == []


def test_a_copy_is_right_and_one_with_another_field_is_not():
    assert findings(came(push(exts=ATTACHED)), went(push(exts=ATTACHED))) == []
    assert findings(came(push(exts=ATTACHED)), went(push())) == ["push.put.exts.attachment"]
    assert findings(came(push()), went(push(payload=b"2"))) == ["push.put.payload"]


def test_the_second_receiver_gets_the_same():
    third = session("third", b"\x04\x04")

    right = [came(push(exts=ATTACHED)), went(push(exts=ATTACHED))]
    assert findings(*third, *right, went(push(exts=ATTACHED), "third")) == []
    assert findings(*third, *right, went(push(), "third")) == ["push.put.exts.attachment"]


def test_a_timestamp_may_be_added_and_not_changed():
    assert findings(came(push()), went(push(timestamp=STAMP))) == []
    later = replace(STAMP, time=STAMP.time + 1)
    assert findings(came(push(timestamp=STAMP)), went(push(timestamp=later))) == ["push.put.timestamp"]


def test_the_default_said_is_the_default():
    assert findings(came(push()), went(push(encoding=Encoding(0)))) == []


def test_under_a_key_that_others_may_use_a_message_may_be_the_nodes_own():
    assert findings(came(push(THEIRS)), went(push(THEIRS, payload=b"2"))) == []


def test_one_timestamp_is_one_publication_under_any_key():
    assert findings(came(push(THEIRS, timestamp=STAMP)), went(push(THEIRS, timestamp=STAMP, payload=b"2"))) == [
        "push.put.payload"
    ]


def test_a_publication_goes_under_its_own_key():
    assert findings(came(push()), went(push(f"{OURS}x"))) == ["push.put.key"]


def test_what_resembles_two_is_not_judged():
    assert findings(came(push(payload=b"1")), came(push(payload=b"2")), went(push(payload=b"3"))) == []


def test_what_was_dropped_or_comes_in_another_order_is_right():
    two = [came(push(payload=b"1")), came(push(payload=b"2"))]

    assert findings(*two, went(push(payload=b"2"))) == []
    assert findings(*two, went(push(payload=b"2")), went(push(payload=b"1"))) == []


def test_what_may_come_from_a_broken_batch_is_not_charged_to_what_was_dropped():
    whole = encode(Frame(sn=2, messages=(push(payload=b"2"),)))
    broken = Event(0.0, "near", Side.INITIATOR, Happened.BYTES, frame_batch(whole + b"\x7d\x00\x03"))

    assert findings(came(push(payload=b"1")), broken, went(push(payload=b"2"))) == []


def test_more_than_is_remembered_is_not_judged():
    many = [came(push(payload=b"%d" % number)) for number in range(MOST + 1)]

    assert findings(*many, went(push(payload=b"0"))) == []


def test_an_answer_belongs_to_its_query_whatever_the_ids():
    asked = [
        came(Request(id=7, key=plain(OURS), body=Query())), went(Request(id=0, key=plain(OURS), body=Query())),
        came(Response(id=0, key=plain(OURS), body=Reply(body=Put(payload=b"1"))), "far"),
    ]  # fmt: skip

    def answer(body, key=OURS):
        return went(Response(id=7, key=plain(key), body=body), "near")

    assert findings(*asked, answer(Reply(body=Put(payload=b"1")))) == []
    assert findings(*asked, answer(Reply(body=Put(payload=b"2")))) == ["response.reply.put.payload"]
    assert findings(*asked, answer(Reply(body=Put(payload=b"1")), f"{OURS}x")) == ["response.reply.put.key"]
    assert findings(*asked, answer(Reply(body=Del()))) == ["response.reply.put.kind"]


def test_an_error_of_the_routers_own_is_no_answer_of_another():
    asked = [
        came(Request(id=7, key=plain(OURS), body=Query())), went(Request(id=0, key=plain(OURS), body=Query())),
        came(Response(id=0, key=plain(OURS), body=Err(payload=b"no")), "far"),
    ]  # fmt: skip

    assert findings(*asked, went(Response(id=7, key=plain(""), body=Err(payload=b"Timeout")), "near")) == []


def declared(body, link="far"):
    return came(Declare(body=body), link)


def test_what_nobody_declared_is_forwarded_to_no_client():
    query = Request(id=1, key=plain(OURS), body=Query())

    assert findings(came(push()), went(push()), laws=TO_WHOM) == ["push.key"]
    assert findings(came(query), went(query), laws=TO_WHOM) == ["request.key"]
    beside = declared(DSubscriber(id=1, key=plain(f"{OURS}/x")))
    assert findings(beside, came(push()), went(push()), laws=TO_WHOM) == ["push.key"]


@pytest.mark.parametrize("key", [OURS, f"{OURS}/**", "**"])
def test_what_a_client_declared_is_forwarded_to_it(key):
    query = Request(id=1, key=plain(OURS), body=Query())

    subscribed, served = declared(DSubscriber(id=1, key=plain(key))), declared(DQueryable(id=1, key=plain(key)))
    assert findings(subscribed, came(push()), went(push()), laws=TO_WHOM) == []
    assert findings(served, came(query), went(query), laws=TO_WHOM) == []


def test_what_a_router_says_of_its_own_may_go_to_anybody():
    assert findings(went(push()), laws=TO_WHOM) == []
    assert findings(came(push(THEIRS)), went(push(THEIRS)), laws=TO_WHOM) == []


def test_a_client_that_said_what_cannot_be_read_may_have_declared_anything():
    odd = Event(0.0, "far", Side.INITIATOR, Happened.BYTES, frame_batch(b"\x25\x01\xff"))

    assert findings(odd, came(push()), went(push()), laws=TO_WHOM) == []
