"""What is said about bytes that cannot be read, or that could have been written better."""

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
    """Root of what this room raises about bytes and values."""


class DecodeError(CodecError):
    """These bytes are refused.

    `at` is an offset into the bytes that were given: of the first byte of the value at fault, of the length that
    promises too much, or, where bytes are missing, the end.  `path` is the segment that was being read.
    """

    def __init__(self, at: int, path: str, why: str) -> None:
        super().__init__(at, path, why)
        self.at = at
        self.path = path
        self.why = why

    def within(self, prefix: str) -> None:
        """Tell the path from one level further out."""
        self.path = prefix + self.path
        self.args = (self.at, self.path, self.why)

    def __str__(self) -> str:
        return f"{self.path} at byte {self.at}: {self.why}"


class EncodeError(CodecError):
    """This value has no place on the wire."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, why)
        self.path = path
        self.why = why

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


class Diagnostic(NamedTuple):
    """Bytes that were read, and are not what a careful sender writes."""

    at: int
    """Offset of the first byte it is about."""

    path: str
    """The segment it is about."""

    why: str
    """What was seen, and what was expected."""

    kind: Kind
    """One of a closed list, to be counted and filtered by."""


def requalify(found: list[Diagnostic], since: int, prefix: str) -> None:
    """Tell the paths of the diagnostics at or after byte `since` from one level further out."""
    for index in range(len(found) - 1, -1, -1):
        at, path, why, kind = found[index]
        if at < since:
            return
        found[index] = Diagnostic(at, prefix + path, why, kind)


def ended(end: int, path: str, what: str) -> DecodeError:
    """The bytes end where `what` should stand."""
    return DecodeError(end, path, f"the bytes end where {what} is expected")


def beyond(at: int, path: str, claimed: int, left: int) -> DecodeError:
    """The length at `at` promises more bytes than there are."""
    return DecodeError(at, path, f"a length of {claimed} where {left} bytes are left")
