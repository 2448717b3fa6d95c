"""Explain opens what the codec leaves whole, where its form is known, and leaves everything else as it is."""

import pytest

from zenoh_conformance.messages import Init, Join, Open, Push, Put, init
from zenoh_conformance.messages import open as opening
from zenoh_conformance.messages.data import Shm
from zenoh_conformance.messages.join import NextSn
from zenoh_conformance.messages.join import QoS as Lanes
from zenoh_conformance.messages.network import TsEntry, TsStack
from zenoh_conformance.primitives import WhatAmI, WireExpr, ZenohID
from zenoh_conformance.reading.codec import Layer, encode
from zenoh_conformance.reading.explain import explain
from zenoh_conformance.wire.extensions import exts

KEY = b"\x40" + b"m" * 64 + b"\x03\x01\0\1"


def told(message, below, layer):
    """The lines of a message under a path, without it."""
    data = encode(message)
    text = explain(data, layer)
    assert text.ok
    assert b"".join(line.data for line in text.lines) == data
    return [
        (line.path.partition(below)[2].lstrip("."), line.data.hex(), line.note)
        for line in text.lines
        if below in line.path
    ]


def of_init(extension, below):
    syn = Init(ack=False, whatami=WhatAmI.CLIENT, zid=ZenohID(b"\1"), exts=exts(extension))
    return told(syn, below, Layer.TRANSPORT)


def of_open(extension, below):
    syn = Open(ack=False, lease=1, initial_sn=1, cookie=b"c", exts=exts(extension))
    return told(syn, below, Layer.TRANSPORT)


def of_push(below, body, *extensions):
    return told(Push(key=WireExpr(0, "a"), exts=exts(*extensions), body=body), below, Layer.NETWORK)


def test_authentication_is_a_chain_by_method():
    assert of_init(init.Auth(payload=b"\xa1\x05\x22\x85\x01"), "auth.payload") == [
        ("method_1.header", "a1", "method 1, z64"),
        ("method_1.value", "05", "5"),
        ("user_password.header", "22", "method 2 user and password, z64"),
        ("user_password.nonce", "8501", "133"),
    ]


def test_a_user_and_a_hash_are_told_apart():
    assert of_open(init.Auth(payload=b"\x42\x06\x02me\x02\x12\x32"), "auth.payload")[2:] == [
        ("user_password.user.length", "02", "2 bytes"),
        ("user_password.user.bytes", "6d65", "2 bytes 'me'"),
        ("user_password.hash.length", "02", "2 bytes"),
        ("user_password.hash.bytes", "1232", "2 bytes"),
    ]


def test_a_key_and_the_challenges_of_several_links():
    shown = [path for path, _, _ in of_init(init.MultiLink(payload=KEY + b"\x40" + b"c" * 64), "multi_link.payload")]
    proved = [
        path for path, _, _ in of_open(opening.MultiLinkSyn(payload=b"\x40" + b"a" * 64), "multi_link_syn.payload")
    ]

    assert shown == [f"{part}.{half}" for part in ("modulus", "exponent", "challenge") for half in ("length", "bytes")]
    assert proved == ["answer.length", "answer.bytes"]


def test_slices_one_by_one():
    assert of_push("payload.slices", Put(exts=exts(Shm()), payload=b"\x02\x00\x02ab\x01\x01\xff")) == [
        ("count", "02", "2 slices"),
        ("[0].kind", "00", "0 the bytes themselves"),
        ("[0].length", "02", "2 bytes"),
        ("[0].bytes", "6162", "2 bytes 'ab'"),
        ("[1].kind", "01", "1 where in shared memory they are"),
        ("[1].length", "01", "1 byte"),
        ("[1].bytes", "ff", "1 byte"),
    ]


@pytest.mark.parametrize(("flags", "paths"), [(1, ["time", "zid.length", "zid.bytes"]), (0x81, [""])])
def test_a_stamp_is_a_timestamp_unless_it_is_the_applications(flags, paths):
    stack = TsStack(conf_flags=1, entries=(TsEntry(flags=flags, stamp=b"\x05\x01\x0b"),))

    assert [path for path, _, _ in of_push("stamp.bytes", Put(payload=b"v"), stack)] == paths


def test_the_numbers_of_a_join_name_their_lane():
    lanes = Lanes(sns=tuple(NextSn(reliable=1, best_effort=300 + place) for place in range(8)))
    join = Join(
        whatami=WhatAmI.PEER, zid=ZenohID(b"\1"), lease=1, next_sn_reliable=0, next_sn_best_effort=0, exts=exts(lanes)
    )

    assert [note for _, _, note in told(join, "qos.sns[7]", Layer.TRANSPORT)] == [
        "1, lane 7 Background",
        "307, lane 7 Background",
    ]


def test_what_a_link_of_several_is_for():
    assert of_init(init.QoSLink(value=0x83023), "qos_link.value")[0][2] == "0x83023: priorities 4 to 6, reliable"


@pytest.mark.parametrize(
    "payload", [b"abc", b"\x82", b"\x42\x09\x02me", b"\x42\x04\x02me\x09", b"\x62\x00", b"\x02\x02"]
)
def test_another_form_of_authentication_stays_whole(payload):
    assert of_init(init.Auth(payload=payload), "auth.payload") == [("", payload.hex(), explain_note(payload))]


def explain_note(payload):
    return f"{len(payload)} byte{'s' * (len(payload) > 1)}" + (" 'abc'" if payload == b"abc" else "")


@pytest.mark.parametrize("payload", [b"qr", b"\x01a\x01b", KEY + b"\x01", KEY + b"\x01a\x01b", b"\x40" + b"m" * 64])
def test_another_form_of_a_key_stays_whole(payload):
    assert len(of_init(init.MultiLink(payload=payload), "multi_link.payload")) == 1


def test_what_has_no_known_form_stays_whole():
    assert len(of_open(opening.ShmAnswer(payload=b"\x02\x01a"), "shm_answer.payload")) == 1
    assert len(of_init(init.Shm(payload=b"\x02\x01a"), "shm.payload")) == 1
