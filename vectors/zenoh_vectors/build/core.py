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
ELSEWHERE = ("scout/what-*", "scout/zid-16-bytes", "hello/?-locators", "hello/client*", "hello/peer*", "hello/router*", "keyexpr/*")
"""The same of what is not said in a session."""
REFUSED = (
    "*/trailing-byte", "*-trailing-byte", "*/ext-enc-11", "*/whatami-unassigned", "*/zid-zero*", "*/empty", "vle/cut-*", "vle/tenth-byte",
    "keyexpr/*", "close/*", "keep-alive/ext-unknown-mandatory-*", "open/*-with-cookie", "open/syn-cut-before-*", "init/syn-cut-before-*",
    "hello/full-cut-before-*", "scout/full-cut-before-*", "put/full-cut-before-*", "hello/locator-bad-utf8",
    "hello/locator-count-lies-2", "hello/locator-length-lies-8", "scouting-ids/unassigned-id-0[03f]",
)  # fmt: skip
"""Patterns of ids of what must be refused: each kind of refusal a few times."""
MANY = (
    "frame/17-messages", "batch/17-messages", "init/*-ext-all-without-shm", "keep-alive/ext-unknown-optional-zbuf-128-bytes",
    "keep-alive/ext-unknown-optional-33-times",
)  # fmt: skip
"""Patterns of ids of more, and of longer, than a person holds against a table, and than a small buffer holds."""
LONGEST = 48
"""Bytes that a person still holds against a table."""


def is_core(vector: Vector) -> bool:
    """One of a few hundred: of these patterns, short, and no matter of reading; what is accepted is what a careful writer sends."""
    if _is_one_of(vector, MANY):
        return True
    if len(vector.data) > LONGEST:
        return False
    if vector.refuses is not None:
        return _is_settled(vector) and _is_one_of(vector, REFUSED)
    plain = bool(vector.steps) or (vector.means is not None and vector.canonical and not vector.remarks)
    edge = " = " in vector.about and "/" in vector.about
    if not plain or edge:
        return False
    return (not vector.errata and _is_one_of(vector, FIRST)) or (_is_settled(vector) and _is_one_of(vector, ELSEWHERE))


def _is_settled(vector: Vector) -> bool:
    """Whether text and baseline agree, or one of them is required."""
    return all(reading.stance == "PIN" for reading in vector.errata)


def _is_one_of(vector: Vector, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(vector.id, pattern) for pattern in patterns)
