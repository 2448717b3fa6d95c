"""What a witness says about a vector, and what of a vector it is asked."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from zenoh_conformance.reading import batch
from zenoh_vectors.loader import Vector


class Word(enum.Enum):
    """The three things that a witness can say."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CANNOT = "cannot"
    """It cannot be asked, or what it says decides nothing."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What one witness says about one vector."""

    word: Word
    why: str = ""
    """How it differs, or why it cannot say; empty when it agrees."""


AGREES: Final = Statement(Word.AGREES)


class Witness(Protocol):
    """A foreign implementation."""

    name: str
    """As it stands in `confirmed_by`."""

    def statements(self, vectors: Sequence[Vector]) -> Iterator[Statement]:
        """One a vector, in their order."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing to ask: the bytes of a vector, or of one batch of a stream that it holds."""

    layer: str
    data: bytes
    meanings: tuple[Mapping[str, Any], ...]
    """What it may mean; none where it must be refused."""


class Unaskable(Exception):  # noqa: N818  a fact about the vector
    """No codec can be asked about this vector; the text is the reason."""


def pieces(vector: Vector) -> list[Piece]:
    """What to ask about a vector.  Raises Unaskable."""
    steps = [step for _, step in vector.steps] or [vector]
    return [piece for step in steps for piece in _of_step(step)]


def _of_step(step: Vector) -> Iterator[Piece]:
    if step.layer != "stream":
        yield Piece(step.layer, step.data, () if step.means is None else (step.means, *step.also))
        return
    batches, rest = batch.split(step.data)
    comparable = step.means["Stream"]["batches"] if step.means is not None else []
    if rest or len(comparable) != len(batches):
        raise Unaskable("the length before a batch belongs to the link, and a codec never sees it")
    for data, means in zip(batches, comparable, strict=True):
        if not data:
            raise Unaskable("a codec is never given an empty batch")
        yield Piece("batch", data, ({"Batch": means},))


def paths(vector: Vector) -> Iterator[set[str]]:
    """The components of each path of the vector: of its segments, or of the refusal alone when it must be refused."""
    for step in [step for _, step in vector.steps] or [vector]:
        comparable = [step.refuses.path] if step.refuses is not None else [segment.path for segment in step.segments]
        yield from (set(path.replace("[", ".[").split(".")) for path in comparable)


def touches(vector: Vector, *names: str) -> bool:
    """Whether a path of the vector has a component of one of these names."""
    return any(path.intersection(names) for path in paths(vector))
