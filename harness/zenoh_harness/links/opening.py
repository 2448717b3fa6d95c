"""Open links and accept them, by the protocol of a locator: TCP, UDP, TLS and Unix stream sockets."""

from __future__ import annotations

import select
import socket
import ssl
from pathlib import Path
from typing import Any, Final, Self

from zenoh_harness.errors import CannotConnect, UsageError
from zenoh_harness.links.datagrams import DatagramDoor, DatagramLink
from zenoh_harness.links.links import Observer, StreamLink, ready
from zenoh_harness.links.locators import LINKS, Locator
from zenoh_harness.links.timing import Deadline
from zenoh_harness.links.tls import TlsLink, TlsSocket, connecting_context, listening_context, name_to_verify

_HANDSHAKE: Final = 5.0
"""Seconds that a peer may take for the TLS handshake."""


class LinkListener:
    """Accepts links from a target that connects to us."""

    def __init__(self, sock: socket.socket, locator: Locator) -> None:
        """`locator`: where a target connects to `sock`, which listens."""
        self.locator = locator
        self._sock = sock

    @classmethod
    def open(cls, locator: Locator | None = None) -> LinkListener:
        """Listen at `locator`, by default at a free TCP port of 127.0.0.1. Raises CannotConnect with the kernel's error."""
        locator = locator or Locator.tcp("127.0.0.1", 0)
        sock, where = listening(locator)
        if locator.protocol == "udp":
            return DatagramListener(sock, where)
        if locator.protocol == "tls":
            return TlsListener(sock, where)
        return cls(sock, where)

    def accept(self, deadline: Deadline, observer: Observer | None = None) -> StreamLink | None:
        """The next link of a peer; None after the deadline."""
        while True:
            try:
                sock, address = self._sock.accept()
            except BlockingIOError:
                if not ready(self._sock, select.POLLIN, deadline):
                    return None
            except ConnectionAbortedError:
                continue
            else:
                link = self._link(sock, self._peer(address))
                if link is not None:
                    return _with_observer(link, observer)

    def _link(self, sock: socket.socket, peer: Locator) -> StreamLink | None:
        """The link over an accepted socket; None if the peer has left meanwhile."""
        return StreamLink(sock, peer, ours=False)

    def _peer(self, address: object) -> Locator:
        if isinstance(address, tuple):
            return Locator.of(self.locator.protocol, str(address[0]), int(address[1]))
        return self.locator

    def close(self) -> None:
        """Stop listening; accepted links stay open. The path of a Unix socket is free again."""
        self._sock.close()
        if self.locator.protocol == "unixsock-stream":
            Path(self.locator.address).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class TlsListener(LinkListener):
    """Accepts links over TLS."""

    def __init__(self, sock: socket.socket, locator: Locator) -> None:
        super().__init__(sock, locator)
        self._context = listening_context(locator)

    def _link(self, sock: socket.socket, peer: Locator) -> StreamLink | None:
        """The link after the TLS handshake; None if the peer has left meanwhile. Raises CannotConnect for a handshake that fails."""
        sock.setblocking(False)
        secured = TlsSocket(sock, self._context, server_side=True)
        try:
            _shake_hands(secured, peer, Deadline.after(_HANDSHAKE))
        except CannotConnect as why:
            if isinstance(why.__cause__, ConnectionError | ssl.SSLEOFError):
                return None
            raise
        return TlsLink(secured, peer, ours=False)


class DatagramListener(LinkListener):
    """Accepts a link for each address that sends to a UDP socket."""

    def __init__(self, sock: socket.socket, locator: Locator) -> None:
        super().__init__(sock, locator)
        self._door = DatagramDoor(sock)
        self._met: set[object] = set()
        """The addresses that had a link and are in use: what they send after its end is no new link."""

    def accept(self, deadline: Deadline, observer: Observer | None = None) -> StreamLink | None:
        """The link of the next address that sends; None after the deadline."""
        while True:
            try:
                accepted = self._door.accept()
            except BlockingIOError:
                if not ready(self._sock, select.POLLIN, deadline):
                    return None
                continue
            self._met = {met for met in self._met if not has_left(accepted.sock.family, met)}
            if accepted.address in self._met or has_left(accepted.sock.family, accepted.address):
                accepted.sock.close()
                continue
            self._met.add(accepted.address)
            peer = self._peer(accepted.address)
            return _with_observer(
                DatagramLink(accepted.sock, peer, ours=False, first=accepted.first, came=accepted.came), observer
            )


