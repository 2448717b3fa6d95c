"""The connection decoder: framing, what OPEN changes, what is nested, and what cannot be read."""

from __future__ import annotations

from zenoh_conformance.messages import Frame, KeepAlive, Push, Put, sane
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import MOST_PENDING, ConnectionDecoder
from zenoh_conformance.reading.conversation import Connection, Event, Framing, Happened, Side

PUSH = Push(key=WireExpr(scope=0, suffix="a", mapping=True), body=Put(payload=b"x"))

A = 0x20
"""The flag of INIT and OPEN (message-reference#init)."""


def handshake(*modes: str) -> list[tuple[Side, bytes]]:
    syn = sane.init_syn(b"\x01", exts=sane.offers(*modes))
    ack = sane.init_ack(syn, b"\x02", b"cookie", exts=sane.offers(*modes))
    steps = [
        (Side.INITIATOR, syn),
        (Side.RESPONDER, ack),
        (Side.INITIATOR, sane.open_syn(ack)),
        (Side.RESPONDER, sane.open_ack()),
    ]
    return [(side, frame_batch(encode(message))) for side, message in steps]


def kinds(decoder: ConnectionDecoder, said: list[tuple[Side, bytes]], *, ending: bool = False) -> list[str]:
    events = [Event(0.0, "a", side, Happened.BYTES, data) for side, data in said]
    if ending:
        events.append(Event(0.0, "a", said[-1][0], Happened.EOF))
    found = [seen for event in events for seen in decoder.feed(event) if seen.kind != "batch"]
    return [seen.path if seen.kind != "undecodable" else "undecodable" for seen in found]


def test_bytes_one_by_one_are_the_same_messages() -> None:
    said = [*handshake(), (Side.RESPONDER, frame_batch(encode(Frame(sn=0, messages=(PUSH,)))))]
    whole = kinds(ConnectionDecoder(), said)

    single = [(side, bytes([byte])) for side, data in said for byte in data]

    assert whole == ["init", "init", "open", "open", "frame", "frame.messages[0].push", "frame.messages[0].push.put"]
    assert kinds(ConnectionDecoder(), single) == whole


def test_low_latency_changes_the_prefix_and_drops_the_frame() -> None:
    said = [*handshake("LowLatency"), (Side.RESPONDER, frame_batch(encode(PUSH), prefix=4))]

    assert kinds(ConnectionDecoder(), said)[-2:] == ["push", "push.put"]


def test_the_baseline_s_short_close_is_read_on_a_low_latency_session_only() -> None:
    close = frame_batch(encode(sane.close(0)))

    assert kinds(ConnectionDecoder(), [*handshake("LowLatency"), (Side.RESPONDER, close)], ending=True)[-1] == "close"
    assert kinds(ConnectionDecoder(), [*handshake(), (Side.RESPONDER, close[:-1])], ending=True)[-1] == "undecodable"


def test_a_batch_that_is_too_long_is_not_awaited() -> None:
    decoder = ConnectionDecoder()
    side, endless = Side.RESPONDER, bytes(1 << 16)
    said = [*handshake("LowLatency"), (side, (MOST_PENDING + 1).to_bytes(4, "little")), *[(side, endless)] * 100]
    held = []
    for sender, data in said:
        found = kinds(decoder, [(sender, data)])
        held += [len(decoder.directions[side].buffer)] + [-1] * ("undecodable" in found)

    assert held.count(-1) == 1
    assert max(held) < 1 << 17
    assert kinds(decoder, [(Side.INITIATOR, frame_batch(encode(PUSH), prefix=4))]) == ["push", "push.put"]


def test_a_short_close_is_no_long_batch() -> None:
    close = frame_batch(encode(sane.close(0xFF)))

    assert kinds(ConnectionDecoder(), [*handshake("LowLatency"), (Side.RESPONDER, close)], ending=True)[-1] == "close"


def test_compression_is_taken_off_after_open() -> None:
    said = [*handshake("Compression"), (Side.INITIATOR, frame_batch(encode(KeepAlive()), compressed=True))]

    assert kinds(ConnectionDecoder(), said)[-1] == "keep_alive"


def test_what_stands_before_a_bad_message_is_seen() -> None:
    batch = frame_batch(encode(KeepAlive()) + b"\xff")

    assert kinds(ConnectionDecoder(), [(Side.INITIATOR, batch)]) == ["keep_alive", "undecodable"]


def test_what_stands_behind_an_ack_that_says_it_is_none_is_not_read() -> None:
    answers = [(side, data) for side, data in handshake() if side is Side.RESPONDER]
    wrong = [(side, data[:2] + bytes([data[2] & ~A]) + data[3:]) for side, data in answers]

    assert kinds(ConnectionDecoder(), answers) == ["init", "open"]
    assert kinds(ConnectionDecoder(), wrong) == ["init", "undecodable"]


def test_a_link_that_ends_inside_a_batch_is_told() -> None:
    assert kinds(ConnectionDecoder(), [(Side.INITIATOR, b"\x09\x00\x04")], ending=True) == ["undecodable"]


def test_a_datagram_is_a_batch() -> None:
    decoder = ConnectionDecoder(Connection("a", "udp", Framing.DATAGRAM))

    assert kinds(decoder, [(Side.INITIATOR, encode(KeepAlive()))]) == ["keep_alive"]
