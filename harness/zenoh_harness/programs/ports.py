"""Ports for programs that we start: we choose one, and they bind it a moment later."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The ports from which the kernel chooses when a program asks for any, on Linux."""

_LOWEST: Final = 15_000
"""Ports below are likelier to belong to a service of the machine."""

_TRIES: Final = 200
"""Ports that are tried before the kernel is asked."""


@contextlib.contextmanager
def reserved_port(host: str = "127.0.0.1") -> Iterator[int]:
    """Choose a port of `host` that is free, and that no other process of this harness chooses before the block ends.

    Between our choice and the program's `bind` any process may get a port from the kernel, and one that answers like a
    node was judged in place of the target. The port therefore lies outside the range from which the kernel chooses, and
    a lock of this machine holds it. Elsewhere than on Linux the kernel chooses; the caller must check who listens there.
    """
    chance = random.Random()  # unseeded: two runs with one seed must choose different ports
    for _ in range(_TRIES if (end := _first_ephemeral()) > _LOWEST else 0):
        port = chance.randrange(_LOWEST, end)
        if (lock := _lock(port)) is None:
            continue
        with contextlib.closing(lock):
            if _binds(host, port):
                yield port
                return
    with _socket(host) as sock:
        sock.bind((host, 0))
        port = int(sock.getsockname()[1])
    yield port


def free_port(host: str = "127.0.0.1") -> int:
    """Choose a port as `reserved_port` does, without holding it: for a program that starts later."""
    with reserved_port(host) as port:
        return port


def _first_ephemeral() -> int:
    try:
        return int(_EPHEMERAL.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def _lock(port: int) -> socket.socket | None:
    """A socket whose abstract name says that the port is taken, until it is closed; None where another has that name."""
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0zconform-port-{port}")
    except OSError:
        lock.close()
        return None
    return lock


def _binds(host: str, port: int) -> bool:
    with _socket(host) as sock, contextlib.suppress(OSError):
        sock.bind((host, port))
        return True
    return False


def _socket(host: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