def has_left(family: socket.AddressFamily, address: Any) -> bool:
    """Whether an address of this machine belongs to no socket: its owner gave up the link that it had opened.

    Nothing else shows the end of a datagram link that waited in our queue. Of another machine's address nothing is known.
    """
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind(address)
        except OSError:
            return False
    return True


def listening(locator: Locator) -> tuple[socket.socket, Locator]:
    """A non-blocking socket that listens at `locator`, and the locator at which a peer reaches it.

    Raises CannotConnect with the kernel's error.
    """
    family, address = socket_address(locator)
    datagrams = locator.protocol == "udp"
    sock = _socket(locator, family)
    try:
        if family != socket.AF_UNIX and not datagrams:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        if datagrams:  # after bind, so that a port in use is an error, and the sockets of accepted links share this one
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        else:
            sock.listen(1024)
    except OSError as why:
        sock.close()
        hint = "is the port in use? port 0 takes a free one"
        raise CannotConnect(f"cannot listen at {locator}", step="listen", seen=str(why), hint=hint) from why
    sock.setblocking(False)
    if family == socket.AF_UNIX:
        return sock, locator
    host, port = sock.getsockname()[:2]
    return sock, Locator.of(locator.protocol, host, port, locator.metadata)


def connect(locator: Locator, deadline: Deadline, observer: Observer | None = None) -> StreamLink:
    """Open a link to `locator`. Raises CannotConnect with the kernel's error, or why there is no TLS."""
    sock = connect_socket(locator, deadline)
    if locator.protocol == "udp":
        return _with_observer(DatagramLink(sock, locator, ours=True), observer)
    link = TlsLink if isinstance(sock, TlsSocket) else StreamLink
    return _with_observer(link(sock, locator, ours=True), observer)


def connect_socket(locator: Locator, deadline: Deadline) -> socket.socket:
    """A non-blocking socket that is connected to `locator`. Raises CannotConnect."""
    family, address = socket_address(locator)
    context = connecting_context(locator) if locator.protocol == "tls" else None
    sock = _socket(locator, family)
    try:
        sock.settimeout(max(deadline.remaining(), 0.001))
        sock.connect(address)
    except OSError as why:
        sock.close()
        absent = isinstance(why, ConnectionRefusedError | FileNotFoundError)
        hint = "is it started, and does it listen there?" if absent else ""
        raise CannotConnect(f"cannot open a link to {locator}", step="connect", seen=str(why), hint=hint) from why
    sock.setblocking(False)
    if context is None:
        return sock
    secured = TlsSocket(sock, context, server_side=False, name=name_to_verify(locator))
    _shake_hands(secured, locator, deadline.or_sooner(_HANDSHAKE))
    return secured


def _shake_hands(sock: TlsSocket, peer: Locator, deadline: Deadline) -> None:
    """Finish the TLS handshake, or close the socket. Raises CannotConnect."""
    try:
        sock.shake_hands(deadline)
    except OSError as why:
        sock.close()
        raise CannotConnect(
            f"no TLS with {peer}", step="tls", seen=str(why), hint="does the peer speak TLS, and trust our authority?"
        ) from why


def _with_observer(link: StreamLink, observer: Observer | None) -> StreamLink:
    if observer is not None:
        link.observe(observer)
    return link


def _socket(locator: Locator, family: socket.AddressFamily) -> socket.socket:
    """Raises CannotConnect on a machine without that family, as one without IPv6."""
    try:
        return socket.socket(family, socket.SOCK_DGRAM if locator.protocol == "udp" else socket.SOCK_STREAM)
    except OSError as why:
        raise CannotConnect(f"no sockets for {locator}", step="link", seen=str(why)) from why


def socket_address(locator: Locator) -> tuple[socket.AddressFamily, tuple[str, int] | str]:
    """The kernel's address of a locator. Raises UsageError for a protocol without links, CannotConnect for an unknown host."""
    if locator.protocol == "unixsock-stream":
        return socket.AF_UNIX, locator.address
    if locator.protocol in LINKS:
        try:
            family, _, _, _, address = socket.getaddrinfo(locator.host, locator.port, type=socket.SOCK_STREAM)[0]
        except OSError as why:
            raise CannotConnect(f"cannot resolve {locator}", step="resolve", seen=str(why)) from why
        return family, (str(address[0]), int(address[1]))
    unsupported = f"links over {locator.protocol} are not supported"
    raise UsageError(unsupported, step="link", hint=f"use {', '.join(f'{name}/' for name in LINKS)}")
