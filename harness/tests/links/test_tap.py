"""The tap changes nothing: every byte in order, ends as ends, resets as resets; and it says who ended what."""

import contextlib
import json
import os
import random
import selectors
import socket
import struct
import threading
from pathlib import Path

import pytest

from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_harness.errors import CannotConnect, CannotGoOn
from zenoh_harness.files import conversations
from zenoh_harness.links import relay
from zenoh_harness.links.links import LinkEvent
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import connect
from zenoh_harness.links.tap import Recording, Tap
from zenoh_harness.links.timing import Deadline, scaled

pytestmark = pytest.mark.long

PATIENCE = 20.0
ANYWHERE = Locator.tcp("127.0.0.1", 0)


class Talk:
    """A tap between two plain sockets, and what it recorded."""

    def __init__(self, tap, events, ended):
        self.tap, self.events, self.ended = tap, events, ended
        self.over = threading.Event()

    def of(self, link="link-1"):
        """(sender, kind, bytes) of a link, pieces of one sender joined: how the kernel cut them is chance."""
        text = []
        for event in self.events:
            if event.connection != link:
                continue
            if text and event.kind is Happened.BYTES is text[-1][1] and text[-1][0] is event.sender:
                text[-1] = (event.sender, event.kind, text[-1][2] + event.data)
            else:
                text.append((event.sender, event.kind, event.data))
        return text

    def wait(self):
        assert self.over.wait(scaled(PATIENCE))


