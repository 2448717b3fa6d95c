"""Serve the reference node on sockets: one thread with a selector, which passes the time to the node."""

from __future__ import annotations

import math
import selectors
import socket
import ssl
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from zenoh_conformance.reading.conversation import Framing, Side
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.datagrams import DatagramDoor
from zenoh_harness.links.groups import NODE, hearing, speaking
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import connect_socket, listening
from zenoh_harness.links.timing import Deadline
from zenoh_harness.links.tls import TlsSocket, listening_context

from .config import Action
from .groups import MULTICAST, SCOUTING
from .node import Reference

TICK = 0.05
"""The most seconds between two calls of the node's `tick`."""
RETRY = 0.1
"""Seconds until an initiator whose connection failed tries again."""
READ = 1 << 16
"""The most bytes of one read."""
MOST_UNSENT = 1 << 26
"""The most bytes that wait for a far side that does not read; with more of them the link is reset."""


class Utterance(NamedTuple):
    """One write, or the end of a link, with the time at which it is due."""

    due: float
    """By `time.monotonic`, in seconds."""
    data: bytes
    end: bool = False
    reset: bool = False


@dataclass(slots=True)
class Peer:
    """One link and its socket."""

    name: str
    socket: socket.socket
    unsent: bytearray = field(default_factory=bytearray)
    late: deque[Utterance] = field(default_factory=deque)
    """The writes that are not due yet, or wait for earlier ones."""
    waiting: int = 0
    """The bytes in `unsent` and `late`."""
    framing: Framing = field(init=False)
    ending: bool = False
    """Whether the node has ended the link; the end may still be among `late`."""

    def __post_init__(self) -> None:
        self.framing = Framing.DATAGRAM if self.socket.type is socket.SOCK_DGRAM else Framing.STREAM


@dataclass(frozen=True, slots=True)
class JoinedGroup:
    """A multicast group that the node is in."""

    name: str
    locator: Locator
    hears: socket.socket
    speaks: socket.socket

    def say(self, data: bytes, at: str) -> None:
        """Send a datagram to an address, `HOST:PORT`, or to the group for an empty one; a full buffer loses it."""
        host, _, port = (at or self.locator.address).rpartition(":")
        with suppress(OSError):
            self.speaks.sendto(data, (host, int(port)))

    def close(self) -> None:
        """Leave the group."""
        self.hears.close()
        self.speaks.close()


