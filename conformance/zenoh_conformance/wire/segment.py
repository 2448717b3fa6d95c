"""Segments: a message in named pieces, which joined are the message, and the ways to edit them.

A path addresses a segment and all that stands below it.  After an edit the lengths, counts and chain bits around it
are made true again, unless `recompute=False` asks for a lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from . import vle

Form = Literal["vle", "nibble", "count", "chain"]


class Measure(NamedTuple):
    """What a segment says about those that follow it, and how."""

    form: Form
    """`vle`: how many bytes stand under `of`.  `nibble`: those, less one, in bits 7:4.  `count`: how many items `of`
    has.  `chain`: in bit 7, whether another extension of the chain `of` follows."""

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
    """What it says about those that follow; None when it says nothing, or is to stay as it is."""


class Segments(tuple[Segment, ...]):
    """The pieces of one message, in order; immutable: an edit makes another."""

    __slots__ = ()

    def join(self) -> bytes:
        """The message."""
        return b"".join(segment.data for segment in self)

    def paths(self) -> list[str]:
        """Where the pieces stand."""
        return [segment.path for segment in self]

    def get(self, path: str) -> Segment:
        """What stands at `path` and below, as one segment.  Raises KeyError when there is nothing."""
        first, last = self._run(path)
        found = self[first:last]
        return Segment(path, Segments(found).join(), found[0].note if len(found) == 1 else "")

    def replace(self, path: str, data: bytes, *, recompute: bool = True) -> Segments:
        """Other bytes at `path`, which no later edit corrects.

        Where a length and its bytes stand there, and the length is to be true, `data` replaces the bytes alone.
        Raises KeyError when there is nothing at `path`.
        """
        first, last = self._run(path)
        if recompute and last - first == 2 and self[first].measure == Measure("vle", path):
            first += 1
        where = self[first].path if last - first == 1 else path
        return self._with(first, last, [Segment(where, bytes(data), "replaced")], recompute)

    def cut(self, path: str, *, recompute: bool = True) -> Segments:
        """Nothing at `path`.  Raises KeyError when there is nothing already."""
        first, last = self._run(path)
        return self._with(first, last, (), recompute)

    def double(self, path: str, *, recompute: bool = True) -> Segments:
        """What stands at `path`, twice.  Raises KeyError."""
        first, last = self._run(path)
        return self._with(last, last, self[first:last], recompute)

    def swap(self, path: str, other: str, *, recompute: bool = True) -> Segments:
        """What stands at two paths, each in the place of the other.  Raises KeyError; ValueError when they overlap."""
        (first, last), (begin, end) = sorted((self._run(path), self._run(other)))
        if begin < last:
            raise ValueError(f"{path} and {other} overlap")
        return self._with(first, end, (*self[begin:end], *self[last:begin], *self[first:last]), recompute)

    def insert_after(self, path: str, new: Segment, *, recompute: bool = True) -> Segments:
        """One more segment after `path` and all below it.  Raises KeyError."""
        _, last = self._run(path)
        return self._with(last, last, [new], recompute)

    def _with(self, first: int, last: int, pieces: Iterable[Segment], recompute: bool) -> Segments:
        edited = [*self[:first], *pieces, *self[last:]]
        for index in range(len(edited) - 1, -1, -1):  # from the inside out: a length may be measured itself
            piece = edited[index]
            if piece.measure and piece.data != (honest := _honest(edited, index, piece.measure)):
                text = {"data": honest} if recompute else {"measure": None}
                edited[index] = piece._replace(**text)
        return Segments(edited)

    def _run(self, path: str) -> tuple[int, int]:
        """Where the first run of segments at `path` begins and ends."""
        first = next((index for index, piece in enumerate(self) if covers(path, piece.path)), None)
        if first is None:
            raise KeyError(f"nothing at {path}; there are {', '.join(self.paths())}")
        return first, first + 1 + len(_following(self, first, path))


def covers(path: str, other: str) -> bool:
    """Whether `other` is `path` or stands below it."""
    return other.startswith(path) and (len(other) == len(path) or other[len(path)] in ".[")


def _following(pieces: Sequence[Segment], index: int, path: str) -> Sequence[Segment]:
    """The pieces under `path` right after `index`, up to where the same piece, or the header of `path`, comes again."""
    again = (pieces[index].path, f"{path}.header")
    last = index + 1
    while last < len(pieces) and covers(path, pieces[last].path) and pieces[last].path not in again:
        last += 1
    return pieces[index + 1 : last]


def _honest(pieces: Sequence[Segment], index: int, measure: Measure) -> bytes:
    """What the piece at `index` ought to be."""
    own = pieces[index]
    if measure.form == "chain":
        return bytes([own.data[0] & 0x7F | 0x80 * _another(pieces, index, measure.of)])
    inside = _following(pieces, index, measure.of)
    if measure.form == "count":
        starts = [piece.path.removeprefix(measure.of).partition("]")[2] for piece in inside]
        return vle.encode(starts.count(starts[0]) if starts else 0)
    size = sum(len(piece.data) for piece in inside)
    if measure.form == "nibble":
        return bytes([own.data[0] & 0x0F | (max(size, 1) - 1 & 0x0F) << 4])
    return vle.encode(size)


def _another(pieces: Sequence[Segment], index: int, chain: str) -> bool:
    """Whether an extension of `chain` follows the header at `index`, of a message or of an extension."""
    owner = pieces[index].path.removesuffix(".header")
    rest = _following(pieces, index, owner)
    if not covers(chain, owner):
        return any(covers(chain, piece.path) for piece in rest)
    after = index + 1 + len(rest)
    return after < len(pieces) and covers(chain, pieces[after].path)


class Tracer:
    """Receives the marks of one reading."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data, self._at = data, at
        self._pieces: list[Segment] = []

    def mark(self, path: str, at: int, note: str = "", measure: tuple[Form, str] | None = None) -> None:
        """The piece at `path` ends at `at`."""
        self._pieces.append(Segment(path, self._data[self._at : at], note, Measure(*measure) if measure else None))
        self._at = at

    @property
    def at(self) -> int:
        """How far the marks reach."""
        return self._at

    def segments(self) -> Segments:
        """The pieces so far."""
        return Segments(self._pieces)
