"""Explain: every byte has its line, what cannot be explained is shown as such."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zenoh_conformance import strategies
from zenoh_conformance.messages import Close, Frame, Init, KeepAlive, Open, Push, Put, init
from zenoh_conformance.primitives import WhatAmI, WireExpr, ZenohID
from zenoh_conformance.reading import batch, codec
from zenoh_conformance.reading.explain import READINGS, Layer, explain
from zenoh_conformance.wire.extensions import exts

OPEN = Open(ack=True, lease_in_seconds=True, lease=10, initial_sn=7)
FRAME = Frame(sn=9, messages=(Push(key=WireExpr(0, "a/b"), body=Put(payload=b"hello" * 20)),))


def whole(text):
    """The bytes of the lines, put together."""
    return b"".join(line.data for line in text.lines if not line.inside)


@pytest.mark.parametrize("layer", [None, *READINGS], ids=str)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=40))
def test_no_byte_is_lost(layer, data):
    text = explain(data, layer)
    assert whole(text) == data
    assert text.ok == (bool(data) and text.explained == len(data) and text.refusal is None)
    if text.refusal:
        assert 0 <= text.refusal.at <= len(data)
    json.dumps(text.to_json())
    list(text.text())


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([Layer.TRANSPORT, Layer.NETWORK, Layer.SCOUTING]).flatmap(
    lambda layer: st.tuples(st.just(layer), strategies.of_layer(layer))))  # fmt: skip
def test_every_message_is_explained(drawn):
    layer, message = drawn
    data = codec.encode(message)
    assert explain(data, layer).ok
    assert explain(data).ok


@pytest.mark.parametrize(
    ("layer", "data"),
    [
        (Layer.BATCH, codec.encode(OPEN) + codec.encode(FRAME)),
        (Layer.STREAM, batch.frame_batch(codec.encode(OPEN)) + batch.frame_batch(codec.encode(FRAME))),
        (Layer.LOWLATENCY, batch.frame_batch(codec.encode(FRAME.messages[0]), prefix=4)),
        (Layer.NETWORK, codec.encode(FRAME.messages[0])),
        (Layer.SCOUTING, bytes.fromhex("010903")),
    ],
)
def test_the_layer_is_guessed(layer, data):
    text = explain(data)
    assert (text.layer, text.ok) == (layer, True)


def test_a_datagram_is_either():
    assert explain(bytes.fromhex("010903"), Layer.DATAGRAM).ok
    assert explain(codec.encode(FRAME), Layer.DATAGRAM).ok


def test_a_compressed_batch_is_shown_with_what_it_expands_to():
    stream = batch.frame_batch(codec.encode(OPEN)) + batch.frame_batch(codec.encode(FRAME), compressed=True)
    text = explain(stream, Layer.STREAM)
    assert text.ok
    assert whole(text) == stream
    assert b"".join(line.data for line in text.lines if line.inside) == codec.encode(FRAME)
    raw = batch.frame_batch(codec.encode(KeepAlive()), compressed=True)
    assert explain(raw, Layer.STREAM).ok


def test_the_handshake_tells_how_the_stream_goes_on():
    syn = Init(ack=False, whatami=WhatAmI.CLIENT, zid=ZenohID(b"a"), exts=exts(init.Compression()))
    after = batch.frame_batch(codec.encode(KeepAlive()), compressed=True)
    start = batch.frame_batch(codec.encode(syn)) + batch.frame_batch(codec.encode(OPEN))
    assert explain(start + after, Layer.STREAM).messages == [syn, OPEN, KeepAlive()]
    syn = Init(ack=False, whatami=WhatAmI.CLIENT, zid=ZenohID(b"a"), exts=exts(init.LowLatency()))
    start = batch.frame_batch(codec.encode(syn)) + batch.frame_batch(codec.encode(OPEN))
    after = batch.frame_batch(codec.encode(FRAME.messages[0]), prefix=4)
    assert explain(start + after, Layer.STREAM).messages == [syn, OPEN, FRAME.messages[0]]
    refused = batch.frame_batch(codec.encode(KeepAlive()))
    assert explain(start + refused, Layer.STREAM).messages == [syn, OPEN, KeepAlive()]


def test_after_a_bad_batch_the_next_is_explained():
    stream = b"\x03\x00\x08\x01\x02" + batch.frame_batch(codec.encode(Close(reason=2)))
    text = explain(stream, Layer.STREAM)
    assert [line.path for line in text.lines] == [
        "batch[0].length", "batch[0].unexplained", "batch[1].length", "batch[1].close.header", "batch[1].close.reason"
    ]  # fmt: skip
    assert not text.ok
    assert text.refusal.at == 2


def test_text_as_people_see_it():
    text = list(explain(bytes.fromhex("6303024a8a00"), Layer.BATCH).text())
    assert text[0].split() == ["0", "63", "close.header", "CLOSE,", "S:", "session"]
    assert "reserved-bit" in text[1]
    assert text[2].split() == ["1", "03", "reason", "3", "MAX_SESSIONS"]
    assert text[-1].startswith("refused at byte")


def test_what_a_peer_controls_is_escaped():
    push = Push(key=WireExpr(0, "a\x1b[31m\u202e\n"), body=Put(payload=b"\x1b[2J"))
    text = "\n".join(explain(codec.encode(push), Layer.NETWORK).text())
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("digits", "remark"),
    [
        ("c1 09 12 65 5a 0a 02 00 01", "too small for any message"),
        ("02 00 00 00", "0 ms: expires before any message can renew it"),
        ("42 00 00 00", "0 s: expires before any message can renew it"),
    ],
)
def test_values_that_no_sender_can_keep_have_a_remark(digits, remark):
    assert any(remark in line for line in explain(bytes.fromhex(digits)).text())


def test_what_one_can_just_keep_to_is_not():
    assert not any("nobody" in line for line in explain(bytes.fromhex("c1 09 12 65 5a 0a 03 00 01")).text())
