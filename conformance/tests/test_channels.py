"""The channel of what was seen: reliability and priority of the FRAME or FRAGMENT that carried it, of every value."""

import pytest

from zenoh_conformance.messages import Fragment, Frame, KeepAlive, Push, Put, sane
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import ConnectionDecoder, priority_of
from zenoh_conformance.reading.conversation import Event, Happened, Side
from zenoh_conformance.wire.extensions import NO_EXTS, exts

PUSH = Push(key=WireExpr(scope=0, suffix="a", mapping=True), body=Put(payload=b"x"), exts=exts(sane.qos(2)))
"""A message whose own priority, 2, is not what tells its channel."""

PRIORITIES = {None: 5, 0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7}
"""The QoS extension that the carrier has, and the priority of its channel; 5 (data) without one."""

ABOVE = {0x08: 0, 0x0D: 5, 0xFF: 7, 0xF4: 4}
"""Values with bits above the low three: they say something else, or nothing."""


def carriers(lane, reliable):
    """A FRAME and a FRAGMENT of that channel."""
    marks = NO_EXTS if lane is None else exts(sane.lane(lane))
    return (
        Frame(reliable=reliable, sn=1, messages=(PUSH,), exts=marks),
        Fragment(reliable=reliable, more=True, sn=2, payload=b"y", exts=marks),
    )


def seen(*messages):
    data = b"".join(frame_batch(encode(message)) for message in messages)
    return list(ConnectionDecoder().feed(Event(0.0, "a", Side.INITIATOR, Happened.BYTES, data)))


@pytest.mark.parametrize("reliable", [True, False], ids=["reliable", "best-effort"])
@pytest.mark.parametrize("lane", PRIORITIES)
def test_the_channel_of_a_frame_a_fragment_and_what_they_hold(lane, reliable):
    channels = {each.path: each.channel for each in seen(*carriers(lane, reliable)) if each.kind != "batch"}
    due = (reliable, PRIORITIES[lane])
    assert channels == {
        "frame": due,
        "frame.messages[0].push": due,
        "frame.messages[0].push.put": due,
        "fragment": due,
    }


@pytest.mark.parametrize("value", ABOVE, ids=hex)
def test_only_the_low_three_bits_are_the_priority(value):
    assert [priority_of(each) for each in carriers(value, True)] == [ABOVE[value]] * 2


def test_what_no_frame_carries_has_no_channel():
    assert [each.channel for each in seen(KeepAlive())] == [None, None]
