"""Connections that carry no session, or one that was met under way: read and judged as what they are."""

from __future__ import annotations

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.messages import Frame, Hello, Join, KeepAlive, Push, Put, Scout, sane
from zenoh_conformance.primitives import WhatAmI, WireExpr, ZenohID
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import ConnectionDecoder, Nature
from zenoh_conformance.reading.conversation import Begins, Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.spec.requirement import requirements

INIT, RESP = Side.INITIATOR, Side.RESPONDER
PUSH = Push(key=WireExpr(scope=0, suffix="a", mapping=True), body=Put(payload=b"x"))
ZID = ZenohID(bytes(range(1, 17)))
SCOUTS = [
    Scout(what=3),
    Scout(what=7, zid=ZID),
    Hello(whatami=WhatAmI.ROUTER, zid=ZID),
    Hello(whatami=WhatAmI.PEER, zid=ZID, locators=("tcp/10.0.0.1:7447", "udp/[::1]:7447")),
]
JOIN = Join(whatami=WhatAmI.PEER, zid=ZID, lease_in_seconds=True, lease=10, next_sn_reliable=1, next_sn_best_effort=1)


def conversation(*said, framing=Framing.DATAGRAM, begins=Begins.START, opened=False):
    events = [Event(0.0, "u", INIT, Happened.OPEN)] if opened else []
    events += [
        Event(index / 10, "u", side, Happened.BYTES, data if isinstance(data, bytes) else encode(data))
        for index, (side, data) in enumerate(said)
    ]
    return Conversation({"u": Connection("u", "udp", framing, begins=begins)}, events)


def findings(conversation_):
    """What is broken that must not be."""
    return [
        (judged.law.id, finding.sender)
        for judged in judge(conversation_)
        for finding in judged.findings
        if str(requirements()[judged.law.requirement].level) not in ("SHOULD", "SHOULD NOT", "MAY")
    ]


def kinds(conversation_):
    decoder = ConnectionDecoder(conversation_.connection("u"))
    found = [seen.kind for event in conversation_ for seen in decoder.feed(event) if seen.kind != "batch"]
    return found, decoder.nature


@pytest.mark.parametrize("message", SCOUTS, ids=lambda message: type(message).__name__)
def test_scouting_is_scouting(message):
    one = conversation((INIT, message), (INIT, message))

    assert kinds(one) == ([type(message).__name__.lower()] * 2, Nature.SCOUTING)
    assert findings(one) == []


def test_everything_that_scouting_says_on_one_link():
    one = conversation(*((RESP if isinstance(message, Hello) else INIT, message) for message in SCOUTS))

    assert kinds(one)[0] == ["scout", "scout", "hello", "hello"]
    assert findings(one) == []


def test_multicast_is_judged_by_no_handshake():
    frame = Frame(reliable=True, sn=1, messages=(PUSH,))
    one = conversation(
        (INIT, JOIN), (INIT, frame), (RESP, frame), (RESP, JOIN), (INIT, KeepAlive()), (INIT, sane.close(0))
    )

    assert kinds(one)[1] is Nature.MULTICAST
    assert findings(one) == []


def test_frames_of_those_who_have_not_joined_yet_are_not_judged():
    assert findings(conversation((INIT, Frame(sn=1, messages=(PUSH,))), (INIT, JOIN))) == []


def test_init_beside_join_is_still_found():
    assert ("law/init-unicast-only", INIT) in findings(conversation((INIT, JOIN), (INIT, sane.init_syn(b"\x01"))))
    assert ("law/multicast-has-no-handshake", INIT) in findings(
        conversation((INIT, sane.init_syn(b"\x01")), (INIT, JOIN))
    )


def handshake():
    syn = sane.init_syn(b"\x01")
    ack = sane.init_ack(syn, b"\x02", b"cookie")
    return [(INIT, syn), (RESP, ack), (INIT, sane.open_syn(ack)), (RESP, sane.open_ack())]


def test_a_session_on_datagrams_is_a_session():
    one = conversation(*handshake(), (INIT, Frame(sn=0, messages=(PUSH,))))

    assert kinds(one) == (["init", "init", "open", "open", "frame", "push", "put"], Nature.UNICAST)
    assert findings(one) == []


def test_whoever_opens_a_datagram_link_and_says_something_else_is_found():
    assert ("law/init-syn-first", INIT) in findings(conversation((INIT, KeepAlive()), opened=True))


@pytest.mark.parametrize(
    ("begins", "batch"),
    [
        (Begins.MIDDLE, frame_batch(encode(Frame(sn=7, messages=(PUSH,))))),
        (Begins.COMPRESSED, frame_batch(encode(Frame(sn=7, messages=(PUSH,))), compressed=True)),
        (Begins.LOWLATENCY, frame_batch(encode(PUSH), prefix=4)),
    ],
)
def test_a_session_met_under_way_is_read_and_not_judged_by_its_beginning(begins, batch):
    one = conversation((RESP, batch), (INIT, batch), framing=Framing.STREAM, begins=begins)

    assert kinds(one)[0][-2:] == ["push", "put"]
    assert findings(one) == []


def test_what_cannot_be_read_in_a_session_is_told_by_where_it_stands():
    cut = encode(Frame(sn=0, messages=(PUSH,)))[:-1]
    unknown_in_frame = encode(Frame(sn=0, messages=(PUSH,)))[:2] + bytes.fromhex("9d003a")
    for bad, law in [
        (cut, "law/what-is-said-decodes"),
        (unknown_in_frame, "law/what-is-said-decodes"),
        (b"\x0b\x01", "law/what-is-said-decodes"),
        (encode(Frame(sn=0, messages=(PUSH,))) + b"\x12", "law/what-is-said-decodes"),
        (encode(PUSH), "law/frame-transport-by-default"),  # which cannot be read as a transport message either
        (encode(KeepAlive()) + encode(PUSH), "law/frame-transport-by-default"),
    ]:
        said = [(side, frame_batch(encode(message))) for side, message in handshake()]
        one = conversation(*said, (RESP, frame_batch(bad)), framing=Framing.STREAM)
        assert (law, RESP) in findings(one), bad.hex()


@pytest.mark.parametrize("resets", [INIT, RESP])
def test_the_last_word_of_a_low_latency_link_that_is_reset_is_heard(resets):
    syn = sane.init_syn(b"\x01", exts=sane.offers("LowLatency"))
    ack = sane.init_ack(syn, b"\x02", b"cookie", exts=sane.offers("LowLatency"))
    steps = [(INIT, syn), (RESP, ack), (INIT, sane.open_syn(ack)), (RESP, sane.open_ack()), (RESP, sane.close(0))]
    one = conversation(*((side, frame_batch(encode(each))) for side, each in steps), framing=Framing.STREAM)
    one.events.append(Event(1.0, "u", resets, Happened.RESET))

    decoder = ConnectionDecoder(one.connection("u"))
    seen = [each for event in one for each in decoder.feed(event)][-1]

    assert (seen.kind, seen.sender) == ("close", RESP)
    said = {judged.sender: judged.subjects for judged in judge(one) if judged.law.id == "law/nothing-after-close"}
    assert said[RESP] == 1


def test_half_a_batch_that_a_reset_cuts_off_is_nobody_s_fault():
    decoder = ConnectionDecoder()
    events = [Event(0.0, "a", INIT, Happened.BYTES, b"\x09\0\x04"), Event(0.0, "a", RESP, Happened.RESET)]

    assert [seen for event in events for seen in decoder.feed(event)] == []
