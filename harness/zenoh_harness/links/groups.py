"""Multicast groups on the loopback interface: links to all who are in one, and what a node answers by unicast.

A node that we start speaks from 127.0.0.1. We speak from another address of the same interface, so that what our own side says in
a group is told from what the node says.
"""

from __future__ import annotations

import itertools
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.datagrams import DatagramLink, widen
from zenoh_harness.links.links import CHUNK, LinkEvent, Observer
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline

ADDRESS: Final = "224.0.0.224"
"""The group; each node that is judged has ports of its own."""

NODE: Final = "127.0.0.1"
"""From where a node that we start speaks, and the interface of the group."""

OURS: Final = "127.0.0.2"
"""From where we speak."""


def free_group() -> Locator:
    """Return a group that nobody is in: the kernel chose its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as chosen:
        chosen.bind((NODE, 0))
        return Locator.of("udp", ADDRESS, int(chosen.getsockname()[1]))


def hearing(group: Locator) -> socket.socket:
    """Return a non-blocking socket that hears what is said in a group. Raises CannotConnect where the machine has no multicast."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with _closing_on_error(sock, group):
        sock.setblocking(False)
        widen(sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((group.host, group.port))
        membership = socket.inet_aton(group.host) + socket.inet_aton(NODE)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    return sock


def speaking(group: Locator, source: str) -> socket.socket:
    """Return a non-blocking socket that speaks in a group from an address. Raises CannotConnect."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with _closing_on_error(sock, group):
        sock.setblocking(False)
        widen(sock)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(NODE))
        sock.bind((source, 0))
    return sock


@contextmanager
def _closing_on_error(sock: socket.socket, group: Locator) -> Iterator[None]:
    """Close a socket and raise CannotConnect if the block raises OSError."""
    try:
        yield
    except OSError as why:
        sock.close()
        hint = "the loopback interface must carry multicast"
        raise CannotConnect(f"no multicast at {group}", step="link", seen=str(why), hint=hint) from why


class GroupLink(DatagramLink):
    """What we say to a group, and what the node says to the group or, by unicast, to us."""

    def __init__(self, group: Locator) -> None:
        self._group = hearing(group)
        try:
            super().__init__(speaking(group, OURS), group, ours=True)
        except BaseException:
            self._group.close()
            raise
        self._turns = itertools.cycle((self._group, self._sock))

    def observe(self, observer: Observer | None) -> None:
        """Report events to `observer` from now on; a group has no opening."""
        self.observer = observer

    def send(self, data: bytes, deadline: Deadline) -> int:
        """Say one datagram to the group."""
        self._let_peer_read(len(data), self.locator.port)
        began = time.monotonic()
        self._sock.sendto(data, (self.locator.host, self.locator.port))
        self._tell(LinkEvent(began, True, Happened.BYTES, data))
        return len(data)

    def _read(self) -> bytes:
        """The next datagram of the node. Raises BlockingIOError where there is none."""
        empty = 0
        while empty < 2:
            try:
                data, (host, _) = next(self._turns).recvfrom(CHUNK)
            except BlockingIOError:
                empty += 1
                continue
            empty = 0
            if host == NODE:
                return data
        raise BlockingIOError

    def _wait(self, for_what: int, deadline: Deadline) -> bool:
        poll = select.poll()
        poll.register(self._sock, for_what)
        poll.register(self._group, for_what)
        return bool(poll.poll(deadline.remaining() * 1000))

    def _end_ours(self, how: Happened) -> None:
        self._group.close()
        super()._end_ours(how)


@dataclass(frozen=True, slots=True)
class GroupDoor:
    """A group that a node is in: what a wire is opened to."""

    locator: Locator
    side: Side = Side.RESPONDER

    def link(self, deadline: Deadline, observer: Observer | None = None) -> GroupLink:
        """Return a link to the group. Raises CannotConnect where the machine has no multicast."""
        link = GroupLink(self.locator)
        link.observe(observer)
        return link
