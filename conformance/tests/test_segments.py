"""Segments: edited by path, and the lengths, counts and chain bits around the edit stay true, or lie when asked."""

import pytest

from zenoh_conformance.messages import (
    Del,
    Frame,
    Hello,
    Init,
    Join,
    NextSn,
    Open,
    Push,
    Put,
    Query,
    Request,
    init,
    join,
    network,
)
from zenoh_conformance.messages.put import PutAttachment
from zenoh_conformance.primitives import Encoding, WhatAmI, WireExpr, ZenohID
from zenoh_conformance.reading import codec
from zenoh_conformance.reading.codec import DecodeError, Layer
from zenoh_conformance.wire.extensions import exts
from zenoh_conformance.wire.segment import Measure, Segment

ZID = ZenohID.parse("c0ffee")
OPEN = Open(ack=False, lease_in_seconds=True, lease=10, initial_sn=7, cookie=b"\x01\x02")
INIT = Init(
    ack=False, whatami=WhatAmI.PEER, zid=ZID, exts=exts(init.QoS(), init.Auth(payload=b"abc"), init.Patch(value=1))
)
PUT = Put(encoding=Encoding(4, b"x"), payload=b"hello", exts=exts(PutAttachment(payload=b"att")))
PUSH = Push(key=WireExpr(0, "a/b"), exts=exts(network.QoS(value=8)), body=PUT)
FRAME = Frame(sn=9, messages=(PUSH, Push(key=WireExpr(3), body=Del())))
HELLO = Hello(whatami=WhatAmI.ROUTER, zid=ZID, locators=("tcp/a:1", "udp/b:2"))


def read(segments, layer=Layer.TRANSPORT):
    """The message that edited segments are, and nothing to say about it."""
    decoded = codec.decode_whole(segments.join(), layer)
    assert {each.kind for each in decoded.diagnostics} <= {"duplicate-extension", "unknown-extension"}
    return decoded.message


def test_paths_name_every_piece():
    assert codec.segments(OPEN).paths() == [
        "open.header", "open.lease", "open.initial_sn", "open.cookie.length", "open.cookie.bytes"
    ]  # fmt: skip
    paths = codec.segments(FRAME).paths()
    assert "frame.messages[0].push.put.payload.bytes" in paths
    assert "frame.messages[0].push.key.suffix.length" in paths
    assert "frame.messages[1].push.del.header" in paths
    assert codec.segments(INIT).get("init.exts.auth").data.hex() == "c303616263"
    assert codec.segments(INIT).get("init.exts.patch.value").note == "1"


def test_replacing_what_has_a_length():
    assert read(codec.segments(OPEN).replace("open.cookie", b"longer")).cookie == b"longer"
    assert read(codec.segments(OPEN).replace("open.cookie.bytes", b"")).cookie == b""


def test_a_length_that_lies_stays_a_lie():
    lying = codec.segments(OPEN).replace("open.cookie.length", b"\x7f")
    assert lying.replace("open.lease", b"\x05").join().hex() == "4205077f0102"
    short = codec.segments(OPEN).replace("open.cookie.bytes", b"\x09" * 5, recompute=False)
    assert short.replace("open.lease", b"\x05").join().hex() == "42050702" + "09" * 5
    with pytest.raises(DecodeError):
        codec.decode_whole(lying.join())


def test_the_nibble_of_a_zenohid_follows():
    assert str(read(codec.segments(INIT).replace("init.zid", b"\x01" * 16)).zid) == "01" * 16
    assert codec.segments(INIT).replace("init.zid", b"\x01", recompute=False).get("init.packed").data.hex() == "21"


def test_nested_lengths_follow():
    inner = codec.segments(Push(key=WireExpr(1), exts=exts(stamps()), body=Del()))
    longer = inner.replace("push.exts.ts_stack.entries[0].stamp", b"s" * 200)
    assert read(longer, Layer.NETWORK).exts.get(network.TsStack).entries[0].stamp == b"s" * 200


def stamps():
    """A TsStack of two."""
    entries = tuple(network.TsEntry(flags=1, stamp=stamp) for stamp in (b"one", b"two"))
    return network.TsStack(conf_flags=1, entries=entries)


