"""Vectors whose keys are numbers of the receiver's, said with numbers of ours: a node declares none that we could use before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from zenoh_conformance.messages import Declare, DKeyExpr, Interest
from zenoh_conformance.primitives import WireExpr
from zenoh_vectors.loader import Vector, VectorSegment

M: Final = 0x40
"""The flag that makes a key's number one of its sender's: of a header, and of an INTEREST's options."""

SCOPE: Final = ".key.scope"


def with_our_number(vector: Vector, message: Any) -> tuple[Vector, Any]:
    """The vector and its message with M set, where its key begins with a number and has no M; else both as they are.

    D_KEYEXPR has no M: its number is always one of its sender's.
    """
    holder = message.body if isinstance(message, Declare) else message
    key = getattr(holder, "key", None)
    scoped = [segment.path for segment in vector.segments if segment.path.endswith(SCOPE)]
    if not isinstance(key, WireExpr) or not key.scope or key.mapping is not False or len(scoped) != 1:
        return vector, message
    flags = scoped[0].removesuffix(SCOPE) + (".options" if isinstance(holder, Interest) else ".header")
    has_m = not isinstance(holder, DKeyExpr)
    segments = tuple(_with_m(one) if one.path == flags and has_m else one for one in vector.segments)
    changed = replace(holder, key=replace(key, mapping=True))
    return (
        replace(vector, segments=segments, data=b"".join(one.data for one in segments)),
        replace(message, body=changed) if isinstance(message, Declare) else changed,
    )


def _with_m(segment: VectorSegment) -> VectorSegment:
    return segment._replace(data=bytes((segment.data[0] | M,)))