class Server:
    """Serves one node on a listening socket, or by connecting to an address, again after each end, as its habits say."""

    def __init__(self, node: Reference) -> None:
        self.node = node
        self.peers: dict[str, Peer] = {}
        self.groups: dict[str, JoinedGroup] = {}
        self.selector = selectors.DefaultSelector()
        self.count = 0
        self.goes_on = True
        self.exit_code = 0
        """The exit code with which the program must end."""
        self._listener: socket.socket | None = None
        self._at = Locator.tcp("127.0.0.1", 0)
        """Where it listens."""
        self._tls: ssl.SSLContext | None = None
        self._to_do: deque[Action] = deque()
        self._doing = False
        self._utterances = count()

    def listen(self, host: str, port: int) -> int:
        """Listen on a TCP address; return the port, which the kernel chooses for 0. Raises CannotConnect."""
        return self.listen_at(Locator.tcp(host, port)).port

    def listen_at(self, locator: Locator) -> Locator:
        """Listen at a locator; return it with the port that the kernel chose for 0. Raises CannotConnect, UsageError."""
        self._tls = listening_context(locator) if locator.protocol == "tls" else None
        self._listener, self._at = listening(locator)
        self.selector.register(self._listener, selectors.EVENT_READ, None)
        return self._at

    def join_groups(self, groups: Mapping[str, Locator]) -> None:
        """Join groups, by name. Raises CannotConnect where the machine has no multicast."""
        for name, group in groups.items():
            heard = JoinedGroup(name, group, hearing(group), speaking(group, NODE))
            self.groups[name] = heard
            self.selector.register(heard.hears, selectors.EVENT_READ, heard)
        if MULTICAST in groups:
            self.do(self.node.join_group(time.monotonic()))

    def hear(self, group: JoinedGroup) -> None:
        """Pass what was said in a group to the node."""
        with suppress(BlockingIOError):
            while True:
                datagram, (host, port) = group.hears.recvfrom(READ)
                origin, now = f"{group.name} {host}:{port}", time.monotonic()
                if group.name == SCOUTING:
                    self.do(self.node.on_scouting(origin, datagram))
                elif (host, port) != group.speaks.getsockname():
                    self.do(self.node.on_datagram(origin, datagram, now))

    def serve(self, connect_to: Locator | None = None, until: Callable[[], bool] = lambda: False) -> None:
        """Serve until `goes_on` is false or `until` returns true. Raises OSError only for the listening socket."""
        again_at: float | None = 0.0
        while self.goes_on and not until():
            if connect_to and not self.peers and again_at is not None and time.monotonic() >= again_at:
                again_at = self.come(connect_to)
            looked = time.monotonic()
            for key, events in self.selector.select(self.pause()):
                if key.data is None:
                    self.accept(key.fileobj)  # type: ignore[arg-type]
                elif isinstance(key.data, JoinedGroup):
                    self.hear(key.data)
                else:
                    self.move(key.data, events)
            # What came before `looked` has been read: no far side counts as silent because we were late.
            self.do(self.node.tick(max(looked, self.node.now)))
            for peer in list(self.peers.values()):
                self.utter(peer)
            if connect_to and not self.peers and self.count and self.node.habits.ends_with is not None:
                self.exit_code, self.goes_on = self.node.habits.ends_with, False
        for peer in list(self.peers.values()):
            self.drop(peer)
        for group in self.groups.values():
            group.close()
        self.selector.close()

    def come(self, address: Locator) -> float | None:
        """Try to connect; return the time of the next attempt after this link has ended, or None for never."""
        before = self.count
        self.connect(address)
        again = self.node.habits.comes_back_after
        if again is None:
            return time.monotonic() + RETRY if self.count == before else None
        return time.monotonic() + (again if self.count > before else RETRY)

    def pause(self) -> float:
        """Return the seconds until the next write is due, at most `TICK`."""
        due = [peer.late[0].due for peer in self.peers.values() if peer.late and not peer.unsent]
        return max(0.0, min(TICK, min(due, default=math.inf) - time.monotonic()))

    def accept(self, listener: socket.socket) -> None:
        """Accept all waiting connections, up to the number of links that the node serves at a time."""
        most = self.node.habits.links_at_a_time
        while most is None or len(self.peers) < most:
            try:
                if self._at.framing is Framing.DATAGRAM:
                    opened = DatagramDoor(listener).accept()
                    peer = self.take(opened.sock, Side.RESPONDER)
                    if opened.first:
                        self.do(self.node.received(peer.name, opened.first, time.monotonic()))
                else:
                    self.take(self.add_tls(listener.accept()[0]), Side.RESPONDER)
            except (BlockingIOError, ConnectionError):
                return
        self.selector.unregister(listener)

    def add_tls(self, accepted: socket.socket) -> socket.socket:
        """Return the socket of an accepted link, with TLS where the node listens with it."""
        return accepted if self._tls is None else TlsSocket(accepted, self._tls, server_side=True)

    def connect(self, address: Locator) -> None:
        """Try once to connect; a failed attempt is repeated later."""
        try:
            opened = connect_socket(address, Deadline.after(1))
        except CannotConnect:
            return
        self.take(opened, Side.INITIATOR)

    def take(self, opened: socket.socket, side: Side) -> Peer:
        """Pass a new link to the node."""
        opened.setblocking(False)
        if opened.type is socket.SOCK_STREAM and opened.family != socket.AF_UNIX:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.count += 1
        if self.node.habits.log:
            print(self.node.habits.log, flush=True)
        peer = Peer(f"link{self.count}", opened)
        self.peers[peer.name] = peer
        self.selector.register(opened, selectors.EVENT_READ, peer)
        self.do(self.node.connected(peer.name, side, time.monotonic(), peer.framing))
        return peer

    def move(self, peer: Peer, events: int) -> None:
        """Read from and write to a socket that is ready."""
        if events & selectors.EVENT_WRITE:
            self.flush(peer)
            self.utter(peer)
        if events & selectors.EVENT_READ and peer.name in self.peers and not peer.ending:
            lost = False
            try:
                data = peer.socket.recv(READ)
            except BlockingIOError:
                return
            except OSError:
                data, lost = b"", True
            if data:
                self.do(self.node.received(peer.name, data, time.monotonic()))
            elif lost or peer.framing is Framing.STREAM:  # an empty datagram says nothing
                self.lose(peer)

    def lose(self, peer: Peer, *, reset: bool = False) -> None:
        """Drop a link that the far side has ended, or does not read, and tell the node."""
        self.drop(peer, reset=reset)
        self.do(self.node.disconnected(peer.name, time.monotonic()))

    def do(self, actions: list[Action]) -> None:
        """Carry out actions of the node in their order: what follows from a link that is lost meanwhile comes after them."""
        self._to_do.extend(actions)
        if self._doing:
            return
        self._doing = True
        try:
            while self._to_do:
                self.carry_out(self._to_do.popleft())
        finally:
            self._doing = False

    def carry_out(self, action: Action) -> None:
        """Write, or end a link, with the delays and the sizes of the node's habits."""
        name, _, at = action.link.partition(" ")
        if name in self.groups and action.data:
            self.groups[name].say(action.data, at)
            return
        habits, peer = self.node.habits, self.peers.get(action.link)
        if peer is None or peer.ending:
            return
        due = time.monotonic() + habits.late(next(self._utterances))
        if action.data:
            cut = habits.cut(action.data) if peer.framing is Framing.STREAM else [action.data]
            peer.late += [Utterance(due, piece) for piece in cut]
        peer.waiting += len(action.data)
        if action.end:
            peer.ending = True
            peer.late.append(Utterance(due, b"", end=True, reset=action.reset))
        self.utter(peer)
        if peer.waiting > MOST_UNSENT and peer.name in self.peers:
            print(f"{peer.name} is reset: more than {MOST_UNSENT >> 20} MiB wait for its far side", file=sys.stderr)
            self.lose(peer, reset=True)

    def utter(self, peer: Peer) -> None:
        """Do the writes that are due, one after the other."""
        while peer.late and not peer.unsent and peer.late[0].due <= time.monotonic():
            said = peer.late.popleft()
            if said.end:
                self.drop(peer, reset=said.reset)
                return
            peer.unsent += said.data
            self.flush(peer)

    def flush(self, peer: Peer) -> None:
        """Send as much as the socket accepts."""
        try:
            sent = peer.socket.send(peer.unsent) if peer.unsent else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self.lose(peer)
            return
        del peer.unsent[:sent]
        peer.waiting -= sent
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsent else 0)
        self.selector.modify(peer.socket, wanted, peer)

    def drop(self, peer: Peer, *, reset: bool = False) -> None:
        """Close a socket: with a reset, or with FIN.

        Before closing with FIN, the received bytes are read; with unread bytes the kernel would send a reset, and the far
        side could lose what was sent before.
        """
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
    """Send FIN, and read the bytes that were received so far."""
    try:
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(READ):
            pass
    except OSError:
        pass  # there is nothing to read, or the far side is gone; the link ends in both cases
