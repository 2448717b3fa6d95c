"""The output of a container, limited in size, with the lines that report a crash."""

from __future__ import annotations

import re
import threading
from typing import Final

from zenoh_harness.programs import signs
from zenoh_harness.programs.processes import OUTPUT_LIMIT
from zenoh_harness.programs.signs import Sign

DISK_FULL: Final = "no space left on device"
"""Text of the kernel's ENOSPC in any program's log."""
LONGEST: Final = 4096
"""Bytes of one line that are searched."""
MOST_SIGNS: Final = 1024

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


def plain(data: bytes) -> str:
    """Return bytes of a log as text, without colours."""
    return _COLOURS.sub("", data.decode(errors="replace"))


class ContainerLog:
    """The beginning and the end of a log, within a limit; written by one thread, read by any."""

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._lost = 0
        self._line = b""
        self._suspicious: list[tuple[str, str]] = []
        self.disk_full = False
        """Whether a line reports a full disk."""
        self._lock = threading.Lock()

    def add(self, data: bytes) -> None:
        """Add the next chunk, cut anywhere."""
        with self._lock:
            room = self._half - len(self._head)
            self._head += data[:room]
            self._tail += data[room:] if room < len(data) else b""
            over = len(self._tail) - self._half
            if over > 0:
                self._lost += over
                del self._tail[:over]
            *lines, rest = (self._line + data).split(b"\n")
            self._line = rest[-LONGEST:]
            for line in lines:
                self._scan(line)

    def close(self) -> None:
        """Handle the last line although it has no line end."""
        with self._lock:
            self._scan(self._line)
            self._line = b""

    def text(self) -> str:
        """Return the output without colours; where it is too long, its beginning and its end."""
        with self._lock:
            border = f"\n[... {self._lost} bytes ...]\n".encode() if self._lost else b""
            data = bytes(self._head) + border + bytes(self._tail)
        return plain(data)

    @property
    def signs(self) -> tuple[Sign, ...]:
        """Lines that report a crash, in order, at most `MOST_SIGNS`."""
        with self._lock:
            return tuple(signs.classify(self._suspicious))

    def _scan(self, line: bytes) -> None:
        text = plain(line[:LONGEST]).rstrip("\r")
        lower = text.lower()
        self.disk_full = self.disk_full or DISK_FULL in lower
        if len(self._suspicious) < MOST_SIGNS and any(word in lower for word in signs.WORDS):
            self._suspicious.append(("stderr", text[:400]))
