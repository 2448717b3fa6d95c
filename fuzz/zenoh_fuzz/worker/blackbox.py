"""The current input, stored before it runs, so that it can be read after a crash of the worker."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from typing import Final

SIZE: Final = 1 << 20
_LENGTH: Final = struct.Struct("<I")
_NOTHING: Final = 0xFFFFFFFF


class BlackBox:
    """A memory-mapped file, which outlives the process."""

    def __init__(self, path: Path) -> None:
        """Open or create the file. Raises OSError."""
        with path.open("a+b") as file:
            os.posix_fallocate(file.fileno(), 0, SIZE)  # on a disk that is full a hole in it would end the worker
            self._map = mmap.mmap(file.fileno(), SIZE)
        self.clear()

    def hold(self, data: bytes) -> None:
        """Store the current input."""
        self._map[4 : 4 + len(data)] = data
        self._map[:4] = _LENGTH.pack(len(data))

    def clear(self) -> None:
        """Note that no input runs."""
        self._map[:4] = _LENGTH.pack(_NOTHING)


def last_input(path: Path) -> bytes | None:
    """Return the input that ran when the worker ended, or None."""
    if not path.exists():
        return None
    raw = path.read_bytes()
    [length] = _LENGTH.unpack_from(raw) if len(raw) >= _LENGTH.size else [_NOTHING]
    return raw[4 : 4 + length] if length <= SIZE - 4 else None
