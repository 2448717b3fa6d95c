"""Multicast and scouting of two zenoh-rust 1.10.2 peers on a loopback interface: judged without a finding, and each change is noticed.

`multicast-lanes` was recorded with `transport/multicast/qos`, `multicast-talk` without.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.messages import Close, Hello, Scout, sane
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.codec import decode, encode, segments
from zenoh_conformance.reading.connection import Decoders, Nature
from zenoh_conformance.reading.conversation import Begins, Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.wire import NO_EXTS
from zenoh_harness.files import captures

FOLDER = Path(__file__).parent / "captures"
NAMES = ("multicast-lanes", "multicast-talk")
KEY = b"room/"


@pytest.fixture(scope="module", params=NAMES)
def recorded(request):
    return captures.read(FOLDER / f"{request.param}.pcapng").conversation


def broken(conversation):
    return {judged.law.id for judged in judge(conversation) if judged.findings}


def judging(conversation):
    return {judged.law.id for judged in judge(conversation) if judged.subjects}


def test_stock_nodes_break_nothing_and_are_judged(recorded):
    assert broken(recorded) == set()
    assert judging(recorded) >= {
        "law/frames-are-not-empty",
        "law/hello-flag-reserved",
        "law/hello-is-whole",
        "law/hello-packed-reserved",
        "law/hello-version-current",
        "law/join-is-repeated",
        "law/join-is-whole",
        "law/join-version-current",
        "law/joins-agree",
        "law/scout-version-current",
        "law/what-is-scouted-decodes",
        "law/join-packed-reserved",
        "law/keys-follow-the-grammar",
        "law/numbers-fit-the-join",
        "law/numbers-go-on-from-join",
        "law/scout-flags-reserved",
        "law/scout-is-whole",
        "law/what-is-said-decodes",
    }


def places(conversation, kind):
    """The numbers of the events whose datagram begins with a message of a kind."""
    decoders, found = Decoders(conversation), []
    for number, event in enumerate(conversation.events):
        first = next((seen for seen in decoders.feed(event) if seen.kind != "batch"), None)
        if first is not None and first.kind == kind:
            found.append(number)
    return found


def with_data(conversation, number, data):
    events = list(conversation.events)
    events[number] = replace(events[number], data=data)
    return Conversation(conversation.connections, events)


def flip(at, bits):
    def change(data):
        return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]

    return change


def cut(count):
    return lambda data: data[:-count]


def append(extra):
    return lambda data: data + extra


def number_of(change):
    """Change the number of a FRAME."""

    def changed(data):
        frame = decode(data).message
        return encode(replace(frame, sn=change(frame.sn)))

    return changed


def join_number(back):
    def changed(data):
        join = decode(data).message
        lanes = [ext for ext in join.exts if type(ext).__name__ == "QoS"]
        exts = join.exts
        for ext in lanes:
            sns = tuple(replace(one, reliable=(one.reliable - back) & 0x0FFFFFFF) for one in ext.sns)
            exts = type(join.exts)(tuple(replace(ext, sns=sns) if each is ext else each for each in join.exts))
        return encode(replace(join, next_sn_reliable=(join.next_sn_reliable - back) & 0x0FFFFFFF, exts=exts))

    return changed


def of_join(**fields):
    """Change what a JOIN says of its sender."""
    return lambda data: encode(replace(decode(data).message, **fields))


def with_mandatory(data):
    """An extension that no page has, mandatory, as the only one."""
    return bytes([data[0] | 0x80]) + data[1:] + b"\x1d"


def in_key(data):
    at = data.find(KEY)
    return data if at < 0 else data[: at + 4] + b"//" + data[at + 6 :]


CHANGES = {
    "frame: a number far back": (
        "frame",
        number_of(lambda sn: (sn - 0x10000) & 0x0FFFFFFF),
        "law/numbers-go-on-from-join",
    ),
    "frame: a number past the resolution": ("frame", number_of(lambda sn: sn | 0x40000000), "law/numbers-fit-the-join"),
    "frame: a high bit of the number": ("frame", number_of(lambda sn: sn ^ 0x08000000), "law/numbers-go-on-from-join"),
    "frame: the number of another": ("frame", number_of(lambda sn: sn ^ 1), "law/numbers-go-on-from-join"),
    "frame: cut": ("frame", cut(3), "law/what-is-said-decodes"),
    "frame: cut by one": ("frame", cut(1), "law/what-is-said-decodes"),
    "frame: garbage behind it": ("frame", append(b"\x13\x37"), "law/what-is-said-decodes"),
    "frame: an unknown id": ("frame", flip(0, 0x0E), "law/what-is-said-decodes"),
    "frame: empty": (
        "frame",
        lambda data: encode(replace(decode(data).message, messages=())),
        "law/frames-are-not-empty",
    ),
    "frame: a key with an empty chunk": ("frame", in_key, "law/keys-follow-the-grammar"),
    "join: reserved bits of packed": ("join", flip(2, 0x0C), "law/join-packed-reserved"),
    "join: cut": ("join", cut(2), "law/join-is-whole"),
    "join: cut by four": ("join", cut(4), "law/join-is-whole"),
    "join: garbage behind it": ("join", append(b"\x1e"), "law/what-is-said-decodes"),
    "join: a reserved role": ("join", flip(2, 0x02), "law/join-is-whole"),
    "join: reserved bits of the resolution": (
        "join",
        lambda data: encode(replace(decode(data).message, resolution=0x1A, batch_size=8192)),
        "law/resolution-reserved-zero",
    ),
    "join: numbers far back": ("join", join_number(0x10000), "law/numbers-go-on-from-join"),
    "join: INIT for it": ("join", lambda _: encode(sane.init_syn(b"\x01")), "law/init-unicast-only"),
    "frame: its length before it": (
        "frame",
        lambda data: len(data).to_bytes(2, "little") + data,
        "law/datagrams-have-no-prefix",
    ),
    "frame: twice in its datagram": ("frame", lambda data: data + data, "law/numbers-go-on-from-join"),
    "frame: a number far on": (
        "frame",
        number_of(lambda sn: (sn + 0x4000000) & 0x0FFFFFFF),
        "law/numbers-go-on-from-join",
    ),
    "join: another version": ("join", of_join(version=8), "law/join-version-current"),
    "join: another role": ("join", of_join(whatami=WhatAmI.CLIENT), "law/joins-agree"),
    "join: another ZenohID": ("join", of_join(zid=ZenohID(b"fer")), "law/joins-agree"),
    "join: another size": ("join", of_join(resolution=0x0A, batch_size=4096), "law/joins-agree"),
    "join: another patch": ("join", lambda data: data[:-1] + b"\x02", "law/joins-agree"),
    "close: twice in its datagram": ("close", lambda data: data + data, "law/nothing-after-close"),
    "scout: another version": ("scout", flip(1, 0x02), "law/scout-version-current"),
    "scout: another id": ("scout", flip(0, 0x08), "law/what-is-scouted-decodes"),
    "scout: an unknown mandatory extension": ("scout", with_mandatory, "law/scout-is-whole"),
    "hello: another version": ("hello", flip(1, 0x02), "law/hello-version-current"),
    "hello: another id": ("hello", flip(0, 0x08), "law/what-is-scouted-decodes"),
    "hello: an unknown mandatory extension": ("hello", with_mandatory, "law/hello-is-whole"),
    "scout: bit 5": ("scout", flip(0, 0x20), "law/scout-flags-reserved"),
    "scout: bit 6": ("scout", flip(0, 0x40), "law/scout-flags-reserved"),
    "scout: cut": ("scout", cut(1), "law/scout-is-whole"),
    "hello: bit 6": ("hello", flip(0, 0x40), "law/hello-flag-reserved"),
    "hello: reserved bits of packed": ("hello", flip(2, 0x08), "law/hello-packed-reserved"),
    "hello: a locator that is no text": ("hello", lambda data: data.replace(b"udp/", b"ud\xff/"), "law/hello-is-whole"),
    "hello: cut": ("hello", cut(5), "law/hello-is-whole"),
}
"""What is done to the last datagram of a kind, and a law that notices it."""


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_copy_is_noticed(recorded, change):
    kind, edit, law = CHANGES[change]
    where = places(recorded, kind)
    number = next(each for each in reversed(where) if edit(recorded.events[each].data) != recorded.events[each].data)
    assert law in broken(with_data(recorded, number, edit(recorded.events[number].data)))


def structural_bits(data):
    """The bits of a FRAME that are no text and no payload, which may hold anything."""
    at, bits = 0, []
    for segment in segments(decode(data).message):
        bits += [] if segment.path.endswith(".bytes") else range(at * 8, (at + len(segment.data)) * 8)
        at += len(segment.data)
    return bits


def test_most_random_flips_in_frames_are_noticed(recorded):
    """Flags without a meaning, ids, and a number that nobody has had may be right; 140 of 200 are noticed."""
    drawn, frames, noticed = random.Random(36), places(recorded, "frame"), 0
    for _ in range(40):
        number = drawn.choice(frames)
        data = recorded.events[number].data
        at = drawn.choice(structural_bits(data))
        noticed += bool(broken(with_data(recorded, number, flip(at // 8, 1 << at % 8)(data))))
    assert noticed >= 26


def another_field(data, drawn):
    """A message with other bytes, as many, in one of its fields that is no text and no payload."""
    pieces = segments(decode(data).message)
    at = drawn.choice([at for at, piece in enumerate(pieces) if piece.data and not piece.path.endswith(".bytes")])
    before = pieces[at].data
    other = next(new for new in iter(lambda: drawn.randbytes(len(before)), None) if new != before)
    return b"".join(other if number == at else piece.data for number, piece in enumerate(pieces))


def test_most_changed_fields_are_noticed(recorded):
    """What is left may be right: a higher number, a flag without a meaning, an extension that may be ignored."""
    drawn, known = random.Random(40), [number for kind in ("join", "frame") for number in places(recorded, kind)]
    noticed = 0
    for _ in range(40):
        number = drawn.choice(known)
        noticed += bool(broken(with_data(recorded, number, another_field(recorded.events[number].data, drawn))))
    assert noticed >= 36


def test_each_law_beyond_unicast_is_violated_by_a_change():
    beyond = {name for name, law in all_laws().items() if Nature.UNICAST not in law.natures}
    assert beyond <= {law for _, _, law in CHANGES.values()} | {"law/join-is-repeated", "law/hello-goes-to-others"}


def test_who_answers_itself_is_noticed():
    """A HELLO in the flow between an address and itself."""
    own = Connection("127.0.0.1:40165 > 127.0.0.1:40165 udp", "udp", Framing.DATAGRAM, begins=Begins.MIDDLE)
    hello = encode(Hello(whatami=WhatAmI.PEER, zid=ZenohID(b"fer")))
    events = [Event(0.0, own.name, Side.INITIATOR, Happened.BYTES, hello)]
    assert broken(Conversation({own.name: own}, events)) == {"law/hello-goes-to-others"}


def test_a_hello_of_any_zid_is_one():
    """Read as a batch, this one is OPEN and FRAGMENT."""
    us = Connection("us", "udp", Framing.DATAGRAM)
    events = [Event(0.0, "us", Side.RESPONDER, Happened.BYTES, bytes.fromhex("2209306665727a00"))]
    judged = Conversation({"us": us}, events)
    assert "law/hello-is-whole" in judging(judged)
    assert broken(judged) == set()


def test_who_stops_saying_join_is_noticed(recorded):
    joins = places(recorded, "join")
    first = recorded.events[joins[0]]
    frame = next(
        recorded.events[each]
        for each in places(recorded, "frame")
        if recorded.events[each].connection == first.connection
    )
    often = [
        Event(first.time + at, first.connection, first.sender, first.kind, data_with(frame.data, at))
        for at in range(5, 66, 5)
    ]
    assert broken(Conversation(recorded.connections, [first, *often])) == {"law/join-is-repeated"}
    assert broken(Conversation(recorded.connections, [first, *often[:12]])) == set()
    hole = [first, *often[:4], *often[8:]]
    assert broken(Conversation(recorded.connections, hole)) == set(), "it was not heard for longer than its lease"


def data_with(data, more):
    """A FRAME with a later number."""
    frame = decode(data).message
    return encode(replace(frame, sn=frame.sn + more))


COMES_BACK = {
    "size": {"resolution": 0x0A, "batch_size": 4096},
    "role": {"whatami": WhatAmI.CLIENT},
    "zid": {"zid": ZenohID(b"fer")},
}


@pytest.mark.parametrize("other", COMES_BACK.values(), ids=COMES_BACK)
def test_who_comes_back_may_say_something_else_of_itself(recorded, other):
    """
    After CLOSE, after its lease, or with numbers from elsewhere; and with another ZenohID where all numbers are one constant.

    Another lease it may take at any time.
    """
    first = recorded.events[places(recorded, "join")[0]]
    last = decode(first.data).message
    plain = replace(last, exts=NO_EXTS, next_sn_reliable=7, next_sn_best_effort=7)
    close = encode(Close(reason=0))
    away = join_number(0x4000000)(encode(replace(last, **other)))
    for said in (
        [(0, encode(last)), (1, close), (2, encode(replace(last, **other)))],
        [(0, encode(last)), (11, encode(replace(last, **other)))],
        [(0, encode(last)), (1, away)],
        [(0, encode(plain)), (1, encode(replace(plain, zid=ZenohID(b"fer"), lease=11)))],
        [(0, encode(last)), (1, encode(replace(last, lease=11)))],
    ):
        events = [replace(first, time=first.time + at, data=data) for at, data in said]
        assert "law/joins-agree" not in broken(Conversation(recorded.connections, events))


def test_what_is_no_message_is_noticed_outside_sessions_only():
    """In answer to SCOUT, and to a group; not what may be a batch with compression, nor what goes elsewhere."""
    asks, answer, other = (
        "10.0.0.1:9 > 224.0.0.224:7446 udp",
        "10.0.0.2:8 > 10.0.0.1:9 udp",
        "10.0.0.2:8 > 10.0.0.3:9 udp",
    )
    known = {name: Connection(name, "udp", Framing.DATAGRAM, begins=Begins.MIDDLE) for name in (asks, answer, other)}
    scout = Event(0.0, asks, Side.INITIATOR, Happened.BYTES, encode(Scout(what=7)))
    for name, data, law in (
        (asks, b"\x0b\x09", {"law/what-is-scouted-decodes"}),
        (answer, b"\x0b\x09", {"law/what-is-scouted-decodes"}),
        (answer, b"\x01\x09", set()),
        (other, b"\x0b\x09", set()),
    ):
        said = Event(1.0, name, Side.INITIATOR, Happened.BYTES, data)
        assert broken(Conversation(known, [scout, said])) == law


def test_a_node_that_comes_back_begins_anew(recorded):
    joins = places(recorded, "join")
    first = recorded.events[joins[0]]
    data = join_number(0x10000)(first.data)
    other = encode(replace(decode(data).message, zid=sane.init_syn(b"\x07").zid))
    for wait, said, law in ((1, data, {"law/numbers-go-on-from-join"}), (11, data, set()), (1, other, set())):
        again = replace(first, time=first.time + wait, data=said)
        assert broken(Conversation(recorded.connections, [first, again])) == law


def test_datagrams_that_overtake_each_other_are_no_fault(recorded):
    frames = places(recorded, "frame")
    one, other = next((a, b) for a, b in pairwise(frames) if b == a + 1)
    events = list(recorded.events)
    events[one], events[other] = events[other], events[one]
    assert broken(Conversation(recorded.connections, events)) == set()
