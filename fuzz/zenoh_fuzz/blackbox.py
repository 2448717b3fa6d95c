"""The input at hand, written down before it is run: what is read there after a worker's death killed it."""

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
    """A file in memory, which outlives the process."""

    def __init__(self, path: Path) -> None:
        """Open or make it; OSError when that cannot be."""
        with path.open("a+b") as file:
            os.posix_fallocate(file.fileno(), 0, SIZE)  # on a disk that is full a hole in it would end the worker
            self._map = mmap.mmap(file.fileno(), SIZE)
        self.clear()

    def hold(self, data: bytes) -> None:
        """This input is run now."""
        self._map[4 : 4 + len(data)] = data
        self._map[:4] = _LENGTH.pack(len(data))

    def clear(self) -> None:
        """No input is run."""
        self._map[:4] = _LENGTH.pack(_NOTHING)


def at_hand(path: Path) -> bytes | None:
    """The input that was run when the worker ended; None when none was."""
    if not path.exists():
        return None
    raw = path.read_bytes()
    [length] = _LENGTH.unpack_from(raw) if len(raw) >= _LENGTH.size else [_NOTHING]
    return raw[4 : 4 + length] if length <= SIZE - 4 else None
