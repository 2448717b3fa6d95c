"""What is declared and stands in no vector yet: a new message owes its vectors from the moment of its declaration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import zenoh_conformance.messages  # noqa: F401 - importing them fills the registry
from zenoh_conformance.wire import registry
from zenoh_conformance.wire.describe import Facts, describe
from zenoh_vectors.loader import Vector

NAMED_BY_KIND = ("body",)
"""Fields that are a message: paths name its kind."""


def owed(vectors: Iterable[Vector]) -> list[str]:
    """The messages, fields and extensions (`put`, `put.encoding`, `put.exts.attachment`) that no vector shows."""
    shown = {name for vector in vectors for path in _paths(vector) for name in _named(path)}
    return [row for cls in registry.MESSAGES for row in _rows(describe(cls)) if row not in shown]


def _rows(facts: Facts) -> Iterator[str]:
    yield facts.path
    for field in facts.fields:
        if not field.wire.startswith("bit") and field.name not in NAMED_BY_KIND:
            yield f"{facts.path}.{field.name}"
    for ext in facts.extensions:
        yield f"{facts.path}.exts.{ext.path}"


def _paths(vector: Vector) -> Iterator[str]:
    for step in [step for _, step in vector.steps] or [vector]:
        for segment in step.segments:
            yield segment.path


def _named(path: str) -> Iterator[str]:
    """Each message on the way of a path, with the field or extension that follows it."""
    parts = re.sub(r"\[\d+\]", "", path).split(".")
    for at, name in enumerate(parts):
        yield name
        yield ".".join(parts[at : at + 2])
        yield ".".join(parts[at : at + 3])


__all__ = ["owed"]
