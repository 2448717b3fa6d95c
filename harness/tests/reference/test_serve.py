"""The server of the reference node writes in the order in which the node speaks."""

import socket
from selectors import EVENT_READ
from types import SimpleNamespace

from zenoh_harness.reference.config import Action
from zenoh_harness.reference.habits import Habits
from zenoh_harness.reference.serve import Peer, Server


def test_what_follows_from_a_lost_link_comes_after_what_was_said_before_it():
    node = SimpleNamespace(habits=Habits(), disconnected=lambda name, now: [Action("heard", b"2")])
    server = Server(node)
    ours, theirs = socket.socketpair()
    gone, far = socket.socketpair()
    for name, one in (("heard", ours), ("gone", gone)):
        one.setblocking(False)
        server.peers[name] = Peer(name, one)
        server.selector.register(one, EVENT_READ, server.peers[name])
    far.close()
    with ours, theirs, gone, server.selector:
        server.do([Action("gone", b"x"), Action("heard", b"1")])
        assert theirs.recv(2) == b"12"
