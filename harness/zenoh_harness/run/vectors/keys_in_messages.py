"""Vectors of key expressions, each as the key of a publication: what is no canonical key expression, no node may send on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from zenoh_conformance.messages import Push, Put
from zenoh_conformance.reading.codec import segments, to_json
from zenoh_conformance.reading.names import plain
from zenoh_vectors.loader import Vector, VectorRefusal, VectorSegment

LAYER: Final = "keyexpr"
"""The layer of these vectors."""

BAD_KEY: Final = "bad-key"
"""Why a key expression is refused: a node that does not pass it on may go on with the session."""

SUFFIX: Final = "push.key.suffix.bytes"


def is_undisputed(vector: Vector) -> bool:
    """Whether a vector is a key expression on which the page's grammar, which is ASCII, and the baseline may agree."""
    return vector.layer == LAYER and bool(vector.data) and vector.data.isascii()


def in_publication(vector: Vector) -> Vector:
    """The vector of the network layer that publishes to the key expression."""
    said = segments(Push(key=plain("a"), body=Put(payload=b"key"))).replace(SUFFIX, vector.data)
    paths = said.paths()
    at = sum(len(one.data) for one in said[: paths.index(SUFFIX)])
    form = (vector.means or {}).get("KeyExpr", {})
    return replace(
        vector,
        layer="network",
        data=said.join(),
        segments=tuple(VectorSegment(one.path, one.data, one.note) for one in said),
        means=_publication(form["text"]) if form.get("valid") else None,
        also=(),
        refuses=vector.refuses if form.get("valid") else VectorRefusal(_why(vector), at, SUFFIX),
    )


def _publication(key: str) -> dict[str, Any]:
    return to_json(Push(key=plain(key), body=Put(payload=b"key")))


def _why(vector: Vector) -> str:
    return BAD_KEY if vector.refuses is None else vector.refuses.why
