"""Segments: the named pieces of a message, and edits of them.

The bytes of all segments, joined, are the message.  A path addresses a segment and all segments below it.  An edit
recomputes the lengths, counts and chain bits around it, unless `recompute=False`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from . import vle

Form = Literal["vle", "nibble", "count", "chain"]


class Measure(NamedTuple):
    """The property of later segments that a segment encodes."""

    form: Form
    """`vle`: the number of bytes under `of`.  `nibble`: that number less one, in bits 7:4.  `count`: the number of items
    of `of`.  `chain`: in bit 7, whether another extension of the chain `of` follows."""

    of: str
    """The path that is measured."""


class Segment(NamedTuple):
    """A piece of a message."""

    path: str
    """The place in the message: `frame.messages[0].push.key.scope`."""

    data: bytes

    note: str = ""
    """The meaning of the bytes, for people."""

    measure: Measure | None = None
    """The length, count or chain bit that the segment encodes; None for a segment that edits never recompute."""


class Segments(tuple[Segment, ...]):
    """The pieces of one message, in order.  Immutable: an edit returns a new tuple."""

    __slots__ = ()

    def join(self) -> bytes:
        """The bytes of the message."""
        return b"".join(segment.data for segment in self)

    def paths(self) -> list[str]:
        """The paths of all pieces."""
        return [segment.path for segment in self]

    def get(self, path: str) -> Segment:
        """The pieces at `path` and below, as one segment.  Raises KeyError when there are none."""
        first, last = self._run(path)
        note = self[first].note if last - first == 1 else ""
        return Segment(path, Segments(self[first:last]).join(), note)

    def replace(self, path: str, data: bytes, *, recompute: bool = True) -> Segments:
        """Put other bytes at `path`, which later edits leave as they are.

        If `path` holds a length and its bytes, and `recompute` is set, `data` replaces only the bytes.  Raises KeyError
        when there is nothing at `path`.
        """
        first, last = self._run(path)
        if recompute and last - first == 2 and self[first].measure == Measure("vle", path):
            first += 1
        where = self[first].path if last - first == 1 else path
        return self._with(first, last, [Segment(where, bytes(data), "replaced")], recompute)

    def cut(self, path: str, *, recompute: bool = True) -> Segments:
        """Remove the pieces at `path`.  Raises KeyError when there are none."""
        first, last = self._run(path)
        return self._with(first, last, (), recompute)

    def double(self, path: str, *, recompute: bool = True) -> Segments:
        """Repeat the pieces at `path` once.  Raises KeyError when there are none."""
        first, last = self._run(path)
        return self._with(last, last, self[first:last], recompute)

    def swap(self, path: str, other: str, *, recompute: bool = True) -> Segments:
        """Exchange the pieces at two paths.  Raises KeyError; ValueError when they overlap."""
        (first, last), (begin, end) = sorted((self._run(path), self._run(other)))
        if begin < last:
            raise ValueError(f"{path} and {other} overlap")
        return self._with(first, end, (*self[begin:end], *self[last:begin], *self[first:last]), recompute)

    def insert_after(self, path: str, new: Segment, *, recompute: bool = True) -> Segments:
        """Insert a segment after `path` and all pieces below it.  Raises KeyError."""
        _, last = self._run(path)
        return self._with(last, last, [new], recompute)

    def _with(self, first: int, last: int, pieces: Iterable[Segment], recompute: bool) -> Segments:
        edited = [*self[:first], *pieces, *self[last:]]
        for index in range(len(edited) - 1, -1, -1):  # from the inside out, since a length may contain other lengths
            piece = edited[index]
            if piece.measure and piece.data != (correct := _measure(edited, index, piece.measure)):
                edited[index] = piece._replace(data=correct) if recompute else piece._replace(measure=None)
        return Segments(edited)

    def _run(self, path: str) -> tuple[int, int]:
        """The begin and end of the first run of segments at `path`.  Raises KeyError."""
        first = next((index for index, piece in enumerate(self) if covers(path, piece.path)), None)
        if first is None:
            raise KeyError(f"nothing at {path}; there are {', '.join(self.paths())}")
        return first, first + 1 + len(_following(self, first, path))


def covers(path: str, other: str) -> bool:
    """Whether `other` is `path` or a path below it."""
    return other.startswith(path) and (len(other) == len(path) or other[len(path)] in ".[")


def _following(pieces: Sequence[Segment], index: int, path: str) -> Sequence[Segment]:
    """The pieces under `path` right after `index`, up to a repetition of that piece or of the header of `path`."""
    again = (pieces[index].path, f"{path}.header")
    last = index + 1
    while last < len(pieces) and covers(path, pieces[last].path) and pieces[last].path not in again:
        last += 1
    return pieces[index + 1 : last]


def _measure(pieces: Sequence[Segment], index: int, measure: Measure) -> bytes:
    """The correct bytes of the piece at `index`."""
    own = pieces[index]
    if measure.form == "chain":
        return bytes([own.data[0] & 0x7F | 0x80 * _has_next_extension(pieces, index, measure.of)])
    inside = _following(pieces, index, measure.of)
    if measure.form == "count":
        starts = [piece.path.removeprefix(measure.of).partition("]")[2] for piece in inside]
        return vle.encode(starts.count(starts[0]) if starts else 0)
    size = sum(len(piece.data) for piece in inside)
    if measure.form == "nibble":
        return bytes([own.data[0] & 0x0F | (max(size, 1) - 1 & 0x0F) << 4])
    return vle.encode(size)


def _has_next_extension(pieces: Sequence[Segment], index: int, chain: str) -> bool:
    """Whether an extension of `chain` follows the header at `index`, of a message or of an extension."""
    owner = pieces[index].path.removesuffix(".header")
    rest = _following(pieces, index, owner)
    if not covers(chain, owner):
        return any(covers(chain, piece.path) for piece in rest)
    after = index + 1 + len(rest)
    return after < len(pieces) and covers(chain, pieces[after].path)


class Tracer:
    """Collects the segments that a reader marks."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._pieces: list[Segment] = []
        self.at = at
        """The end of the last piece."""

    def mark(self, path: str, at: int, note: str = "", measure: tuple[Form, str] | None = None) -> None:
        """Add the piece at `path`, which ends at `at`."""
        self._pieces.append(Segment(path, self._data[self.at : at], note, Measure(*measure) if measure else None))
        self.at = at

    def segments(self) -> Segments:
        """The pieces so far."""
        return Segments(self._pieces)
