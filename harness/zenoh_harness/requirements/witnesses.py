"""What judges which requirement: all vectors, laws, cases and models, as the coverage wants them.

That each of them has been red once is held by the tests of their own rooms; here it is taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_conformance.case import all_cases, import_all
from zenoh_conformance.coverage import Coverage, Witness, cover
from zenoh_conformance.law import all_laws
from zenoh_conformance.requirement import requirements
from zenoh_conformance.wire.declare import snake
from zenoh_harness.errors import UsageError
from zenoh_vectors.loader import Vector, VectorError, load


def coverage() -> Coverage:
    """All requirements with all that judges them."""
    return cover(requirements(), witnesses())


def witnesses() -> Iterator[Witness]:
    """Everything that judges a requirement, sorted within each kind. Raises UsageError for a bad vector file."""
    for vector in vectors():
        yield "vector", vector.id, vector.covers
    for name, law in all_laws().items():
        yield "law", name, [law.requirement]
    for name, case in all_cases().items():
        yield "case", name, [case.requirement]
    for module in import_all("zenoh_conformance.models"):
        if requirement := getattr(module, "REQUIREMENT", ""):
            name = module.__name__.rpartition(".")[2].replace("_", "-")
            yield "model", name, [requirement, *getattr(module, "ALSO", ())]


def vectors() -> tuple[Vector, ...]:
    """Every golden vector. Raises UsageError for a bad vector file."""
    try:
        return load()
    except VectorError as bad:
        raise UsageError(str(bad), step="read the vectors", hint="`tox -e vectors` writes them anew") from bad


def mentions(vector: Vector, message: str) -> bool:
    """Whether a message of this class stands in the vector: its bytes, or what they mean, or what is refused."""
    path = snake(message)
    paths = [segment.path for each in (vector, *(step for _, step in vector.steps)) for segment in each.segments]
    return any(path in (part.partition("[")[0] for part in each.split(".")) for each in paths)
