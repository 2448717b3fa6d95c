"""Vectors of FRAGMENT whose payload is part of a message with an effect, which shows whether the chain was reassembled.

It is a publication, which a subscriber hears; to a node that forwards nothing it is a query, which such a node answers itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from zenoh_conformance.messages import Fragment, Push, Put, Query, Request
from zenoh_conformance.messages.fragment import Drop, First
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.names import plain
from zenoh_vectors.loader import Vector

PAYLOAD: Final = "fragment.payload"

STAND_IN: Final = b"\xf1\xf2"
"""The payload of vectors that are about another field."""

PUBLICATION: Final = Push(key=plain("zconform/fragment"), body=Put(payload=b"in a fragment"))

QUERY: Final = Request(id=159, key=plain("zconform/fragment"), body=Query())
"""A query with an id that no vector has, before those of our own."""

CUT: Final = 9
"""Bytes of the message that the first of two fragments holds."""


def is_any_payload(vector: Vector, message: Any) -> bool:
    """Whether a vector is a FRAGMENT that is about another field than its payload, and that has no marker."""
    return (
        isinstance(message, Fragment)
        and message.payload == STAND_IN
        and vector.segments[-1].path == PAYLOAD
        and not any(isinstance(ext, First | Drop) for ext in message.exts)
    )


def with_message(
    vector: Vector, first: Fragment, message: Push | Request, most_sn: int
) -> tuple[Vector, tuple[bytes, ...]]:
    """The vector with a message, or the beginning of one, as its payload; and the batches that say the whole message."""
    data = encode(message)
    piece, rest = (data[:CUT], data[CUT:]) if first.more else (data, b"")
    segments = (*vector.segments[:-1], vector.segments[-1]._replace(data=piece))
    said = b"".join(one.data for one in segments)
    last = replace(first, more=False, sn=first.sn + 1 & most_sn, payload=rest)
    return replace(vector, segments=segments, data=said), (said, encode(last)) if rest else (said,)
