"""Zenoh locators: `tcp/HOST:PORT`, `unixsock-stream/PATH`, with metadata after `?` and configuration after `#`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zenoh_conformance.reading.conversation import Framing
from zenoh_harness.errors import UsageError, unknown

PROTOCOLS: Final = ("tcp", "udp", "tls", "quic", "ws", "serial", "unixsock-stream", "unixpipe", "vsock")
"""The link protocols of locators."""

LINKS: Final = ("tcp", "udp", "tls", "unixsock-stream")
"""Those over which links can be opened (`opening.py`)."""

HOST_AND_PORT: Final = frozenset({"tcp", "udp", "tls", "quic", "ws"})


@dataclass(frozen=True, slots=True)
class Locator:
    """The address at which a node listens."""

    protocol: str
    """The part before the slash."""

    address: str
    """`HOST:PORT` (an IPv6 host in brackets), or a path."""

    metadata: str = ""
    """The rest from `?` or `#` on, unchanged."""

    @property
    def host(self) -> str:
        """The host without its brackets."""
        return self.address.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port; with 0 the kernel chooses one."""
        return int(self.address.rpartition(":")[2])

    def __str__(self) -> str:
        return f"{self.protocol}/{self.address}{self.metadata}"

    @property
    def has_port(self) -> bool:
        """Whether the address is a host and a port."""
        return self.protocol in HOST_AND_PORT

    @property
    def framing(self) -> Framing:
        """The framing of links over this protocol (primitives, framing)."""
        return Framing.DATAGRAM if self.protocol == "udp" else Framing.STREAM

    @property
    def settings(self) -> dict[str, str]:
        """The configuration after `#`: `name=value`, separated by semicolons."""
        pairs = self.metadata.partition("#")[2].split(";")
        return dict(pair.split("=", 1) for pair in pairs if "=" in pair)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that its configuration names, such as certificates."""
        return tuple(Path(value) for name, value in self.settings.items() if name.endswith("_file"))

    @classmethod
    def tcp(cls, host: str, port: int) -> Locator:
        """`tcp/HOST:PORT`, with brackets around an IPv6 host."""
        return cls.of("tcp", host, port)

    @classmethod
    def of(cls, protocol: str, host: str, port: int, metadata: str = "") -> Locator:
        """`PROTOCOL/HOST:PORT`, with brackets around an IPv6 host."""
        return cls(protocol, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", metadata)

    @classmethod
    def parse(cls, text: str) -> Locator:
        """Parse a locator. Raises UsageError that names the missing part."""
        protocol, slash, rest = text.partition("/")
        if not slash:
            hint = "write PROTOCOL/ADDRESS, as in tcp/127.0.0.1:7447"
            raise UsageError(f"{text!r} is no locator", step="locator", hint=hint)
        if protocol not in PROTOCOLS:
            raise unknown("link protocol", protocol, PROTOCOLS, step="locator")
        cut = min((at for at in (rest.find("?"), rest.find("#")) if at >= 0), default=len(rest))
        address, metadata = rest[:cut], rest[cut:]
        if protocol in HOST_AND_PORT:
            _check_host_and_port(text, address)
        elif not address:
            raise UsageError(f"{text!r} names no address", step="locator", hint=f"write {protocol}/PATH")
        return cls(protocol, address, metadata)


def _check_host_and_port(text: str, address: str) -> None:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit():
        raise UsageError(
            f"{text!r} does not end in HOST:PORT", step="locator", hint="as in tcp/127.0.0.1:7447 or tcp/[::1]:7447"
        )
    if int(port) > 65535:
        raise UsageError(f"{text!r} names port {port}, past 65535", step="locator")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise UsageError(f"{text!r} has an IPv6 host without brackets", step="locator", hint="as in tcp/[::1]:7447")
