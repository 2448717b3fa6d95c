"""Slices of what has many: an ordinary test takes one in a few, by a hash of its name, and its twin in the soak takes all."""

from __future__ import annotations

from zlib import crc32


def in_slice(*names: str, of: int) -> bool:
    """Whether what has these names is the one in `of` that is taken."""
    return crc32(" ".join(names).encode()) % of == 0