def test_counts_follow():
    hello = codec.segments(HELLO)
    assert read(hello.cut("hello.locators[0]"), Layer.SCOUTING).locators == ("udp/b:2",)
    assert read(hello.double("hello.locators[1]"), Layer.SCOUTING).locators == ("tcp/a:1", "udp/b:2", "udp/b:2")
    assert read(hello.swap("hello.locators[0]", "hello.locators[1]"), Layer.SCOUTING).locators[0] == "udp/b:2"
    inner = codec.segments(Push(key=WireExpr(1), exts=exts(stamps()), body=Del()))
    assert len(read(inner.cut("push.exts.ts_stack.entries[1]"), Layer.NETWORK).exts.get(network.TsStack).entries) == 1


def test_chain_bits_follow():
    names = ["qos", "auth", "patch"]
    whole = codec.segments(INIT)
    for name in names:
        left = read(whole.cut(f"init.exts.{name}")).exts
        assert [type(each).__name__.lower() for each in left] == [other for other in names if other != name]
        doubled = read(whole.double(f"init.exts.{name}")).exts
        assert len(doubled) == 4
    assert read(whole.swap("init.exts.qos", "init.exts.patch")).exts == tuple(reversed(INIT.exts))
    assert read(whole.cut("init.exts")).exts == ()


def test_inserting_an_extension():
    unknown = Segment("init.exts.unknown_9", b"\x09", measure=Measure("chain", "init.exts"))
    assert len(read(codec.segments(INIT).insert_after("init.exts.qos", unknown)).exts) == 4
    last = codec.segments(Open(ack=True, lease=1, initial_sn=0)).insert_after(
        "open.initial_sn", Segment("open.exts.unknown_9", b"\x09")
    )
    assert last.get("open.header").data == b"\xa2"
    assert len(read(last).exts) == 1


def test_messages_of_a_frame():
    frame = codec.segments(FRAME)
    assert [type(each.body) for each in read(frame.double("frame.messages[0]")).messages] == [Put, Put, Del]
    assert [type(each.body) for each in read(frame.swap("frame.messages[0]", "frame.messages[1]")).messages] == [
        Del,
        Put,
    ]
    assert len(read(frame.cut("frame.messages[0].push.exts")).messages) == 2


def test_the_fixed_list_of_a_join_can_be_too_long():
    sns = tuple(NextSn(reliable=index, best_effort=index) for index in range(8))
    text = Join(whatami=WhatAmI.PEER, zid=ZID, lease=1, next_sn_reliable=0, next_sn_best_effort=0,
                exts=exts(join.QoS(sns=sns)))  # fmt: skip
    longer = codec.segments(text).double("join.exts.qos.sns[7]")
    [surplus] = codec.decode_whole(longer.join()).diagnostics
    assert (surplus.kind, surplus.path) == ("non-canonical", "join.exts.qos")


def test_what_is_not_there():
    with pytest.raises(KeyError, match=r"init\.packed"):
        codec.segments(INIT).replace("init.cookie", b"")
    with pytest.raises(ValueError, match="overlap"):
        codec.segments(OPEN).swap("open.cookie", "open.cookie.length")
    with pytest.raises(KeyError):
        codec.segments(OPEN).get("open.cook")


def test_segments_of_bytes_as_they_came():
    traced = codec.trace(bytes.fromhex("228a000107"[:8]))
    assert traced.segments.get("open.lease").data.hex() == "8a00"
    broken = codec.trace(bytes.fromhex("020a"))
    assert broken.segments.paths() == ["open.header", "open.lease"]
    assert broken.refusal.path == "open.initial_sn"


def test_segments_are_the_fast_bytes():
    for message, layer in ((OPEN, Layer.TRANSPORT), (INIT, Layer.TRANSPORT), (FRAME, Layer.TRANSPORT),
                           (Request(id=1, key=WireExpr(1), body=Query()), Layer.NETWORK)):  # fmt: skip
        assert codec.segments(message).join() == codec.encode(message)
        assert read(codec.segments(message), layer) == message
