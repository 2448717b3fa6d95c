"""The tap between datagrams: one by one, a cut is told, and what comes behind it is no new link."""

import pytest

from zenoh_conformance.messages import KeepAlive, sane
from zenoh_conformance.reading.codec import encode
from zenoh_harness.errors import UsageError
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import LinkListener, connect
from zenoh_harness.links.tap import Tap
from zenoh_harness.links.timing import Deadline, scaled

PATIENCE = 20.0


def soon():
    return Deadline.after(scaled(PATIENCE))


def test_datagrams_are_passed_on_one_by_one_and_recorded():
    """Both directions, of two links; an empty one says nothing, and is no end."""
    recorded = []
    with (
        LinkListener.open(Locator.parse("udp/127.0.0.1:0")) as listener,
        Tap(Locator.parse("udp/127.0.0.1:0"), listener.locator, recorded.append) as tap,
        connect(tap.locator, soon()) as one,
        connect(tap.locator, soon()) as other,
    ):
        for link, said in ((one, b"1"), (other, b"2")):
            link.send(said, soon())
            with listener.accept(soon()) as far:
                assert far.receive(soon()).data == said
                for data in (b"x", b"", b"yy"):
                    far.send(data, soon())
                assert [link.receive(soon()).data for _ in range(2)] == [b"x", b"yy"]
    assert [event.data for event in recorded if event.data] == [b"1", b"x", b"yy", b"2", b"x", b"yy"]


def test_a_cut_is_told_to_both_sides_of_a_link_of_datagrams():
    """Two wheels went on in the next link, and `interop` was red for its first message."""
    recorded = []
    with (
        LinkListener.open(Locator.parse("udp/127.0.0.1:0")) as listener,
        Tap(Locator.parse("udp/127.0.0.1:0"), listener.locator, recorded.append) as tap,
        connect(tap.locator, soon()) as link,
    ):
        link.send(b"1", soon())
        with listener.accept(soon()) as far:
            assert far.receive(soon()).data == b"1"
            tap.bar()
            assert {side.receive(soon()).data for side in (link, far)} == {encode(sane.close())}
    assert [event.data for event in recorded if event.data] == [b"1"]


def test_what_comes_behind_a_cut_is_no_new_link_of_datagrams_unless_it_is_init():
    """A wheel went on until it had read that its link was cut, and `interop` was red for the FRAME that began the next one."""
    recorded = []
    frame, init = encode(KeepAlive()), encode(sane.init_syn(b"\x01"))
    with (
        LinkListener.open(Locator.parse("udp/127.0.0.1:0")) as listener,
        Tap(Locator.parse("udp/127.0.0.1:0"), listener.locator, recorded.append) as tap,
        connect(tap.locator, soon()) as link,
    ):
        link.send(init, soon())
        with listener.accept(soon()) as far:
            assert far.receive(soon()).data == init
            tap.bar()
            tap.unbar()
            assert link.receive(soon()).data == encode(sane.close())
            link.send(frame, soon())
            assert link.receive(soon()).data == encode(sane.close())
            again = None
            while again is None:  # one that comes before the tap has let the other one go is lost with it
                link.send(init, soon())
                again = listener.accept(Deadline.after(0.5))
            with again:
                assert again.receive(soon()).data == init
    assert {event.data for event in recorded if event.data} == {init}


def test_a_tap_between_a_stream_and_datagrams_is_refused():
    with pytest.raises(UsageError, match="in different ways"):
        Tap(Locator.parse("udp/127.0.0.1:0"), Locator.parse("tcp/127.0.0.1:1"), print)
