"""List the declared messages, fields and extensions that no vector contains yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import zenoh_conformance.messages  # noqa: F401 - importing them fills the registry
from zenoh_conformance.wire import registry
from zenoh_conformance.wire.describe import DeclarationFacts, describe
from zenoh_vectors.loader import Vector

NAMED_BY_KIND = ("body",)
"""Fields that hold a message: a path names the kind of that message."""


def missing_vectors(vectors: Iterable[Vector]) -> list[str]:
    """Return the messages, fields and extensions (`put`, `put.encoding`, `put.exts.attachment`) that no vector contains."""
    shown = {name for vector in vectors for path in _paths(vector) for name in _path_names(path)}
    return [row for cls in registry.MESSAGES for row in _rows(describe(cls)) if row not in shown]


def _rows(facts: DeclarationFacts) -> Iterator[str]:
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


def _path_names(path: str) -> Iterator[str]:
    """Yield each message on a path, with the field or extension that follows it."""
    parts = re.sub(r"\[\d+\]", "", path).split(".")
    for at, name in enumerate(parts):
        yield name
        yield ".".join(parts[at : at + 2])
        yield ".".join(parts[at : at + 3])
