"""Rules of a changing tap: how they are read, and what becomes of messages under them."""

import math

import pytest

from zenoh_conformance.messages import Close, Frame, Init, KeepAlive, ResponseFinal
from zenoh_conformance.messages.init import Compression
from zenoh_conformance.messages.sane import close, init_ack, init_syn, lane, offers, open_ack
from zenoh_conformance.reading.batch import decode_batch, decompress, frame_batch, split
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import MOST_PENDING
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError
from zenoh_harness.links.changed import ChangedSide, DelayedBytes, DelayQueue
from zenoh_harness.links.changing import Rule, Which, parse_rule, parse_rules, rate_of, seed_of

SYN = init_syn(b"\x01")
ACK = init_ack(SYN, b"\x02", b"cookie")


def final(number):
    return ResponseFinal(id=number)


def frames(*numbers, **fields):
    return [Frame(sn=number, messages=(final(number),), **fields) for number in numbers]


def said(rules, *batches, resolution=None):
    """What a responder's batches, each a list of messages, become: a list of (messages, delay)."""
    side = ChangedSide(parse_rules(rules), Side.RESPONDER)
    if resolution is not None:
        side.hear(frame_batch(encode(init_syn(b"\x01", resolution=resolution))))
    data = b"".join(frame_batch(b"".join(encode(one) for one in batch)) for batch in batches)
    pieces = [*side.feed(data), DelayedBytes(side.rest())]
    return [
        ([found.message for found in decode_batch(batch)], piece.delay)
        for piece in pieces for batch in split(piece.data)[0]
    ]  # fmt: skip


def messages(rules, *batches, **about):
    return [message for batch, _ in said(rules, *batches, **about) for message in batch]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("drop:response_final", Rule("drop", "response_final")),
        ("drop:init.exts.patch", Rule("drop", "init.exts.patch")),
        ("double:frame@3", Rule("double", "frame", Which(3, 3))),
        ("drop:frame@3-", Rule("drop", "frame", Which(3, None))),
        ("drop:push@25%", Rule("drop", "push", Which(share=0.25))),
        ("set:close.reason=0", Rule("set", "close.reason", value=b"\0")),
        ("set:open.lease@1=300", Rule("set", "open.lease", Which(1, 1), b"\xac\x02")),
        ("set:init.batch_size=0x0002", Rule("set", "init.batch_size", value=b"\0\2")),
        ("set:push.key.suffix=a=b", Rule("set", "push.key.suffix", value=b"a=b")),
        ("delay:0.2:keep_alive", Rule("delay", "keep_alive", amount=0.2)),
        ("throttle:2000", Rule("throttle", amount=2000)),
        ("reorder:frame@2-3", Rule("reorder", "frame", Which(2, 3))),
        ("drop:frame.messages[1]", Rule("drop", "frame.messages[1]")),
    ],
)
def test_a_rule_is_read(text, rule):
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("dorp:frame", "drop"),
        ("drop:fame", "frame"),
        ("drop", "drop:PATH"),
        ("drop:", "drop:PATH"),
        ("set:close.reason", "=VALUE"),
        ("set:close.reason=0x0", "two digits"),
        ("reorder:frame", "@2-3"),
        ("reorder:frame@2", "@2-3"),
        ("delay:keep_alive", "SECONDS"),
        ("throttle:0", "BYTES"),
        ("", "drop"),
    ],
)
def test_what_is_no_rule_is_told_with_its_form(text, names):
    with pytest.raises(UsageError) as told:
        parse_rule(text)
    assert names in f"{told.value} {told.value.hint}"


def test_several_rules_stand_in_one_text():
    rules = parse_rules(["drop:push@50%,seed:7", "throttle:9", "throttle:5"])
    assert [rule.action for rule in rules] == ["drop", "seed", "throttle", "throttle"]
    assert (seed_of(rules), rate_of(rules)) == (7, 5)
    assert (seed_of(()), rate_of(())) == (0, None)


def test_without_a_match_every_byte_goes_as_it_came():
    odd = frame_batch(bytes.fromhex("2580001a01")) + frame_batch(b"\xff") + b"\x05"
    side = ChangedSide(parse_rules(["drop:push"]), Side.RESPONDER)
    pieces = list(side.feed(odd))
    assert b"".join(piece.data for piece in pieces) + side.rest() == odd


def test_half_batches_wait_for_the_rest():
    whole = frame_batch(encode(close(1)))
    side = ChangedSide(parse_rules(["set:close.reason=0"]), Side.RESPONDER)
    assert [piece for at in range(len(whole)) for piece in side.feed(whole[at : at + 1])] == [
        DelayedBytes(frame_batch(encode(close(0))))
    ]


def test_an_extension_is_dropped_and_the_chain_stays_true():
    ack = messages(["drop:init.exts.qos"], [ACK])[0]
    assert isinstance(ack, Init)
    assert not any(type(ext).__name__ == "QoS" for ext in ack.exts)


def test_a_field_is_set():
    assert messages(["set:init.cookie=0x616263"], [ACK])[0].cookie == b"abc"
    assert messages(["set:open.initial_sn=300"], [open_ack()])[0].initial_sn == 300


def test_the_last_message_of_a_frame_takes_it_along_and_the_numbers_close_up():
    assert [one.sn for one in messages(["drop:response_final@2"], *([one] for one in frames(7, 8, 9, 10)))] == [7, 8, 9]


