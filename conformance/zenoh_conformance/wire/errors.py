"""Errors for bytes and values that the codec refuses, and diagnostics for bytes that a careful sender would not write."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal[
    "overlong-vle",
    "reserved-bit",
    "unknown-extension",
    "duplicate-extension",
    "truncated-value",
    "unknown-value",
    "non-canonical",
]


class CodecError(ValueError):
    """Base class of the codec's errors."""


class DecodeError(CodecError):
    """The codec refuses the bytes.

    `at` is an offset into the given bytes: of the first byte of the value at fault, of a length that is too large, or,
    if bytes are missing, of the end.  `path` is the segment that was being read.
    """

    def __init__(self, at: int, path: str, why: str) -> None:
        super().__init__(at, path, why)
        self.at = at
        self.path = path
        self.why = why

    def within(self, prefix: str) -> None:
        """Put `prefix` before the path, for the next outer level."""
        self.path = prefix + self.path
        self.args = (self.at, self.path, self.why)

    def __str__(self) -> str:
        return f"{self.path} at byte {self.at}: {self.why}"


class EncodeError(CodecError):
    """The value cannot be encoded."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


class Diagnostic(NamedTuple):
    """A remark on bytes that were read, though a careful sender would not write them."""

    at: int
    """The offset of the first byte that it concerns."""

    path: str
    """The segment that it concerns."""

    why: str
    """The value that was read, and the expected one."""

    kind: Kind
    """One of a closed list, by which diagnostics are counted and filtered."""


def requalify(diagnostics: list[Diagnostic], since: int, prefix: str) -> None:
    """Put `prefix` before the paths of the diagnostics at or after byte `since`."""
    for index in range(len(diagnostics) - 1, -1, -1):
        at, path, why, kind = diagnostics[index]
        if at < since:
            return
        diagnostics[index] = Diagnostic(at, prefix + path, why, kind)


def unexpected_end(end: int, path: str, missing: str) -> DecodeError:
    """The error for bytes that end before `missing`."""
    return DecodeError(end, path, f"the bytes end where {missing} is expected")


def excessive_length(at: int, path: str, claimed: int, left: int) -> DecodeError:
    """The error for a length at `at` that is larger than the number of bytes left."""
    return DecodeError(at, path, f"a length of {claimed} where {left} bytes are left")
