"""Read compressed files as they are: gzip, bzip2, xz."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

from zenoh_harness.files.faults import regular

_PACKED: Final[dict[bytes, Callable[..., Any]]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
"""First bytes of a compressed file to the function that opens it."""
BENT: Final = (gzip.BadGzipFile, lzma.LZMAError, zlib.error)
"""What a reader of a damaged compressed file raises; of one that is cut off, EOFError."""


def open_unpacked(path: Path) -> IO[bytes]:
    """Return the open file, which is open_unpacked while it is read if it is compressed. Raises OSError."""
    with regular(path).open("rb") as source:
        opener = _opener(source.read(6))
    return regular(path).open("rb") if opener is None else opener(path, "rb")


def inside(data: bytes, size: int = 4) -> bytes:
    """Return the first bytes of compressed content; nothing for content that cannot be open_unpacked or is not compressed."""
    opener = _opener(data)
    if opener is None:
        return b""
    try:
        with opener(io.BytesIO(data), "rb") as source:
            return bytes(source.read(size))
    except (OSError, EOFError, *BENT):
        return b""


def _opener(head: bytes) -> Callable[..., Any] | None:
    return next((opener for magic, opener in _PACKED.items() if head.startswith(magic)), None)
