"""What a container prints, kept within bounds, with the lines that speak of death picked out."""

from __future__ import annotations

import re
import threading
from typing import Final

from zenoh_harness.programs import signs
from zenoh_harness.programs.processes import OUTPUT_LIMIT
from zenoh_harness.programs.signs import Sign

DISK_FULL: Final = "no space left on device"
"""What the kernel's ENOSPC reads like in any program's log."""
LONGEST: Final = 4096
"""Bytes of one line that are looked at."""
MOST_SIGNS: Final = 1024

_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


def plain(data: bytes) -> str:
    """Bytes of a log as text without its colours."""
    return _COLOURS.sub("", data.decode(errors="replace"))


class Log:
    """The first half of the bound, and a rolling tail; fed by one thread, read by any."""

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._lost = 0
        self._line = b""
        self._suspicious: list[tuple[str, str]] = []
        self._disk_full = False
        self._lock = threading.Lock()

    def take(self, data: bytes) -> None:
        """The next piece, cut anywhere."""
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
                self._look(line)

    def close(self) -> None:
        """Nothing more comes: the last line counts though it has no end."""
        with self._lock:
            self._look(self._line)
            self._line = b""

    def text(self) -> str:
        """What was printed: its beginning, and its end where it was too long; colours taken out."""
        with self._lock:
            border = f"\n[... {self._lost} bytes ...]\n".encode() if self._lost else b""
            data = bytes(self._head) + border + bytes(self._tail)
        return plain(data)

    @property
    def signs(self) -> tuple[Sign, ...]:
        """Lines that speak of death, in order, at most `MOST_SIGNS`."""
        with self._lock:
            return tuple(signs.classify(self._suspicious))

    @property
    def disk_full(self) -> bool:
        """Whether a line complains that the disk is full."""
        return self._disk_full

    def _look(self, line: bytes) -> None:
        text = plain(line[:LONGEST]).rstrip("\r")
        lower = text.lower()
        self._disk_full = self._disk_full or DISK_FULL in lower
        if len(self._suspicious) < MOST_SIGNS and any(word in lower for word in signs.WORDS):
            self._suspicious.append(("stderr", text[:400]))
