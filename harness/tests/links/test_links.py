"""Links: bytes, ends and resets, each seen as it happens, against plain sockets."""

import socket
import threading
import time

import pytest

from zenoh_conformance.reading.conversation import Happened
from zenoh_harness.errors import CannotConnect, UsageError
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import LinkListener, connect
from zenoh_harness.links.timing import Deadline


def soon():
    return Deadline.after(5)


@pytest.fixture
def pair():
    seen = []
    with LinkListener.open() as listener:
        ours = connect(listener.locator, soon(), seen.append)
        theirs = listener.accept(soon())
        assert theirs is not None
        with ours, theirs:
            yield ours, theirs, seen


def test_bytes_go_both_ways_and_are_observed(pair):
    ours, theirs, seen = pair
    assert ours.send(b"ping", soon()) == 4
    assert theirs.receive(soon()).data == b"ping"
    theirs.send(b"pong", soon())
    assert ours.receive(soon()).data == b"pong"
    assert [(event.what, event.ours, event.data) for event in seen] == [
        (Happened.OPEN, True, b""),
        (Happened.BYTES, True, b"ping"),
        (Happened.BYTES, False, b"pong"),
    ]
    assert [event.time for event in seen] == sorted(event.time for event in seen)


def test_what_we_send_is_of_the_moment_before_it_went_out(pair):
    """Who has received it may end the session by our silence from there on, also where we run late."""
    ours, _, seen = pair
    went = []

    class Slow:
        def __getattr__(self, name):
            return getattr(sock, name)

        def send(self, data):
            went.append(time.monotonic())
            return sock.send(data)

    sock, ours._sock = ours._sock, Slow()
    ours.send(b"ping", soon())
    assert seen[-1].time <= went[0]


def test_silence_is_none(pair):
    assert pair[0].receive(Deadline.after(0.01)) is None


def test_an_orderly_end_comes_after_the_last_bytes_and_stays(pair):
    ours, theirs, _ = pair
    theirs.send(b"last", soon())
    theirs.close()
    assert ours.receive(soon()).data == b"last"
    assert [ours.receive(soon()).what for _ in range(2)] == [Happened.EOF] * 2
    assert ours.ended.what is Happened.EOF


def test_half_an_end_leaves_the_other_half(pair):
    ours, theirs, _ = pair
    ours.finish()
    assert theirs.receive(soon()).what is Happened.EOF
    assert theirs.send(b"still", soon()) == 5
    assert ours.receive(soon()).data == b"still"


def test_a_reset_is_a_reset(pair):
    ours, theirs, _ = pair
    theirs.abort()
    assert ours.receive(soon()).what is Happened.RESET


def test_sending_into_a_reset_says_how_much_went(pair):
    ours, theirs, _ = pair
    theirs.abort()
    assert ours.receive(soon()).ended
    assert ours.send(b"x" * 100, soon()) == 0


def test_a_peer_that_reads_nothing_stops_us_at_the_deadline(pair):
    ours, _, _ = pair
    sent = ours.send(b"x" * (1 << 25), Deadline.after(0.2))
    assert 0 < sent < 1 << 25


def test_two_full_pipes_do_not_wait_for_each_other(pair):
    ours, theirs, _ = pair
    big = bytes(1 << 22)
    went = []
    other = threading.Thread(target=lambda: went.append(theirs.send(big, soon())))
    other.start()
    went.append(ours.send(big, soon()))
    other.join()
    assert went == [len(big)] * 2
    got = 0
    while got < len(big):
        got += len(ours.receive(soon()).data)


def test_nobody_there_is_an_error_with_its_step():
    with LinkListener.open() as listener:
        gone = listener.locator
    with pytest.raises(CannotConnect) as refused:
        connect(gone, soon())
    assert refused.value.step == "connect"
    assert refused.value.exit_code == 3
    assert "refused" in str(refused.value)


def test_a_listener_gives_up_at_the_deadline():
    with LinkListener.open() as listener:
        assert listener.accept(Deadline.after(0.01)) is None


def test_a_taken_port_is_told():
    with LinkListener.open() as listener, pytest.raises(CannotConnect, match="cannot listen"):
        LinkListener.open(listener.locator)


def test_unix_sockets(tmp_path):
    where = Locator("unixsock-stream", str(tmp_path / "s"))
    with LinkListener.open(where) as listener:
        assert listener.locator == where
        with connect(where, soon()) as ours, listener.accept(soon()) as theirs:
            ours.send(b"hi", soon())
            assert theirs.receive(soon()).data == b"hi"


def test_a_link_that_is_not_spoken_yet():
    with pytest.raises(UsageError, match="quic"):
        connect(Locator.parse("quic/127.0.0.1:1"), soon())


def test_nagle_is_off(pair):
    assert pair[0]._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
