"""A sane session message by message, and violations that are planted in it."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.messages import Frame, Join, KeepAlive, Push, Put, sane
from zenoh_conformance.primitives import WireExpr, ZenohID
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side

INIT, RESP = Side.INITIATOR, Side.RESPONDER
NODE = {INIT: "01", RESP: "02"}
HANDSHAKE = 4


def push(number):
    return Push(key=WireExpr(0, f"k/{number}", mapping=True), body=Put(payload=bytes(30)))


def steps(count=20, cookie=b"cookie"):
    """A sane session, message by message; the initiator may use lanes, since both offer QoS."""
    syn = sane.init_syn(b"\x01")
    ack = sane.init_ack(syn, b"\x02", cookie)
    begin = [(INIT, syn), (RESP, ack), (INIT, sane.open_syn(ack)), (RESP, sane.open_ack())]
    frames = [((INIT, RESP)[n % 2], Frame(sn=n // 2, messages=(push(n),))) for n in range(count)]
    return [*begin, *frames, (INIT, sane.close(0))]


def conversation(said):
    """Steps as a conversation: messages, or the bytes of a batch."""
    known = Connection("a", initiator="tcp/10.0.0.1:50000", responder="tcp/10.0.0.2:7447")
    batches = [(side, what if isinstance(what, bytes) else encode(what)) for side, what in said]
    events = [Event(0.0, "a", INIT, Happened.OPEN)]
    events += [
        Event(n / 100, "a", side, Happened.BYTES, frame_batch(batch)) for n, (side, batch) in enumerate(batches, 1)
    ]
    return Conversation(
        {"a": known}, [*events, Event(9.0, "a", RESP, Happened.EOF), Event(9.0, "a", INIT, Happened.EOF)]
    )


def changed(index, **fields):
    def plant(said):
        side, message = said[index]
        said[index] = (side, replace(message, **fields))
        return index

    return plant


def put_in(index, side, what):
    def plant(said):
        said.insert(index, (side, what))
        return index

    return plant


def without(index, shows):
    def plant(said):
        del said[index]
        return shows

    return plant


def flipped(index, at, bits):
    def plant(said):
        side, message = said[index]
        data = bytearray(encode(message))
        data[at] ^= bits
        said[index] = (side, bytes(data))
        return index

    return plant


def cut_off(index, size=1):
    def plant(said):
        side, message = said[index]
        said[index] = (side, encode(message)[:-size])
        return index

    return plant


def appended(index, data):
    def plant(said):
        side, message = said[index]
        said[index] = (side, encode(message) + data)
        return index

    return plant


LANE = bytes.fromhex("a5013125") + encode(push(1))
"""A FRAME with a reserved bit beside its priority."""
SYN, ACK, OPEN_SYN, OPEN_ACK = range(HANDSHAKE)
PLANTED = {
    "another cookie": (changed(OPEN_SYN, cookie=b"cookiE"), "law/cookie-echo"),
    "a longer cookie": (changed(OPEN_SYN, cookie=b"cookie+"), "law/cookie-echo"),
    "version 8": (changed(SYN, version=8), "law/init-version-current"),
    "version 8 answered": (changed(ACK, version=8), "law/init-version-current"),
    "reserved bits of packed": (flipped(SYN, 2, 0x0C), "law/init-packed-reserved"),
    "reserved bits of packed in the answer": (flipped(ACK, 2, 0x04), "law/init-packed-reserved"),
    "reserved bits of the resolution": (changed(SYN, resolution=0x1A), "law/resolution-reserved-zero"),
    "reserved bits beside a lane": (put_in(HANDSHAKE + 2, INIT, LANE), "law/frame-qos-reserved"),
    "a raised resolution": (changed(ACK, resolution=0x0B), "law/resolution-not-raised"),
    "an initial number past the edge": (changed(OPEN_SYN, initial_sn=0x10000000), "law/initial-sn-in-range"),
    "LowLatency unasked": (changed(ACK, exts=sane.offers("LowLatency")), "law/low-latency-needs-both"),
    "Compression unasked": (changed(ACK, exts=sane.offers("Compression")), "law/compression-needs-both"),
    "a patch unasked": (changed(ACK, exts=sane.offers(patch=1)), "law/patch-at-most-offered"),
    "KEEP_ALIVE first": (put_in(SYN, INIT, KeepAlive()), "law/init-syn-first"),
    "InitSyn twice": (put_in(ACK, INIT, sane.init_syn(b"\x01")), "law/no-challenge-round"),
    "OpenAck for InitSyn": (put_in(ACK, RESP, sane.open_ack()), "law/init-ack-answers-init-syn"),
    "FRAME for OpenAck": (put_in(OPEN_ACK, RESP, Frame(sn=0, messages=(push(1),))), "law/no-data-before-open"),
    "FRAME before OpenSyn": (put_in(OPEN_SYN, INIT, Frame(sn=0, messages=(push(1),))), "law/no-data-before-open"),
    "KEEP_ALIVE for OpenSyn": (put_in(OPEN_SYN, INIT, KeepAlive()), "law/open-syn-answers-init-ack"),
    "a late InitAck": (put_in(9, RESP, sane.init_ack(sane.init_syn(b"\x01"), b"\x02", b"c")), "law/no-challenge-round"),
    "JOIN in a session": (
        put_in(ACK, INIT, Join(whatami=1, zid=ZenohID(b"\x01"), lease=9, next_sn_reliable=0, next_sn_best_effort=0)),
        "law/multicast-has-no-handshake",
    ),
    "another first number": (changed(HANDSHAKE, sn=5), "law/initial-sn-own-start"),
    "another first number of the responder": (changed(HANDSHAKE + 1, sn=1), "law/initial-sn-own-start"),
    "a message cut short": (cut_off(10), "law/what-is-said-decodes"),
    "a message cut in its key": (cut_off(13, 36), "law/what-is-said-decodes"),
    "an unknown id": (put_in(12, RESP, b"\x0b\x00"), "law/what-is-said-decodes"),
    "garbage after a FRAME": (appended(11, b"\x13\x37"), "law/what-is-said-decodes"),
    "PUSH by itself": (put_in(15, INIT, encode(push(1))), "law/frame-transport-by-default"),
    "PUSH behind KEEP_ALIVE": (put_in(16, RESP, encode(KeepAlive()) + encode(push(1))), "law/frame-transport-by-default"),
    "FRAME after CLOSE": (put_in(25, INIT, Frame(sn=11, messages=(push(1),))), "law/nothing-after-close"),
    "a batch larger than agreed": (
        put_in(14, RESP, Frame(sn=99, messages=(Push(key=WireExpr(0, "k"), body=Put(payload=bytes(600))),))),
        "law/batch-size-is-receive-limit",
    ),
    "INIT cut short": (cut_off(ACK, 3), "law/init-is-whole"),
    "OPEN cut short": (cut_off(OPEN_ACK, 1), "law/open-is-whole"),
}  # fmt: skip


def planted(name):
    """The steps with a violation in them, its place, its law."""
    plant, law = PLANTED[name]
    said = steps()
    if law == "law/batch-size-is-receive-limit":
        said[ACK] = (RESP, replace(said[ACK][1], batch_size=512))
    return said, plant(said), law
