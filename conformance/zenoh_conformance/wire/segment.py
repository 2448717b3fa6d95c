"""Segments: a message in named pieces, which joined are the message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple


class Measure(NamedTuple):
    """What a segment counts, and how it writes the number."""

    form: Literal["vle", "nibble", "count"]
    """`vle`: the bytes that follow under `of`.  `nibble`: those, less one, in bits 7:4.  `count`: the items of `of`."""

    of: str
    """The path that is measured."""


class Segment(NamedTuple):
    """A piece of a message."""

    path: str
    """Where it stands: `frame.messages[0].push.key.scope`."""

    data: bytes
    """Its bytes."""

    note: str = ""
    """What they mean, for people."""

    measure: Measure | None = None
    """What it counts, when it is a length."""


class Segments(tuple[Segment, ...]):
    """The pieces of one message, in order; immutable."""

    __slots__ = ()

    def join(self) -> bytes:
        """The message."""
        return b"".join(segment.data for segment in self)

    def paths(self) -> list[str]:
        """Where the pieces stand."""
        return [segment.path for segment in self]

    def get(self, path: str) -> Segment:
        """What stands at `path` and below, as one segment.  Raises KeyError when there is nothing."""
        found = [self[index] for index in self._at(path)]
        return Segment(path, Segments(found).join(), found[0].note if len(found) == 1 else "")

    def _at(self, path: str) -> list[int]:
        found = [index for index, segment in enumerate(self) if covers(path, segment.path)]
        if not found:
            raise KeyError(path)
        return found


def covers(path: str, other: str) -> bool:
    """Whether `other` is `path` or stands below it."""
    return other.startswith(path) and (len(other) == len(path) or other[len(path)] in ".[")


class Tracer:
    """Receives the marks of one reading."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data, self._at = data, at
        self._pieces: list[Segment] = []

    def mark(self, path: str, at: int, note: str = "", measures: tuple[str, str] | None = None) -> None:
        """The piece at `path` ends at `at`."""
        measure = Measure(*measures) if measures else None  # type: ignore[arg-type]
        self._pieces.append(Segment(path, self._data[self._at : at], note, measure))
        self._at = at

    @property
    def at(self) -> int:
        """How far the marks reach."""
        return self._at

    def segments(self) -> Segments:
        """The pieces so far."""
        return Segments(self._pieces)


__all__ = ["Iterable", "Iterator", "Measure", "Segment", "Segments", "Tracer", "covers"]
