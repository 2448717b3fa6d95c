"""Which vectors the author of a codec reads first: each message with and without its parts, each extension alone."""

from __future__ import annotations

from fnmatch import fnmatchcase

from zenoh_vectors.build.vector import Vector

FIRST = (
    "everyday/*", "*/plain", "*/carries-*", "*/flags-*", "*/mode-*", "*-with-extension", "*/ext-*-alone", "*-ext-*-alone", "*/ext-all",
    "*-ext-all", "*/whatami-*", "init/syn*-size", "init/ack*-size", "open/*-in-seconds", "open/*-in-milliseconds", "close/*",
    "keep-alive/*", "handshake/*", "publication/*", "conversation/*", "stream/*", "batch/*", "fragment/*", "frame/*", "d-*/key-flags-*", "u-*/with-*",
    "vle/*",
)  # fmt: skip
"""Patterns of ids."""
LONGEST = 48
"""Bytes that a person still holds against a table."""


def is_core(vector: Vector) -> bool:
    """One of a few hundred: of these patterns, short, what a careful writer sends, and no matter of reading."""
    plain = bool(vector.steps) or (vector.means is not None and vector.canonical and not vector.remarks)
    edge = " = " in vector.about and "/" in vector.about
    return (plain and not vector.errata and not edge and len(vector.data) <= LONGEST
            and any(fnmatchcase(vector.id, pattern) for pattern in FIRST))  # fmt: skip
