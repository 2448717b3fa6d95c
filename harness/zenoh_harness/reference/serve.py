"""The reference on real links: one thread, a selector, and the clock that the node itself does not have."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from zenoh_conformance.conversation import Side

from .config import Action
from .node import Reference

TICK = 0.05
"""Seconds between two looks at the clock."""
RETRY = 0.1
"""Seconds before an initiator connects again after its link ended."""
READ = 1 << 16


@dataclass(slots=True)
class Peer:
    """One socket."""

    name: str
    socket: socket.socket
    unsent: bytearray = field(default_factory=bytearray)
    ending: bool = False
    """To be shut once everything is sent."""


class Server:
    """Serves one node: on a listening socket, or by connecting to an address again and again."""

    def __init__(self, node: Reference) -> None:
        self.node = node
        self.peers: dict[str, Peer] = {}
        self.selector = selectors.DefaultSelector()
        self.count = 0
        self.goes_on = True

    def listen(self, host: str, port: int) -> int:
        """Listen; the port that the kernel gave."""
        listener = socket.create_server((host, port), backlog=1024)
        listener.setblocking(False)
        self.selector.register(listener, selectors.EVENT_READ, None)
        return int(listener.getsockname()[1])

    def serve(self, connect_to: tuple[str, int] | None = None, until: Callable[[], bool] = lambda: False) -> None:
        """Go on until told to stop. Raises OSError only for the listening socket."""
        again_at = 0.0
        while self.goes_on and not until():
            if connect_to and not self.peers and time.monotonic() >= again_at:
                self.connect(connect_to)
                again_at = time.monotonic() + RETRY
            for key, events in self.selector.select(TICK):
                if key.data is None:
                    self.accept(key.fileobj)  # type: ignore[arg-type]
                else:
                    self.move(key.data, events)
            self.do(self.node.tick(time.monotonic()))
        for peer in list(self.peers.values()):
            self.drop(peer)
        self.selector.close()

    def accept(self, listener: socket.socket) -> None:
        """Take every link that waits."""
        while True:
            try:
                connected, _ = listener.accept()
            except (BlockingIOError, ConnectionError):
                return
            self.take(connected, Side.RESPONDER)

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
        peer = Peer(f"link{self.count}", connected)
        self.peers[peer.name] = peer
        self.selector.register(connected, selectors.EVENT_READ, peer)
        self.do(self.node.connected(peer.name, side, time.monotonic()))

    def move(self, peer: Peer, events: int) -> None:
        """Bytes in, bytes out."""
        if events & selectors.EVENT_WRITE:
            self.flush(peer)
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
                self.do(self.node.disconnected(peer.name, time.monotonic()))
                self.drop(peer)

    def do(self, actions: list[Action]) -> None:
        """Carry out what the node wants."""
        for action in actions:
            peer = self.peers.get(action.link)
            if peer is not None and not peer.ending:
                peer.unsent += action.data
                peer.ending = action.end
                self.flush(peer)

    def flush(self, peer: Peer) -> None:
        """Send what the socket takes; shut it when all is sent and nothing is to follow."""
        try:
            sent = peer.socket.send(peer.unsent) if peer.unsent else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self.drop(peer)
            return
        del peer.unsent[:sent]
        if not peer.unsent and peer.ending:
            self.drop(peer)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsent else 0)
        self.selector.modify(peer.socket, wanted, peer)

    def drop(self, peer: Peer) -> None:
        """Let a socket go: FIN first, and what still comes is read away so that no reset destroys what was sent."""
        if self.peers.pop(peer.name, None) is None:
            return
        self.selector.unregister(peer.socket)
        try:
            peer.socket.shutdown(socket.SHUT_WR)
            while peer.socket.recv(READ):
                pass
        except OSError:
            pass  # nothing more to read, or the far side is gone: either way the link ends
        peer.socket.close()
