"""What live nodes of zenoh-rust 1.10.2 sent through a recording proxy; each recording negotiated one thing otherwise.

Nothing that they sent is refused, all of it is written again byte for byte, and every byte is explained.
"""

from collections import Counter
from pathlib import Path

import pytest

from zenoh_conformance.messages import Fragment, Frame
from zenoh_conformance.reading import batch, codec
from zenoh_conformance.reading.codec import Layer
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.explain import explain
from zenoh_conformance.reading.fragments import Defragmenter
from zenoh_harness.files import conversations

RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.jsonl"))
every_recording = pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)

NEVER_SENT = {"join", "oam", "scout", "hello"}
"""What goes over no session of two nodes on TCP."""

SENT = {
    "init": 20, "open": 20, "close": 10, "keep_alive": 1, "frame": 100, "fragment": 8, "push": 60, "put": 60, "del": 8,
    "request": 12, "query": 12, "response": 30, "reply": 20, "err": 10, "response_final": 12, "declare": 100,
    "interest": 20, "d_key_expr": 20, "d_subscriber": 8, "u_subscriber": 5, "d_queryable": 5, "u_queryable": 5,
    "d_token": 8, "u_token": 6, "d_final": 10, "network_oam": 1,
}  # fmt: skip
"""How often each is seen at least; a recorder that loses something is noticed."""


LAST_OF_LOW_LATENCY = b"\x02\x00\x03\x00"
"""CLOSE after a length of two bytes, where all others have four: the baseline ends its low-latency sessions so."""


def seen(path):
    """Every message of a recording, with what carries it."""
    conversation = conversations.read(path)
    for connection in conversation.connections.values():
        decoder = ConnectionDecoder(connection)
        for event in conversation:
            if event.connection == connection.name:
                yield from (each for each in decoder.feed(event) if not is_last_of_low_latency(path, each))


def is_last_of_low_latency(path, each):
    """Whether this is the end that cannot be read as the session goes."""
    return (path.stem, each.kind, each.raw) == ("lowlatency", "undecodable", LAST_OF_LOW_LATENCY)


@every_recording
def test_nothing_is_refused_and_nothing_has_to_be_said(path):
    for each in seen(path):
        assert each.kind != "undecodable", each
        assert not each.diagnostics, each


@every_recording
def test_each_message_is_written_again_byte_for_byte(path):
    count = 0
    for each in seen(path):
        if each.kind != "batch" and not each.around:
            assert codec.encode(each.message) == each.raw
            assert codec.segments(each.message).join() == each.raw
            count += 1
    assert count > 30


@every_recording
def test_each_stream_is_explained(path):
    conversation = conversations.read(path)
    for name in conversation.connections:
        for side in Side:
            stream = b"".join(event.data for event in conversation if (event.connection, event.sender) == (name, side))
            text = explain(stream, Layer.STREAM)
            assert text.ok, text.refusal
            assert b"".join(line.data for line in text.lines if not line.inside) == stream
            assert not text.diagnostics


def test_fragments_become_messages():
    whole = []
    for path in RECORDINGS:
        lanes = {}
        for each in seen(path):
            if isinstance(each.message, Frame | Fragment):
                put_together = lanes.setdefault((each.connection, each.sender), Defragmenter(marks=True))
                whole.append(put_together.feed(each.message))
                assert put_together.dropped is None
    pushes = [codec.decode_whole(data, Layer.NETWORK).message for data in whole if data]
    assert [len(push.body.payload) for push in pushes] == [4000] * len(pushes)
    assert len(pushes) >= 2


def test_every_kind_was_sent():
    counted = Counter(each.kind for path in RECORDINGS for each in seen(path))
    print("\n".join(f"{kind:16} {count:5}" for kind, count in sorted(counted.items())))
    assert {kind: count for kind, count in SENT.items() if counted[kind] < count} == {}
    assert not NEVER_SENT & set(counted)


def test_compression_was_used():
    compressed = Path(__file__).parent / "recordings" / "compression.jsonl"
    batches = [each.raw for each in seen(compressed) if each.kind == "batch"]
    assert any(data[:1] == b"\x01" and len(batch.decompress(data)) > len(data) for data in batches[8:] if data[0] == 1)