def test_numbers_close_up_inside_the_settled_resolution():
    assert [
        one.sn for one in messages(["drop:response_final@1"], *([one] for one in frames(127, 0, 1)), resolution=0)
    ] == [127, 0]


def test_numbers_close_up_in_their_own_lane_only():
    other = frames(40, exts=(lane(3),))
    left = messages(["drop:response_final@1"], frames(7), other, frames(8))
    assert [one.sn for one in left] == [40, 7]


def test_a_frame_that_is_dropped_leaves_its_gap():
    assert [one.sn for one in messages(["drop:frame@2"], *([one] for one in frames(7, 8, 9)))] == [7, 9]


def test_the_rest_of_a_frame_stays():
    both = Frame(sn=1, messages=(final(1), final(2)))
    assert messages(["drop:response_final@1"], [both]) == [Frame(sn=1, messages=(final(2),))]
    assert messages(["double:response_final@2"], [both])[0].messages == (final(1), final(2), final(2))


def test_a_message_is_doubled_and_others_are_not():
    assert messages(["double:keep_alive"], [KeepAlive(), close()]) == [KeepAlive(), KeepAlive(), close()]


def test_what_no_longer_fits_a_batch_begins_another():
    side = ChangedSide(parse_rules(["double:frame"]), Side.RESPONDER)
    side.hear(frame_batch(encode(init_syn(b"\x01", batch_size=6))))
    (frame,) = frames(1)
    data = frame_batch(encode(frame))
    assert [piece.data for piece in side.feed(data)] == [data, data]


def test_messages_change_places():
    assert [one.sn for one in messages(["reorder:frame@2-3"], *([one] for one in frames(1, 2, 3, 4)))] == [1, 3, 2, 4]


def test_what_waits_for_another_that_never_comes_goes_at_the_end():
    assert [one.sn for one in messages(["reorder:frame@2-3"], frames(1), frames(2))] == [1, 2]


def test_a_delay_counts_for_what_it_names():
    assert said(["delay:0.2:keep_alive"], [close()], [close(), KeepAlive()]) == [
        ([close()], 0.0),
        ([close()], 0.0),
        ([KeepAlive()], 0.2),
    ]


def test_what_is_drawn_is_drawn_again():
    many = [[one] for one in frames(*range(100))]
    once, again = (messages(["drop:frame@50%", "seed:7"], *many) for _ in range(2))
    assert once == again != messages(["drop:frame@50%", "seed:8"], *many)
    assert 30 < len(once) < 70


def test_two_rules_apply_in_their_order():
    assert messages(["double:close", "set:close.reason@2=5"], [close(1)]) == [close(1), close(5)]
    assert isinstance(messages(["double:close"], [close(1)])[0], Close)


def test_a_compressed_batch_is_compressed_again():
    side = ChangedSide(parse_rules(["drop:response_final@2"]), Side.RESPONDER)
    syn = init_syn(b"\x01", exts=(Compression(),))
    side.hear(frame_batch(encode(syn)))
    shake = frame_batch(encode(init_ack(syn, b"\x02", b"c", exts=syn.exts))) + frame_batch(encode(open_ack()))
    assert b"".join(piece.data for piece in side.feed(shake)) == shake
    many = Frame(sn=1, messages=tuple(final(1) for _ in range(50)))
    (piece,) = side.feed(frame_batch(encode(many), compressed=True))
    (batch,) = split(piece.data)[0]
    assert batch[0] == 1
    (left,) = decode_batch(decompress(batch))
    assert len(left.message.messages) == 49


def test_pieces_wait_for_those_before_them():
    held = DelayQueue()
    held.add(DelayedBytes(b"a"), 1.0)
    held.add(DelayedBytes(b"b", 0.5), 1.0)
    held.add(DelayedBytes(b"c"), 1.2)
    assert (held.due, held.size) == (1.0, 3)
    assert list(held.take(1.4)) == [b"a"]
    assert held.due == 1.5
    assert (list(held.take(1.5)), list(held.take(math.inf))) == ([b"b", b"c"], [])
    assert not held
    assert held.size == 0


def test_a_throttle_lets_bytes_go_at_its_rate():
    held = DelayQueue(rate=100)
    held.add(DelayedBytes(bytes(50)), 0.0)
    assert len(b"".join(held.take(0.251))) == 25
    assert len(b"".join(held.take(0.501))) == 25


def test_a_batch_that_is_too_long_is_forwarded_without_being_held():
    side = ChangedSide(parse_rules(["drop:keep_alive"]), Side.RESPONDER)
    exts = offers("LowLatency")
    ack = init_ack(init_syn(b"\x01", exts=exts), b"\x02", b"cookie", exts=exts)
    side.hear(frame_batch(encode(init_syn(b"\x01", exts=exts))))
    list(side.feed(frame_batch(encode(ack)) + frame_batch(encode(open_ack()))))
    parts = [(MOST_PENDING + 1).to_bytes(4, "little"), *[bytes([number]) * (1 << 16) for number in range(20)]]
    forwarded, held = b"", []
    for part in parts:
        forwarded += b"".join(piece.data for piece in side.feed(part))
        held.append(sum(map(len, parts[: len(held) + 1])) - len(forwarded))
    assert max(held) < 1 << 17
    assert forwarded + side.rest() == b"".join(parts)
