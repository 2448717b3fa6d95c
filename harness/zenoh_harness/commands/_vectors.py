"""Print golden vectors: vectors for many numbers of one field share a line; confirmations are listed with their reasons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from zenoh_harness.foreign.confirm.record import unconfirmed_file
from zenoh_vectors import confirmed
from zenoh_vectors.loader import Vector

NUMBER = re.compile(r"(?P<path>[a-z0-9_.\[\]]+) = (?P<number>\d+)(?:[:,] .*)?")
"""The beginning of the description of a vector that sets one field to one number."""

FEW = 4
"""Up to this many numbers of one field get a line each."""

SHOWN = 6
"""Numbers that are printed in a line that stands for more of them."""


@dataclass(frozen=True, slots=True)
class VectorLine:
    """One vector, or all vectors that set the same field of the same message to a number."""

    vectors: tuple[Vector, ...]
    path: str = ""
    numbers: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """The description of the vector, or the field with its numbers."""
        if not self.path:
            return self.vectors[0].about
        numbers = ", ".join(self.numbers[:SHOWN])
        return f"{self.path} with {len(self.numbers)} numbers: {numbers}, .. (--all lists each)"

    @property
    def name(self) -> str:
        """The id of the vector, or a pattern that matches all of them."""
        if not self.path:
            return self.vectors[0].id
        ids = [vector.id for vector in self.vectors]
        same = next(at for at in range(len(min(ids)) + 1) if len({ident[: at + 1] for ident in ids}) > 1)
        return f"{ids[0][:same]}*"


def fold_numbers(vectors: Sequence[Vector]) -> Iterator[VectorLine]:
    """Yield one line per vector, in order; the vectors of one field and message share the line of the first."""
    places: dict[tuple[str, str, str], list[tuple[Vector, str]]] = {}
    for vector in vectors:
        if (match := NUMBER.fullmatch(vector.about)) is not None:
            places.setdefault(_place(vector, match["path"]), []).append((vector, match["number"]))
    for vector in vectors:
        match = NUMBER.fullmatch(vector.about)
        same = places.get(_place(vector, match["path"]), []) if match else []
        if match is None or len(same) <= FEW:
            yield VectorLine((vector,))
        elif same[0][0] is vector:
            same.sort(key=lambda pair: int(pair[1]))
            numbers = tuple(dict.fromkeys(number for _, number in same))
            yield VectorLine(tuple(vector for vector, _ in same), match["path"], numbers)


def _place(vector: Vector, path: str) -> tuple[str, str, str]:
    return vector.id.partition("/")[0], vector.layer, path


def doubts(vectors: Iterable[Vector]) -> dict[str, dict[str, tuple[str, str]]]:
    """Return vector id to witness to (answer, reason), for the witnesses that do not confirm the vector as it is now."""
    rows = json.loads(unconfirmed_file().read_text(encoding="utf-8"))
    found = {vector.id: rows.get(vector.id, {}).get(confirmed.digest(vector), {}) for vector in vectors}
    return {ident: {who: (word, why) for who, (word, why) in said.items()} for ident, said in found.items() if said}


def confirmations(vector: Vector) -> Iterator[str]:
    """Yield a line with the witnesses that confirm the vector, and one per witness that does not, with the reason."""
    yield f"  agreed   {', '.join(vector.confirmed_by) or 'no other implementation; it follows from the specification alone'}"
    for who, (word, why) in doubts([vector]).get(vector.id, {}).items():
        yield f"  asked    {who} {word}: {why}"
