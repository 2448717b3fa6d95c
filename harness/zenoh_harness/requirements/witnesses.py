"""Collect all vectors, laws, cases and models with the requirements that they judge, for the coverage.

The tests of each package show that each of them can fail; this module does not check it.
"""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.loading import import_all
from zenoh_conformance.spec.coverage import Coverage, Witness, cover
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.errors import UsageError
from zenoh_vectors.loader import Vector, VectorError, load


def coverage() -> Coverage:
    """Return the coverage of all requirements."""
    return cover(requirements(), witnesses())


def witnesses() -> Iterator[Witness]:
    """Yield everything that judges a requirement, sorted within each kind. Raises UsageError for a bad vector file."""
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
    """Return every golden vector. Raises UsageError for a bad vector file."""
    try:
        return load()
    except VectorError as bad:
        raise UsageError(str(bad), step="read the vectors", hint="`tox -e vectors` writes them anew") from bad
