"""Batches: prefixes, several messages, compression with a bound; fragments and their whole."""

import lz4.block
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zenoh_conformance.messages import Close, Del, Frame, KeepAlive, Push
from zenoh_conformance.messages.fragment import Drop
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading import batch, codec
from zenoh_conformance.reading.codec import DecodeError, EncodeError, Layer
from zenoh_conformance.reading.fragments import Defragmenter, fragment
from zenoh_conformance.wire.extensions import exts

PUSH = Push(key=WireExpr(1), body=Del())
FRAME = Frame(sn=1, messages=(PUSH, PUSH))
MIXED = codec.encode(KeepAlive()) + codec.encode(FRAME) + codec.encode(Close(reason=0))


def test_several_messages_also_after_a_frame():
    read = list(batch.decode_batch(MIXED))
    assert [each.message for each in read] == [KeepAlive(), FRAME, Close(reason=0)]
    assert [each.at for each in read] == [0, 1, 3 + 2 * len(codec.encode(PUSH))]
    assert codec.decode_batch(MIXED) == read


def test_what_was_read_before_the_refusal_is_kept():
    *read, refusal = batch.decode_batch(MIXED + b"\x08\x01")
    assert len(read) == 3
    assert isinstance(refusal, DecodeError)
    assert refusal.at == len(MIXED)
    with pytest.raises(DecodeError):
        codec.decode_batch(MIXED + b"\x08")


def test_low_latency_has_no_frame():
    bare = codec.encode(PUSH) + codec.encode(KeepAlive()) + codec.encode(Close(reason=1))
    assert [each.message for each in batch.decode_batch(bare, Layer.LOWLATENCY)] == [PUSH, KeepAlive(), Close(reason=1)]
    [refusal] = batch.decode_batch(codec.encode(FRAME), Layer.LOWLATENCY)
    assert isinstance(refusal, DecodeError)


@pytest.mark.parametrize("prefix", [batch.STREAM_PREFIX, batch.LOWLATENCY_PREFIX])
@settings(deadline=None)
@given(batches=st.lists(st.binary(max_size=9)), cut=st.integers(0, 30))
def test_a_stream_comes_apart_again(prefix, batches, cut):
    stream = b"".join(batch.frame_batch(each, prefix=prefix) for each in batches)
    assert batch.split(stream, prefix) == (batches, b"")
    first, rest = batch.split(stream[:cut], prefix)
    again, rest = batch.split(rest + stream[cut:], prefix)
    assert (first + again, rest) == (batches, b"")


def test_a_datagram_has_no_prefix():
    assert batch.frame_batch(MIXED, "datagram") == MIXED
    assert batch.frame_batch(MIXED, "datagram", compressed=True) == batch.compress(MIXED)


def test_a_batch_that_no_length_can_tell():
    with pytest.raises(EncodeError):
        batch.frame_batch(bytes(65536))
    assert batch.frame_batch(bytes(65536), prefix=4)[:4].hex() == "00000100"


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_compression_round_trip(data):
    for content in (data, data * 9):
        packed = batch.compress(content)
        assert batch.decompress(packed) == content
        assert len(packed) <= len(content) + 1


def test_compression_bits_that_nobody_defined_are_ignored():
    assert batch.decompress(b"\xfe\x04") == b"\x04"


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x01\xff\xff\xff", b"\x01" + bytes(range(40))])
def test_what_is_no_block(data):
    with pytest.raises(DecodeError) as refused:
        batch.decompress(data)
    assert 0 <= refused.value.at <= 1


def test_a_block_may_not_expand_beyond_the_bound():
    bomb = b"\x01" + lz4.block.compress(bytes(1 << 24), store_size=False)
    with pytest.raises(DecodeError):
        batch.decompress(bomb)
    assert batch.decompress(bomb, most=1 << 24) == bytes(1 << 24)


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=80), st.integers(1, 30), st.booleans(), st.integers(0, 200))
def test_fragments_make_the_whole(data, size, marks, sn):
    whole = Defragmenter(mask=0x7F, marks=marks)
    pieces = list(fragment(data, sn=sn, size=size, mask=0x7F, marks=marks))
    assert [whole.feed(piece) for piece in pieces] == [None] * (len(pieces) - 1) + [data]
    assert [piece.more for piece in pieces] == [True] * (len(pieces) - 1) + [False]


def pieces(**changes):
    """Three pieces of nine bytes."""
    return list(fragment(b"abcdefghi", sn=5, size=3, **changes))


BROKEN = {
    "a gap": lambda one, two, three: [one, three],
    "a repetition": lambda one, two, three: [one, two, two, three],
    "the first is missing": lambda one, two, three: [two, three],
    "a FRAME between": lambda one, two, three: [one, Frame(sn=6, messages=(PUSH,)), two, three],
    "given up": lambda one, two, three: [one, drop(two), three],
    "another begins": lambda one, two, three: [one, two, one, three],
}


def drop(piece):
    """The piece, marked as the end of a message that is given up."""
    return type(piece)(reliable=True, more=False, sn=piece.sn, payload=b"", exts=exts(Drop()))


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_chain_is_dropped_and_says_why(broken):
    whole = Defragmenter(marks=True)
    text = []
    for piece in broken(*pieces()):
        assert whole.feed(piece) is None
        text.append(whole.dropped)
    assert any(text)
    assert [whole.feed(piece) for piece in pieces()][-1] == b"abcdefghi"


def test_lanes_do_not_mix():
    whole = Defragmenter(marks=True)
    urgent, other = pieces(priority=1), pieces(reliable=False)
    for one, two, three in zip(pieces(), urgent, other, strict=True):
        made = [whole.feed(one), whole.feed(two), whole.feed(three)]
    assert made == [b"abcdefghi"] * 3


def test_without_marks_any_piece_begins():
    whole = Defragmenter(marks=False)
    assert [whole.feed(piece) for piece in pieces(marks=False)[1:]] == [None, b"defghi"]


def test_a_message_may_not_grow_without_end():
    whole = Defragmenter(marks=True, most=5)
    assert [whole.feed(piece) for piece in pieces()] == [None, None, None]


def test_the_bound_holds_for_all_lanes_together():
    whole = Defragmenter(marks=True, most=5)
    urgent, other = pieces(priority=1), pieces(reliable=False)
    assert [whole.feed(piece) for piece in (urgent[0], other[0])] == [None, None]
    assert whole.dropped == "the incomplete messages take more than 5 bytes"
    assert [whole.feed(piece) for piece in urgent[1:]] == [None, None]
    assert [whole.feed(piece) for piece in fragment(b"abcde", sn=1, size=3)] == [None, b"abcde"]
