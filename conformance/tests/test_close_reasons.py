"""Reasons that cannot hold where they are told: red where a node says one by itself, silent where it gives ours back."""

import pytest

from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side

US, PEER = b"\x01", b"\x02"
SYN = sane.init_syn(US)
HANDSHAKE = [(Side.INITIATOR, SYN), (Side.RESPONDER, sane.init_ack(SYN, PEER, b"c"))]


def findings(law, said, step=0.01, times=()):
    """`times` are those of the messages; without them each comes a step after the one before."""
    events = [
        Event(times[number] if times else number * step, "us", side, Happened.BYTES, frame_batch(encode(message)))
        for number, (side, message) in enumerate(said)
    ]
    opened = [Event(0.0, "us", Side.INITIATOR, Happened.OPEN)]
    conversation = Conversation(events=opened + events, connections={"us": Connection("us", "tcp", Framing.STREAM)})
    return [finding for judged in judge(conversation, [all_laws()[law]]) for finding in judged.findings]


@pytest.mark.parametrize(("law", "reason"), [("law/expired-needs-a-lease", 5), ("law/to-self-needs-one-zid", 7)])
def test_a_reason_that_cannot_hold(law, reason):
    close = sane.close(reason)
    assert [each.sender for each in findings(law, [*HANDSHAKE, (Side.RESPONDER, close)])] == [Side.RESPONDER]
    echoed = [*HANDSHAKE, (Side.INITIATOR, close), (Side.RESPONDER, close)]
    assert [each.sender for each in findings(law, echoed)] == [Side.INITIATOR]


def test_a_handshake_that_took_too_long_may_have_expired():
    said = [*HANDSHAKE, (Side.RESPONDER, sane.close(5))]

    assert findings("law/expired-needs-a-lease", said, step=0.1) == []
    assert findings("law/expired-needs-a-lease", said) != []


@pytest.mark.parametrize(
    ("times", "right"),
    [((0.0, 1.0, 1.01), False), ((0.0, 0.01, 1.0), True), ((1.0, 1.01, 1.02), False), ((0.0, 1.0, 1.2), True)],
)
def test_a_node_waits_from_its_own_last_word(times, right):
    """One that has just answered has not given the handshake up for taking too long."""
    said = [*HANDSHAKE, (Side.RESPONDER, sane.close(5))]

    assert (findings("law/expired-needs-a-lease", said, times=times) == []) is right
