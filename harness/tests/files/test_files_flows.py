"""TCP put together again, from units written by hand: when a link was opened, and by whom."""

import pytest

from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness.files.flows import Reassembly, flows
from zenoh_harness.files.packets import ACK, SYN, TCP, Unit

CLIENT, SERVER = "10.0.0.1:50000", "10.0.0.2:7447"

SYNC = ("client", SYN, 100, 0, b"")
ANSWER = ("server", SYN | ACK, 200, 101, b"")
ASKED = ("client", ACK, 101, 201, b"ask")
TOLD = ("server", ACK, 201, 104, b"tell")


def units(*rows):
    """Units of one connection: who sent it, its flags, numbers and payload."""
    ends = {"client": (CLIENT, SERVER), "server": (SERVER, CLIENT)}
    return [
        Unit(number, number, TCP, *ends[sender], payload, seq=seq, ack=ack, flags=flags)
        for number, (sender, flags, seq, ack, payload) in enumerate(rows, 1)
    ]


OPEN, ASK = (Side.INITIATOR, Happened.OPEN, b""), (Side.INITIATOR, Happened.BYTES, b"ask")
TELL = (Side.RESPONDER, Happened.BYTES, b"tell")


@pytest.mark.parametrize(
    ("rows", "begun", "due"),
    [
        ([SYNC, ANSWER, ASKED, TOLD], True, [OPEN, ASK, TELL]),
        ([SYNC, SYNC, ANSWER, ASKED, TOLD], True, [OPEN, ASK, TELL]),
        ([ANSWER, SYNC, ASKED, TOLD], True, [OPEN, ASK, TELL]),
        ([ANSWER, ASKED, TOLD], False, [ASK, TELL]),
        ([ASKED, TOLD], False, [ASK, TELL]),
    ],
    ids=["whole", "repeated", "answer-first", "answer-only", "in-the-middle"],
)
def test_a_link_is_opened_once_by_the_side_that_sent_the_first_syn(rows, begun, due):
    """SYN with ACK alone opens nothing: the beginning is not in the capture."""
    [flow] = flows(units(*rows))
    assert (flow.initiator, flow.responder, flow.begun) == (CLIENT, SERVER, begun)
    assert [(each.sender, each.kind, each.data) for each in Reassembly(flow).spoken()] == due