@pytest.fixture
def far():
    """The far side: a listener of the test's own."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(scaled(PATIENCE))
        yield door


@pytest.fixture
def talk(far):
    events, ended = [], []

    def at_end(passed):
        ended.append(passed)
        talk.over.set()

    with Tap(ANYWHERE, Locator.tcp(*far.getsockname()), events.append, on_end=at_end) as tap:
        talk = Talk(tap, events, ended)
        yield talk


def come(talk):
    near = socket.create_connection((talk.tap.locator.host, talk.tap.locator.port))
    near.settimeout(scaled(PATIENCE))
    return near


def both(talk, far):
    near = come(talk)
    there, _ = far.accept()
    there.settimeout(scaled(PATIENCE))
    return near, there


def take(sock, size):
    got = b""
    while len(got) < size and (more := sock.recv(65536)):
        got += more
    return got


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


INIT, RESP = Side.INITIATOR, Side.RESPONDER


def test_both_directions_are_passed_on_and_recorded(talk, far):
    near, there = both(talk, far)
    near.sendall(b"hello")
    assert take(there, 5) == b"hello"
    there.sendall(b"you too")
    assert take(near, 7) == b"you too"
    near.close()
    assert there.recv(1) == b""
    there.close()
    talk.wait()
    assert talk.of() == [
        (INIT, Happened.OPEN, b""),
        (INIT, Happened.BYTES, b"hello"),
        (RESP, Happened.BYTES, b"you too"),
        (INIT, Happened.EOF, b""),
        (RESP, Happened.EOF, b""),
    ]
    times = [event.time for event in talk.events]
    assert times == sorted(times)
    [passed] = talk.ended
    assert (passed.first, passed.how) == (INIT, "eof")
    assert passed.sent == {INIT: 5, RESP: 7}


def test_a_half_end_leaves_the_other_half(talk, far):
    near, there = both(talk, far)
    near.shutdown(socket.SHUT_WR)
    assert there.recv(1) == b""
    there.sendall(b"still here")
    assert take(near, 10) == b"still here"
    there.close()
    assert near.recv(1) == b""
    talk.wait()
    assert [(who, what) for who, what, _ in talk.of()] == [
        (INIT, Happened.OPEN),
        (INIT, Happened.EOF),
        (RESP, Happened.BYTES),
        (RESP, Happened.EOF),
    ]
    near.close()


@pytest.mark.parametrize("who", [INIT, RESP])
def test_a_reset_is_a_reset_on_the_other_side_after_all_that_was_said(talk, far, who):
    near, there = both(talk, far)
    breaks, stays = (near, there) if who is INIT else (there, near)
    breaks.sendall(b"last words")
    assert take(stays, 10) == b"last words"
    reset(breaks)
    with pytest.raises(ConnectionResetError):
        stays.recv(1)
    talk.wait()
    assert talk.of()[-1] == (who, Happened.RESET, b"")
    assert (talk.ended[0].first, talk.ended[0].how) == (who, "reset")
    assert who.value in str(talk.ended[0])
    stays.close()


def test_a_reset_while_the_other_side_sends_is_seen(talk, far):
    """The kernel tells whoever sends first, and says `end` to whoever reads afterwards."""
    near, there = both(talk, far)
    near.shutdown(socket.SHUT_WR)
    assert there.recv(1) == b""
    reset(near)
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while True:
            there.sendall(b"x" * 65536)
    talk.wait()
    assert talk.of()[-1] == (INIT, Happened.RESET, b"")
    there.close()


@contextlib.contextmanager
def single_stepped():
    """One link whose steps the test takes: (relay, selector, initiator's socket, responder's socket, what was told)."""
    text = []
    with socket.create_server(("127.0.0.1", 0)) as door, selectors.DefaultSelector() as selector:
        near = socket.create_connection(door.getsockname())
        ours, _ = door.accept()
        passing = relay.Relay(
            selector, ours, socket.socket(), relay.Passed("link-1", ""), lambda *what: text.append(what[1:])
        )
        passing.begin(door.getsockname())
        there, _ = door.accept()
        there.settimeout(scaled(PATIENCE))
        passing.on_ready(passing._far, selectors.EVENT_WRITE)
        yield passing, selector, near, there, text
        passing.end()
        near.close()
        there.close()


def test_a_reset_that_a_send_met_first_is_no_end():
    """Whoever sends into a reset is told of it, and the kernel calls what is read after it an end."""
    with single_stepped() as (passing, selector, near, there, text):
        near.sendall(b"into the void")
        reset(there)
        selector.select(scaled(PATIENCE))
        passing.on_ready(passing._near, selectors.EVENT_READ)
        passing.on_ready(passing._far, selectors.EVENT_READ)
        assert passing.over
    assert text == [(INIT, Happened.OPEN, b""), (INIT, Happened.BYTES, b"into the void"), (RESP, Happened.RESET, b"")]


def test_nothing_overtakes_what_waits():
    with single_stepped() as (passing, selector, near, there, _):
        passing._far.waiting += b"first "
        near.sendall(b"second")
        selector.select(scaled(PATIENCE))
        passing.on_ready(passing._near, selectors.EVENT_READ)
        passing.on_ready(passing._far, selectors.EVENT_WRITE)
        assert take(there, 12) == b"first second"


def test_a_far_side_that_is_not_there_is_a_reset_and_named(talk, far):
    far.close()
    near = come(talk)
    with pytest.raises(ConnectionResetError):
        near.recv(1)
    talk.wait()
    [passed] = talk.ended
    assert not passed.reached
    assert (passed.first, passed.how) == (RESP, os.strerror(111))
    near.close()


def test_a_far_side_that_does_not_accept_is_given_up(monkeypatch):
    """Its queue is full: the kernel answers no more SYNs."""
    monkeypatch.setattr(relay, "CONNECTING", 0.3)
    over, ended = threading.Event(), []
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        at_end = [ended.append, lambda _: over.set()]
        tap = stack.enter_context(
            Tap(ANYWHERE, Locator.tcp(*full.getsockname()), lambda _: None, on_end=lambda it: [do(it) for do in at_end])
        )
        near = stack.enter_context(socket.create_connection((tap.locator.host, tap.locator.port)))
        near.sendall(b"anybody?")
        assert over.wait(scaled(PATIENCE))
        assert ended[0].how == "does not accept"


def test_what_is_said_before_the_far_side_accepts_waits_for_it(talk, far):
    near = come(talk)
    near.sendall(b"early")
    near.shutdown(socket.SHUT_WR)
    there, _ = far.accept()
    assert take(there, 6) == b"early"
    there.close()
    talk.wait()
    near.close()


def test_a_side_that_does_not_read_holds_the_other_back(talk, far):
    near, there = both(talk, far)
    near.settimeout(0.5)
    said, sent = random.Random(7).randbytes(64 << 20), 0
    with contextlib.suppress(TimeoutError):
        while sent < len(said):
            sent += near.send(said[sent : sent + 65536])
    assert sent < len(said)
    near.settimeout(scaled(PATIENCE))
    near.shutdown(socket.SHUT_WR)
    assert take(there, sent + 1) == said[:sent]
    there.close()
    talk.wait()
    assert talk.ended[0].sent[INIT] == sent
    near.close()


def test_a_thousand_random_conversations_are_the_same_with_and_without(talk, far):
    """Each side says random pieces in a random order and ends in a random way; both hear exactly what was said."""
    chance = random.Random(7)
    for _ in range(1000):
        near, there = both(talk, far)
        said = {INIT: b"", RESP: b""}
        for _ in range(chance.randrange(6)):
            who = chance.choice((INIT, RESP))
            piece = chance.randbytes(chance.choice((1, 20, 300, 70000)))
            said[who] += piece
            speaks, hears = (near, there) if who is INIT else (there, near)
            speaks.sendall(piece)
            assert take(hears, len(piece)) == piece
        first, second = (near, there) if chance.random() < 0.5 else (there, near)
        if chance.random() < 0.3:
            reset(first)
            with pytest.raises(ConnectionResetError):
                second.recv(1)
        else:
            first.close()
            assert second.recv(1) == b""
        second.close()
    deadline = Deadline.after(PATIENCE)
    while len(talk.ended) < 1000:
        assert not deadline.passed, f"{len(talk.ended)} links have ended"
        talk.over.clear()
        talk.over.wait(0.1)
    for number in (1, 500, 1000):
        passed = talk.ended[number - 1]
        heard = {INIT: b"", RESP: b""}
        for who, what, data in talk.of(passed.name):
            heard[who] += data if what is Happened.BYTES else b""
        assert {side: len(data) for side, data in heard.items()} == passed.sent


def test_many_links_at_once(talk, far):
    pairs = [both(talk, far) for _ in range(50)]
    for number, (near, _) in enumerate(pairs):
        near.sendall(bytes([number]) * 1000)
    for number, (_, there) in enumerate(pairs):
        assert take(there, 1000) == bytes([number]) * 1000
    assert len({event.connection for event in talk.events}) == 50
    for near, there in pairs:
        near.close()
        there.close()


def test_two_taps_at_once_never_hand_on_each_others_bytes(far):
    """Each serves in a thread of its own: what one has just read must not be what the other writes."""
    size, heard = 8 << 20, {}
    recorded = {mark: [] for mark in (b"a", b"b")}

    def speak(mark, sock):
        with sock:
            for _ in range(size // 1024):
                sock.sendall(mark * 1024)

    def listen(mark, sock):
        with sock:
            heard[mark] = take(sock, size)

    with contextlib.ExitStack() as stack:
        threads = []
        for mark in recorded:
            tap = stack.enter_context(Tap(ANYWHERE, Locator.tcp(*far.getsockname()), recorded[mark].append))
            near = socket.create_connection((tap.locator.host, tap.locator.port))
            there, _ = far.accept()
            there.settimeout(scaled(PATIENCE))
            threads += [threading.Thread(target=do, args=(mark, sock)) for do, sock in ((speak, near), (listen, there))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    text = {mark: b"".join(event.data for event in events) for mark, events in recorded.items()}
    assert [heard[mark].count(mark) for mark in recorded] == [size, size]
    assert [text[mark].count(mark) for mark in recorded] == [size, size]


def test_leaving_ends_every_link(far):
    ended = []
    tap = Tap(ANYWHERE, Locator.tcp(*far.getsockname()), lambda _: None, on_end=ended.append)
    with tap:
        near = socket.create_connection((tap.locator.host, tap.locator.port))
        there, _ = far.accept()
        near.sendall(b"x")
        assert take(there, 1) == b"x"
    assert there.recv(1) == b""
    assert "ended by the tap" in str(ended[0])
    tap.close()
    with pytest.raises(CannotConnect):
        connect(tap.locator, Deadline.after(1))


def test_a_unix_socket_leaves_no_file(far, tmp_path):
    path = tmp_path / "tap.sock"
    with Tap(Locator.parse(f"unixsock-stream/{path}"), Locator.tcp(*far.getsockname()), lambda _: None) as tap:
        with connect(tap.locator, Deadline.after(PATIENCE)) as link:
            there, _ = far.accept()
            link.send(b"x", Deadline.after(PATIENCE))
            assert take(there, 1) == b"x"
            there.close()
            assert isinstance(link.receive(Deadline.after(PATIENCE)), LinkEvent)
    assert not path.exists()


def test_a_place_that_is_taken(far):
    with pytest.raises(CannotConnect, match="cannot listen"):
        Tap(Locator.tcp(*far.getsockname()), Locator.tcp(*far.getsockname()), lambda _: None)


def test_a_sink_that_fails_stops_the_tap_and_is_told(far):
    def full(_event):
        raise CannotGoOn("the disk is full")

    tap = Tap(ANYWHERE, Locator.tcp(*far.getsockname()), full)

    def come_and_hear():
        with tap, socket.create_connection((tap.locator.host, tap.locator.port)) as near:
            assert near.recv(1) == b""

    with pytest.raises(CannotGoOn, match="the disk is full"):
        come_and_hear()


def test_a_recording_names_its_connections_once_it_is_closed(tmp_path):
    path = tmp_path / "talk.jsonl"
    recording = Recording(path)
    events = [Event(0.25, 'a "link"', INIT, Happened.OPEN), Event(1e-05, 'a "link"', INIT, Happened.BYTES, b"\x00\xff")]
    for event in events:
        recording(event)
    assert conversations.read(path).events == events
    whole = Conversation()
    whole.connection('a "link"')
    recording.close(whole)
    text = conversations.read(path)
    assert text.events == events
    assert list(text.connections) == ['a "link"']
    assert list(path.parent.iterdir()) == [path]
    assert [json.loads(line) for line in path.read_text().splitlines()][1:] == [
        conversations.event_row(event) for event in events
    ]


def full(*_words):
    raise OSError(28, "No space left on device")


def test_a_recording_that_cannot_be_written(tmp_path, monkeypatch):
    for path in (tmp_path / "no" / "such" / "folder", Path("/dev/full")):
        with pytest.raises(CannotGoOn, match="cannot write"):
            Recording(path)
    recording = Recording(tmp_path / "talk.jsonl")
    event = Event(0.5, "link-1", INIT, Happened.OPEN)
    recording(event)
    monkeypatch.setattr(recording._writer, "event", full)
    with pytest.raises(CannotGoOn, match="cannot go on writing"):
        recording(event)
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(CannotGoOn, match="cannot complete"):
        recording.close(Conversation())
    assert list(tmp_path.iterdir()) == [recording.path]
    assert conversations.read(recording.path).events == [event]
