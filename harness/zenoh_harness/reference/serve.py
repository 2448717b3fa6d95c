"""The reference on real links: one thread, a selector, and the clock that the node itself does not have."""

from __future__ import annotations

import math
import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from zenoh_conformance.reading.conversation import Side

from .config import Action
from .node import Reference

TICK = 0.05
"""Seconds between two looks at the clock."""
RETRY = 0.1
"""Seconds before an initiator that found nobody connects again."""
READ = 1 << 16


class Utterance(NamedTuple):
    """One write, or an end, when its time has come."""

    due: float
    data: bytes
    end: bool = False
    reset: bool = False


@dataclass(slots=True)
class Peer:
    """One socket."""

    name: str
    socket: socket.socket
    unsent: bytearray = field(default_factory=bytearray)
    late: deque[Utterance] = field(default_factory=deque)
    """What waits for its time, or for what was said before it."""
    ending: bool = False
    """The node is done with it."""


class Server:
    """Serves one node: on a listening socket, or by connecting to an address again and again, as is its habit."""

    def __init__(self, node: Reference) -> None:
        self.node = node
        self.peers: dict[str, Peer] = {}
        self.selector = selectors.DefaultSelector()
        self.count = 0
        self.goes_on = True
        self.exit_code = 0
        """What the program is to end with."""
        self._listener: socket.socket | None = None
        self._utterances = count()

    def listen(self, host: str, port: int) -> int:
        """Listen; the port that the kernel gave."""
        listener = socket.create_server((host, port), backlog=1024)
        listener.setblocking(False)
        self._listener = listener
        self.selector.register(listener, selectors.EVENT_READ, None)
        return int(listener.getsockname()[1])

    def serve(self, connect_to: tuple[str, int] | None = None, until: Callable[[], bool] = lambda: False) -> None:
        """Go on until told to stop. Raises OSError only for the listening socket."""
        again_at: float | None = 0.0
        while self.goes_on and not until():
            if connect_to and not self.peers and again_at is not None and time.monotonic() >= again_at:
                again_at = self.come(connect_to)
            for key, events in self.selector.select(self.pause()):
                if key.data is None:
                    self.accept(key.fileobj)  # type: ignore[arg-type]
                else:
                    self.move(key.data, events)
            self.do(self.node.tick(time.monotonic()))
            for peer in list(self.peers.values()):
                self.utter(peer)
            if connect_to and not self.peers and self.count and self.node.habits.ends_with is not None:
                self.exit_code, self.goes_on = self.node.habits.ends_with, False
        for peer in list(self.peers.values()):
            self.drop(peer)
        self.selector.close()

    def come(self, address: tuple[str, int]) -> float | None:
        """Connect, and tell when to do so again after that; None for never, once it was there."""
        before = self.count
        self.connect(address)
        again = self.node.habits.comes_back_after
        if again is None:
            return time.monotonic() + RETRY if self.count == before else None
        return time.monotonic() + (again if self.count > before else RETRY)

    def pause(self) -> float:
        """Seconds until something is due."""
        due = [peer.late[0].due for peer in self.peers.values() if peer.late and not peer.unsent]
        return max(0.0, min(TICK, min(due, default=math.inf) - time.monotonic()))

    def accept(self, listener: socket.socket) -> None:
        """Take every link that waits, as many as the node looks at."""
        most = self.node.habits.links_at_a_time
        while most is None or len(self.peers) < most:
            try:
                connected, _ = listener.accept()
            except (BlockingIOError, ConnectionError):
                return
            self.take(connected, Side.RESPONDER)
        self.selector.unregister(listener)

    def connect(self, address: tuple[str, int]) -> None:
        """One attempt; who is not there is tried again later."""
        try:
            connected = socket.create_connection(address, timeout=1)
        except OSError:
            return
        self.take(connected, Side.INITIATOR)

    def take(self, connected: socket.socket, side: Side) -> None:
        """A new link for the node."""
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.count += 1
        if self.node.habits.log:
            print(self.node.habits.log, flush=True)
        peer = Peer(f"link{self.count}", connected)
        self.peers[peer.name] = peer
        self.selector.register(connected, selectors.EVENT_READ, peer)
        self.do(self.node.connected(peer.name, side, time.monotonic()))

    def move(self, peer: Peer, events: int) -> None:
        """Bytes in, bytes out."""
        if events & selectors.EVENT_WRITE:
            self.flush(peer)
            self.utter(peer)
        if events & selectors.EVENT_READ and peer.name in self.peers and not peer.ending:
            try:
                data = peer.socket.recv(READ)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                self.do(self.node.received(peer.name, data, time.monotonic()))
            else:
                self.lose(peer)

    def lose(self, peer: Peer) -> None:
        """The far side is gone, whether that shows when we read or when we write."""
        self.drop(peer)
        self.do(self.node.disconnected(peer.name, time.monotonic()))

    def do(self, actions: list[Action]) -> None:
        """Carry out what the node wants, as fast and in the pieces that are its habit."""
        habits = self.node.habits
        for action in actions:
            peer = self.peers.get(action.link)
            if peer is None or peer.ending:
                continue
            due = time.monotonic() + habits.late(next(self._utterances))
            peer.late += [Utterance(due, piece) for piece in (habits.cut(action.data) if action.data else ())]
            if action.end:
                peer.ending = True
                peer.late.append(Utterance(due, b"", end=True, reset=action.reset))
            self.utter(peer)

    def utter(self, peer: Peer) -> None:
        """Say what is due, one write after the other."""
        while peer.late and not peer.unsent and peer.late[0].due <= time.monotonic():
            said = peer.late.popleft()
            if said.end:
                self.drop(peer, reset=said.reset)
                return
            peer.unsent += said.data
            self.flush(peer)

    def flush(self, peer: Peer) -> None:
        """Send what the socket takes."""
        try:
            sent = peer.socket.send(peer.unsent) if peer.unsent else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self.lose(peer)
            return
        del peer.unsent[:sent]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsent else 0)
        self.selector.modify(peer.socket, wanted, peer)

    def drop(self, peer: Peer, *, reset: bool = False) -> None:
        """Let a socket go: FIN first, and what still comes is read away so that no reset destroys what was sent; or by a reset."""
        peer.late.clear()
        peer.unsent.clear()
        if self.peers.pop(peer.name, None) is None:
            return
        self.selector.unregister(peer.socket)
        if reset:
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            finish(peer.socket)
        peer.socket.close()
        if self._listener is not None and self._listener.fileno() not in self.selector.get_map():
            self.selector.register(self._listener, selectors.EVENT_READ, None)


def finish(sock: socket.socket) -> None:
    """Send FIN, and read away what has come."""
    try:
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(READ):
            pass
    except OSError:
        pass  # nothing more to read, or the far side is gone: either way the link ends
