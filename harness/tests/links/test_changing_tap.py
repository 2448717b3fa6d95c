"""A tap with rules between two sockets: what goes on, when, and that ends keep their place behind it."""

import contextlib
import socket
import struct
import threading

import pytest

from zenoh_conformance.messages import KeepAlive
from zenoh_conformance.messages.sane import close
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness.links.changing import parse_rules
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.tap import Tap, change_of
from zenoh_harness.links.timing import scaled

PATIENCE = 20.0
ALIVE, FAREWELL = (frame_batch(encode(message)) for message in (KeepAlive(), close(1)))


@pytest.fixture
def meet():
    """Opens a tap with rules for one side: the socket that came, the one that was reached, and the events so far."""
    with contextlib.ExitStack() as stack:

        def meet(*rules, side=Side.RESPONDER):
            events, over = [], threading.Event()
            door = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            to = Locator.tcp(*door.getsockname())
            change = change_of(parse_rules(rules), side)
            tap = Tap(Locator.tcp("127.0.0.1", 0), to, events.append, on_end=lambda _: over.set(), change=change)
            stack.enter_context(tap)
            near = stack.enter_context(socket.create_connection((tap.locator.host, tap.locator.port)))
            there, _ = door.accept()
            stack.enter_context(there)
            for sock in (near, there):
                sock.settimeout(scaled(PATIENCE))
            return near, there, events, over

        yield meet


def rest(sock):
    """All that comes until the end."""
    got = b""
    while more := sock.recv(65536):
        got += more
    return got


@pytest.mark.parametrize("cut", [1, 3, 100])
def test_one_side_is_changed_and_the_other_is_not(meet, cut):
    near, there, _, _ = meet("drop:keep_alive")
    near.sendall(ALIVE + FAREWELL)
    near.shutdown(socket.SHUT_WR)
    said = ALIVE + FAREWELL + ALIVE
    for at in range(0, len(said), cut):
        there.sendall(said[at : at + cut])
    there.shutdown(socket.SHUT_WR)
    assert rest(there) == ALIVE + FAREWELL
    assert rest(near) == FAREWELL


def test_an_end_waits_for_what_is_held_back(meet):
    near, there, events, over = meet("delay:0.1:close")
    there.sendall(ALIVE + FAREWELL + ALIVE)
    there.close()
    assert rest(near) == ALIVE + FAREWELL + ALIVE
    near.close()
    assert over.wait(scaled(PATIENCE))
    said = [event for event in events if event.sender is Side.RESPONDER]
    assert [event.kind for event in said][-1] is Happened.EOF
    alive, farewell = (next(event.time for event in said if event.data.startswith(one)) for one in (ALIVE, FAREWELL))
    assert farewell - alive >= 0.09


def test_half_a_batch_goes_before_the_end(meet):
    near, there, _, _ = meet("drop:keep_alive")
    there.sendall(FAREWELL + ALIVE[:-1])
    there.close()
    assert rest(near) == FAREWELL + ALIVE[:-1]


def test_a_reset_goes_on_behind_what_was_held_back(meet):
    near, there, events, over = meet("delay:60:close", side=Side.INITIATOR)
    near.sendall(ALIVE + FAREWELL)
    assert there.recv(65536) == ALIVE  # the tap has read both
    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    near.close()
    assert over.wait(scaled(PATIENCE))
    assert [(event.kind, event.data) for event in events if event.sender is Side.INITIATOR][1:] == [
        (Happened.BYTES, ALIVE), (Happened.BYTES, FAREWELL), (Happened.RESET, b""),
    ]  # fmt: skip


def test_a_throttle_keeps_every_byte(meet):
    near, there, _, _ = meet("throttle:20000")
    said = ALIVE * 500
    there.sendall(said)
    there.shutdown(socket.SHUT_WR)
    assert rest(near) == said
