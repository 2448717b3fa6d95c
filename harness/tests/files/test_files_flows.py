"""TCP put together again, from units written by hand: when a link was opened, and by whom."""

import pytest

from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness.files.flows import Reassembly, Said, flows
from zenoh_harness.files.packets import ACK, FIN, RST, SYN, TCP, Unit

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


WRAPS = [
    ("client", SYN, 0xFFFFFFFE, 0, b""),
    ("server", SYN | ACK, 200, 0xFFFFFFFF, b""),
    ("client", ACK, 0xFFFFFFFF, 201, b"ask"),
    ("server", ACK, 201, 2, b"tell"),
    ("client", ACK, 2, 205, b"ask"),
]
"""The numbers of the client wrap around within its first segment."""


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (0, 1, 4, 2, 3), (0, 1, 3, 2, 4)])
def test_sequence_numbers_wrap_around(order):
    rows = units(*WRAPS)
    [flow] = flows(rows[at]._replace(number=number) for number, at in enumerate(order, 1))
    assert [(each.sender, each.kind, each.data) for each in Reassembly(flow).spoken()] == [OPEN, ASK, TELL, ASK]


@pytest.mark.parametrize(
    ("flags", "missing", "due"), [(FIN, 0, Happened.EOF), (RST, 0, Happened.RESET), (FIN, 3, None)]
)
def test_how_a_side_ends(flags, missing, due):
    """Bytes that the capture cut off stand before a FIN in the same packet."""
    *before, last = units(SYNC, ANSWER, ASKED, TOLD, ("client", ACK | flags, 104, 205, b""))
    [flow] = flows([*before, last._replace(missing=missing)])
    ends = [
        each.kind for each in Reassembly(flow).spoken() if isinstance(each, Said) and each.kind is not Happened.BYTES
    ]
    assert ends == [Happened.OPEN, *([due] if due else [])]


@pytest.mark.parametrize(
    ("end", "seq", "links"),
    [(FIN, 50, 2), (RST, 50, 2), (0, 50, 1), (0, 105, 2), (RST, 105, 2)],
    ids=["after an end", "after a reset", "a late SYN", "numbers go on", "numbers go on after a reset"],
)
def test_a_syn_after_a_link_whose_beginning_was_not_captured(end, seq, links):
    """It begins another link if that one had ended, or if its numbers lie beyond all that were seen."""
    found = list(flows(units(ASKED, TOLD, ("server", ACK | end, 205, 104, b""), ("client", SYN, seq, 0, b""))))
    assert len(found) == links
