"""A user's own vectors: a folder of files in the published schema, which a run plays beside the golden ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from zenoh_conformance.reading.codec import Layer, from_json
from zenoh_conformance.spec.requirement import requirements
from zenoh_conformance.wire.errors import EncodeError
from zenoh_harness.errors import UsageError
from zenoh_vectors.loader import Vector, VectorError, load, load_usable

MESSAGES: Final = frozenset({"transport", "network", "scouting"})
"""The layers whose vectors are messages."""


@dataclass(frozen=True, slots=True)
class OwnVectors:
    """The vectors of a folder."""

    folder: Path | None = None
    usable: tuple[Vector, ...] = ()
    broken: tuple[VectorError, ...] = ()
    """What is wrong with each of the others: file, line, field."""

    @classmethod
    def read(cls, folder: Path | None) -> Self:
        """The vectors of a folder; none where that is None. Raises UsageError if it has no file."""
        if folder is None:
            return cls()
        try:
            return cls(folder, *load_usable(folder, known=load(), requirements=requirements(), check=_check_meaning))
        except VectorError as bad:
            raise UsageError(str(bad), step="read the vectors") from bad

    @property
    def remarks(self) -> Iterator[str]:
        """A line for each vector that cannot be used."""
        return (f"cannot be used: {error}" for error in self.broken)

    @property
    def names(self) -> Iterator[str]:
        """The ids of their checks."""
        return (f"vectors/{vector.id}" for vector in self.usable)

    @property
    def words(self) -> list[str]:
        """The option of a command that reads them again."""
        return [] if self.folder is None else ["--vectors", str(self.folder)]


def _check_meaning(vector: Vector) -> None:
    """Raise VectorError for a meaning that is none of a message of its layer: a field is missing, unknown, or of another type."""
    for part in vector.parts:
        if part.means is None or part.layer not in MESSAGES:
            continue
        try:
            from_json(part.means, Layer(part.layer))
        except EncodeError as bad:
            raise VectorError(vector.file, vector.id, "means", str(bad)) from bad
