"""Targets that answer late, in pieces, together or never, and end links in every way: each is told apart by its cause and end."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from zenoh_conformance.cases.case import find_case
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.messages import Init, KeepAlive
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_harness.reference import Reference, serve
from zenoh_harness.reference.config import Action, Refused
from zenoh_harness.reference.link import Link
from zenoh_harness.reference.serve import Peer, Server
from zenoh_harness.run.attempt.attempt import Conditions, attempt
from zenoh_harness.run.attempt.scenes import Stage
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import open_target

SANE = "establishment-sane/a-sane-handshake-is-accepted"
PAUSE = "establishment-states/a-short-pause-is-endured"
SCALE = 0.5
"""Of our patience: a unit is a second."""
LATE, TOO_LATE = 0.2, 2.0


class Moody(Reference):
    """Refuses every proposal, where that is its way."""

    how = "sane"

    def check_init(self, link: Link, syn: Init) -> None:
        if self.how == "close":
            raise Refused(0)
        super().check_init(link, syn)


class Mannered(Server):
    """The reference, with one way of its own."""

    port = 0
    node: Moody

    def __init__(self, node: Moody) -> None:
        super().__init__(node)
        self.how = "sane"
        self.later: list[tuple[float, list[Action]]] = []

    def do(self, actions: list[Action]) -> None:
        """At once, or later; what is due is done whenever we come by."""
        delay = {"late": LATE, "too-late": TOO_LATE}.get(self.how, 0)
        self.later.append((time.monotonic() + delay, self.mannered(actions)))
        while self.later and self.later[0][0] <= time.monotonic():
            super().do(self.later.pop(0)[1])

    def mannered(self, actions: list[Action]) -> list[Action]:
        """Something else than what the node wants."""
        said = [action for action in actions if action.data]
        if self.how == "never":
            return []
        if self.how == "together":
            beside = frame_batch(encode(KeepAlive()), "stream", prefix=2, compressed=False)
            return [
                Action(action.link, action.data and beside + action.data + beside, action.end) for action in actions
            ]
        for action in said if self.how in ("fin", "rst", "half") else ():
            self.end(self.peers[action.link])
        return [] if said and self.how in ("fin", "rst", "half") else actions

    def end(self, peer: Peer) -> None:
        """End the link instead of answering."""
        if self.how == "half":
            peer.socket.shutdown(socket.SHUT_WR)
            return
        if self.how == "rst":
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.peers.pop(peer.name)
        self.selector.unregister(peer.socket)
        peer.socket.close()

    def flush(self, peer: Peer) -> None:
        """Byte by byte, where that is its way."""
        while self.how == "bytewise" and peer.unsent:
            peer.unsent = peer.unsent[peer.socket.send(peer.unsent[:1]) :]
        super().flush(peer)

    def hurry(self) -> bool:
        """Where that is its way: shut every link on which nothing is heard for a moment."""
        if self.how == "hasty":
            for link in list(self.node.links.values()):
                if time.monotonic() - link.last_heard > 0:
                    self.end(self.peers[link.name])
                    self.node.disconnected(link.name, time.monotonic())
        return False


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mannered]:
    """A node that listens, sane so far."""
    monkeypatch.setenv("ZCONFORM_TIME_SCALE", str(SCALE))
    server = Mannered(Moody())
    server.port = server.listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.serve, kwargs={"until": server.hurry}, daemon=True)
    thread.start()
    yield server
    server.goes_on = False
    thread.join(10)


def judged(server: Mannered, how: str, name: str = SANE) -> Finding | None:
    """What a case says over a real link once the node has these manners; it is greeted before."""
    case = find_case(name)
    with open_target(parse(f"tcp/127.0.0.1:{server.port}")).start() as node:
        stage = Stage(node, requirement=case.requirement, label="manners")
        server.how = server.node.how = how
        try:
            case.run(stage, case.parameters[0])
        except Deviation as deviation:
            return deviation.finding
        finally:
            stage.close()
    return None


@pytest.mark.parametrize("how", ["sane", "late", "bytewise", "together"])
def test_how_the_answers_come_does_not_matter(server: Mannered, how: str) -> None:
    assert judged(server, how) is None


@pytest.mark.parametrize(
    ("how", "got", "end"),
    [
        ("never", "silence", "open"),
        ("too-late", "silence", "open"),
        ("fin", "link shut", "fin"),
        ("rst", "link reset", "rst"),
        ("close", "Close(GENERIC)", "close:0"),
    ],
)
def test_how_it_does_not_answer_is_told(server: Mannered, how: str, got: str, end: str) -> None:
    finding = judged(server, how)

    assert finding is not None
    assert (finding.got, finding.end) == (got, end)


@pytest.mark.parametrize(("how", "end"), [("fin", "fin"), ("half", "half-close"), ("rst", "rst"), ("close", "close:0")])
def test_one_direction_ended_is_told_from_both(server: Mannered, how: str, end: str) -> None:
    case = find_case(SANE)
    with open_target(parse(f"tcp/127.0.0.1:{server.port}")).start() as node:
        server.how = server.node.how = how
        outcome = attempt(Item(case, case.parameters[0]), Conditions(node=node))

    assert not outcome.held
    assert outcome.end == end


def test_a_shorter_patience_than_ours_is_told(server: Mannered) -> None:
    tries = (judged(server, "hasty", PAUSE) for _ in range(10))
    finding = next(
        (one for one in tries if one is not None), None
    )  # a busy machine may be later than the pause is long

    assert finding is not None
    assert finding.path == "after a pause"
    assert finding.got in ("link shut", "link reset")


def test_a_far_side_that_is_gone_is_noticed_where_we_write() -> None:
    """A node that always has something to say hears of the end from its writes first."""
    server = Server(Reference())
    address = ("127.0.0.1", server.listen("127.0.0.1", 0))
    with socket.create_connection(address) as theirs:
        server.selector.select(5)
        server.accept(server._listener)
        [name] = server.node.links
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server.selector.select(5)  # the reset has come
    server.do([Action(name, data=b"x")])
    assert (server.peers, server.node.links) == ({}, {})
    server.selector.close()


def test_a_far_side_that_does_not_read_is_given_up(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "MOST_UNSENT", 1 << 20)
    server = Server(Reference())
    with socket.create_connection(("127.0.0.1", server.listen("127.0.0.1", 0))):
        server.selector.select(5)
        server.accept(server._listener)
        [name] = server.node.links
        for _ in range(32):
            server.do([Action(name, data=bytes(1 << 20))])
    assert (server.peers, server.node.links) == ({}, {})
    assert "1 MiB wait for its far side" in capfd.readouterr().err
    server.selector.close()
