"""What we are late with ourselves is never the target's fault."""

from collections import Counter
from contextlib import suppress

import pytest

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import KeepAlive, sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Framing, Happened, Side
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_harness.reference import Reference
from zenoh_harness.reference.habits import Habits
from zenoh_harness.reference.memory import MemoryScene


class Wire:
    """A wire whose other end shuts the link, on a clock that the test moves."""

    done = False
    name, link, framing, side = "us", "tcp", Framing.STREAM, Side.INITIATOR

    def __init__(self):
        self.time, self.told_end = 0.0, True

    def now(self):
        return self.time

    def send(self, data):
        pass

    def receive(self, within):
        from zenoh_conformance.reading.conversation import Event

        return Event(self.time, self.name, Side.RESPONDER, Happened.EOF)


@pytest.mark.parametrize(("pause", "reached"), [(0.9, True), (1.0, False), (2.5, False)])
@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("wants", ["work", "a message"])
def test_a_session_that_ends_after_our_own_silence_is_no_finding(pause, reached, unit, wants):
    wire = Wire()
    us = Dialogue(wire, zid=b"\x01", unit=1.0, requirement="session-establishment/lease-unit")
    syn = us.init_syn()
    us.send(syn)
    ack = sane.init_ack(syn, b"\x02", b"c")
    stated = {"lease_in_seconds": True, "lease": 1} if unit == "s" else {"lease_in_seconds": False, "lease": 1000}
    us.send(us.open_syn(ack, **stated))
    wire.time += pause
    us.their_open = None if wants == "work" else us.open_ack()
    with pytest.raises(Deviation) as ended:
        us.expect_live() if wants == "work" else us.ask(KeepAlive(), expect=OpenAck)
    assert ended.value.finding.reached is reached


@pytest.mark.parametrize(("pause", "reached"), [(0.9, True), (1.0, False)])
def test_a_session_that_ends_while_we_stand_still_is_no_finding(pause, reached):
    """We say nothing any more: the end is there when we look again."""
    wire = Wire()
    us = Dialogue(wire, zid=b"\x01", unit=1.0, requirement="session-establishment/lease-unit")
    us.send(us.open_syn(sane.init_ack(us.init_syn(), b"\x02", b"c"), lease=1))
    us.their_open = us.open_ack()
    wire.time += pause
    with pytest.raises(Deviation) as ended:
        us.expect(KeepAlive)
    assert ended.value.finding.reached is reached


class Held(Wire):
    """A wire on which we are held up before a write, and which the other end may have shut by then."""

    up, shut = 0.0, False
    """Seconds that it takes, and whether the link is shut after them."""

    def send(self, data):
        self.time += self.up
        if self.shut:
            raise OSError


@pytest.mark.parametrize("shut", [False, True])
def test_what_holds_us_up_in_the_middle_of_a_write_is_our_silence_too(shut):
    wire = Held()
    us = Dialogue(wire, zid=b"\x01", unit=1.0, requirement="session-establishment/lease-unit")
    us.send(us.open_syn(sane.init_ack(us.init_syn(), b"\x02", b"c"), lease=1))
    us.their_open = us.open_ack()
    assert not us.overslept
    wire.up, wire.shut = 1.2, shut
    with suppress(OSError):
        us.send(KeepAlive())
    assert us.overslept


def test_a_silence_on_purpose_is_no_fault_of_ours():
    """A case that falls silent wants to see how the session ends: what it says of that end stands."""
    wire = Wire()
    us = Dialogue(wire, zid=b"\x01", unit=1.0, requirement="close/expired-lease-is-expired")
    us.send(us.open_syn(sane.init_ack(us.init_syn(), b"\x02", b"c"), lease=1))
    us.their_open = us.open_ack()
    us.fall_silent()
    wire.time += 2
    with pytest.raises(Deviation) as ended:
        us.expect(KeepAlive, step="after the lease")
    assert ended.value.finding.path == "after the lease"


def test_before_open_no_lease_runs():
    wire = Wire()
    us = Dialogue(wire, zid=b"\x01", unit=1.0, requirement="session-establishment/lease-unit")
    us.send(us.init_syn())
    wire.time += 2
    ack = sane.init_ack(us.init_syn(), b"\x02", b"c")
    with pytest.raises(Deviation) as ended:
        us.ask(us.open_syn(ack, lease=1), expect=OpenAck, step="stage open")
    assert ended.value.finding.path == "stage open"


def live(scene, lease):
    us = scene.dialogue()
    us.ask(us.open_syn(us.ask(us.init_syn(), expect=InitAck), lease=lease), expect=OpenAck)
    return us


def kept_alive(scene):
    events = [event for event in scene.conversation.events if event.sender is Side.INITIATOR and event.data]
    return Counter(event.connection for event in events if event.data[2:] == encode(KeepAlive()))


class Late(Reference):
    """It says everything 0.9 s late."""

    habits = Habits(answers_after=0.9)


def test_our_session_is_kept_alive_while_an_answer_is_waited_for():
    scene = MemoryScene("a/b", Late)
    us = live(scene, lease=1)
    for _ in range(3):
        us.expect_live()
    assert kept_alive(scene)["us"] >= 6
    assert not us.overslept


def test_another_session_of_ours_is_kept_alive_meanwhile():
    scene = MemoryScene("a/b", Reference)
    near, far = live(scene, lease=1), live(scene, lease=10)
    for _ in range(4):
        far.next(0.5)
    near.expect_live()
    assert kept_alive(scene)["us"] == 8
    assert kept_alive(scene)["us-2"] == 0


def test_who_is_to_be_silent_is():
    scene = MemoryScene("a/b", Reference)
    us = live(scene, lease=1)
    assert [seen.kind for seen in us.stream(3) if seen.kind == "close"] == ["close"]
    assert not kept_alive(scene)


@pytest.mark.parametrize("end", ["leave", "reset", "finish"])
def test_what_is_over_is_not_kept_alive(end):
    scene = MemoryScene("a/b", Reference)
    near, far = live(scene, lease=1), live(scene, lease=10)
    near.leave() if end == "leave" else getattr(near.wire, end)()
    far.next(2)
    assert not kept_alive(scene)["us"]


def test_each_link_may_have_a_clock_of_its_own():
    one, other = MemoryScene("a/b", Reference), MemoryScene("a/b", Reference)
    one.world.now = 1000
    near, far = live(one, lease=10), live(other, lease=10)
    near.beside_us = (near, far)
    near.next(0.5)
    assert one.world.now == pytest.approx(1000.5)
    assert not kept_alive(other)
