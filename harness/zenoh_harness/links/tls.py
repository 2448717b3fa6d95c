"""TLS on a connected socket, and its settings from a locator, named as zenoh-rust names them.

tls/localhost:7447#root_ca_certificate_file=ca.pem
tls/127.0.0.1:7447#listen_private_key_file=node.key;listen_certificate_file=node.pem
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from typing import Any, Final

from zenoh_harness.errors import UsageError
from zenoh_harness.links.links import CHUNK, StreamLink, ready
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline

RECORD: Final = 1 << 14
"""The most bytes of one TLS record."""


class TlsSocket(socket.socket):
    """A connected socket that carries TLS; `send` and `recv` handle the bytes inside, as on a non-blocking plain socket."""

    def __init__(
        self, raw: socket.socket, context: ssl.SSLContext, *, server_side: bool, name: str | None = None
    ) -> None:
        """`raw` is taken over; `name` is that of the peer's certificate, None to accept any."""
        super().__init__(raw.family, raw.type, raw.proto, fileno=raw.detach())
        self.setblocking(False)
        self._received, self._encrypted = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._encrypted, server_side=server_side, server_hostname=name)
        self._unsent = bytearray()
        """Encrypted bytes that wait for room in the kernel's buffer."""
        self._carried = b""
        """The bytes that `_unsent` ends with, before their encryption."""
        self.shaken = self._over = False
        """`shaken`: the TLS handshake is finished; bytes can be sent from then on."""

    def begin_handshake(self) -> None:
        """Say the first message of a client's handshake; `recv` goes on with it, and raises OSError for a refusal."""
        self._advance()

    def shake_hands(self, deadline: Deadline) -> None:
        """Finish the TLS handshake. Raises OSError: ssl.SSLError for a refusal, TimeoutError after the deadline."""
        while not self._advance():
            if not ready(self, select.POLLIN, deadline):
                raise TimeoutError("the peer does not answer in TLS")
            self._take(super().recv(CHUNK))

    def _advance(self) -> bool:
        """Do what the bytes so far permit of the handshake; return whether it is finished."""
        try:
            self._tls.do_handshake()
            self.shaken = True
        except ssl.SSLWantReadError:
            pass
        finally:
            self._flush_if_possible()
        return self.shaken

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """The bytes that have arrived, b"" at the end. Raises BlockingIOError if there are none, OSError for broken TLS."""
        if inside := self._decrypt():  # may have come with the end of the handshake
            return inside
        while not self._over:
            self._take(super().recv(size, flags))
            if not self.shaken:
                self._advance()
            if inside := self._decrypt():
                return inside
        return b""

    def _take(self, data: bytes) -> None:
        """Pass on what the kernel received; nothing is the end."""
        if data:
            self._received.write(data)
        else:
            self._received.write_eof()

    def _decrypt(self) -> bytes:
        inside = b""
        while self.shaken and not self._over:
            try:
                piece = self._tls.read(CHUNK)
            except ssl.SSLWantReadError:
                break
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                piece = b""
            if not piece:
                self._over = True
                break
            inside += piece
        self._flush_if_possible()
        return inside

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Send one record; after a BlockingIOError call it again with the same data, as with OpenSSL."""
        if not self.shaken:
            raise BlockingIOError
        while True:
            piece = bytes(data[:RECORD])
            if not self._unsent:
                self._tls.write(piece)
                self._carried = piece
                self._unsent += self._encrypted.read()
            carried = self._carried
            self._flush()
            if piece[: len(carried)] == carried:
                return len(carried)

    def _flush(self) -> None:
        self._unsent += self._encrypted.read()
        while self._unsent:
            del self._unsent[: super().send(self._unsent)]

    def _flush_if_possible(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._flush()

    def shutdown(self, how: int) -> None:
        """End our direction: the alert close_notify, and FIN."""
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        self._flush_if_possible()
        super().shutdown(how)


class TlsLink(StreamLink):
    """A link over TLS."""

    def close(self) -> None:
        """Close the link with close_notify; idempotent."""
        if not self._closed:
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_WR)
        super().close()


def connecting_context(locator: Locator) -> ssl.SSLContext:
    """How we connect to `locator`: its authority, and our certificate if it names one. Raises UsageError."""
    given = locator.settings
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = given.get("verify_name_on_connect", "true") != "false"
    with _readable(locator):
        if "root_ca_certificate_file" in given:
            context.load_verify_locations(given["root_ca_certificate_file"])
        else:
            context.load_default_certs()
        if "connect_certificate_file" in given:
            context.load_cert_chain(given["connect_certificate_file"], given.get("connect_private_key_file"))
    return context


def listening_context(locator: Locator) -> ssl.SSLContext:
    """How we listen at `locator`: our certificate and, with `enable_mtls`, the authority of clients. Raises UsageError."""
    given = locator.settings
    if "listen_certificate_file" not in given:
        hint = f"{locator}#listen_certificate_file=node.pem;listen_private_key_file=node.key"
        raise UsageError(f"{locator} names no certificate to listen with", step="link", hint=hint)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with _readable(locator):
        context.load_cert_chain(given["listen_certificate_file"], given.get("listen_private_key_file"))
        if given.get("enable_mtls") == "true":
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(given.get("root_ca_certificate_file"))
    return context


def name_to_verify(locator: Locator) -> str:
    """The name that the certificate of a listening peer must have."""
    return locator.host


@contextlib.contextmanager
def _readable(locator: Locator) -> Any:
    try:
        yield
    except OSError as why:  # among them ssl.SSLError, for a file that holds no certificate
        raise UsageError(f"cannot read the certificates of {locator}", step="link", seen=str(why)) from why
