"""What we are late with ourselves is never the target's fault."""

import pytest

from zenoh_conformance import sane
from zenoh_conformance.conversation import Framing, Happened, Side
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.finding import Deviation


class Wire:
    """A wire whose other end shuts the link, on a clock that the test moves."""

    name, link, framing, side = "us", "tcp", Framing.STREAM, Side.INITIATOR

    def __init__(self):
        self.time, self.told_end = 0.0, True

    def now(self):
        return self.time

    def send(self, data):
        pass

    def receive(self, within):
        from zenoh_conformance.conversation import Event

        return Event(self.time, self.name, Side.RESPONDER, Happened.EOF)


@pytest.mark.parametrize(("pause", "reached"), [(0.9, True), (1.0, False), (2.5, False)])
@pytest.mark.parametrize("unit", ["s", "ms"])
def test_a_session_that_ends_after_our_own_silence_is_no_finding(pause, reached, unit):
    wire = Wire()
    us = Dialogue(wire, zid=b"\x01", unit=1.0, requirement="session-establishment/lease-unit")
    syn = us.init_syn()
    us.send(syn)
    ack = sane.init_ack(syn, b"\x02", b"c")
    stated = {"lease_in_seconds": True, "lease": 1} if unit == "s" else {"lease_in_seconds": False, "lease": 1000}
    us.send(us.open_syn(ack, **stated))
    wire.time += pause
    with pytest.raises(Deviation) as ended:
        us.expect_live()
    assert ended.value.finding.reached is reached
