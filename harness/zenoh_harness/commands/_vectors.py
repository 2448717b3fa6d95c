"""How vectors are listed: the numbers at the edges of one field in one line, and who has confirmed what, or why nobody."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from zenoh_harness.foreign.confirm.record import unconfirmed_file
from zenoh_vectors import confirmed
from zenoh_vectors.loader import Vector

NUMBER = re.compile(r"(?P<path>[a-z0-9_.\[\]]+) = (?P<number>\d+)(?:[:,] .*)?")
"""How the description of a vector begins that is one number in one field."""

FEW = 4
"""So many numbers of one field have a line each."""

SHOWN = 6
"""Numbers that are named where a line stands for many."""


@dataclass(frozen=True, slots=True)
class Line:
    """One vector, or those that put a number in one field of the same message."""

    vectors: tuple[Vector, ...]
    path: str = ""
    numbers: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """In words."""
        if not self.path:
            return self.vectors[0].about
        told = ", ".join(self.numbers[:SHOWN])
        return f"{self.path} at {len(self.numbers)} numbers: {told}, .. (--all names each)"

    @property
    def name(self) -> str:
        """The id; of several what they begin with, as a pattern."""
        if not self.path:
            return self.vectors[0].id
        ids = [vector.id for vector in self.vectors]
        same = next(at for at in range(len(min(ids)) + 1) if len({ident[: at + 1] for ident in ids}) > 1)
        return f"{ids[0][:same]}*"


def folded(vectors: Sequence[Vector]) -> Iterator[Line]:
    """A line for each vector, in their order; many numbers in one field are one, where the first of them stands."""
    places: dict[tuple[str, str, str], list[tuple[Vector, str]]] = {}
    for vector in vectors:
        if (told := NUMBER.fullmatch(vector.about)) is not None:
            places.setdefault(_place(vector, told["path"]), []).append((vector, told["number"]))
    for vector in vectors:
        told = NUMBER.fullmatch(vector.about)
        same = places.get(_place(vector, told["path"]), []) if told else []
        if told is None or len(same) <= FEW:
            yield Line((vector,))
        elif same[0][0] is vector:
            same.sort(key=lambda one: int(one[1]))
            numbers = tuple(dict.fromkeys(number for _, number in same))
            yield Line(tuple(one for one, _ in same), told["path"], numbers)


def _place(vector: Vector, path: str) -> tuple[str, str, str]:
    return vector.id.partition("/")[0], vector.layer, path


def doubts(vectors: Iterable[Vector]) -> dict[str, dict[str, tuple[str, str]]]:
    """Vector id to witness to its word and reason, of those that did not agree with what the vector is now."""
    rows = json.loads(unconfirmed_file().read_text(encoding="utf-8"))
    found = {vector.id: rows.get(vector.id, {}).get(confirmed.digest(vector), {}) for vector in vectors}
    return {ident: {who: (word, why) for who, (word, why) in said.items()} for ident, said in found.items() if said}


def agreed(vector: Vector) -> Iterator[str]:
    """Who agrees; and who was asked and did not, with the reason."""
    yield f"  agreed   {', '.join(vector.confirmed_by) or 'nobody: it stands on the specification and our own reading alone'}"
    for who, (word, why) in doubts([vector]).get(vector.id, {}).items():
        yield f"  asked    {who} {word}: {why}"
