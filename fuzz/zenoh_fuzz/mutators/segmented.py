"""Split inputs into named segments, as far as they can be decoded."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from zenoh_conformance.reading.codec import Layer, Segments, Traced, trace
from zenoh_conformance.wire import Segment
from zenoh_fuzz import inputs

MOST_SEGMENTS: Final = 150
"""Inputs of more segments are mutated as bytes: an edit looks at every segment."""

_LAYERS: Final = (Layer.TRANSPORT, Layer.NETWORK, Layer.SCOUTING, Layer.TRANSPORT)


@lru_cache(maxsize=512)
def segments_of(data: bytes) -> tuple[Segments, bytes] | None:
    """Return the segments of an input's messages and the bytes after them; None if there are none, or too many."""
    if len(data) < 2 or data[0] % len(inputs.LAYERS) == inputs.VLE:
        return None
    number, message = inputs.split_input(data)
    at = 0
    pieces: list[Segment] = []
    index = 0
    while at < len(message) and len(pieces) <= MOST_SEGMENTS:
        traced = _trace_at(message, number, at)
        prefix = f"m[{index}]." if number >= inputs.BATCH and index else ""
        pieces += _with_prefix(traced.segments, prefix)
        at += traced.size
        index += 1
        if traced.refusal is not None or number < inputs.BATCH:
            break
    if not pieces or len(pieces) > MOST_SEGMENTS:
        return None
    return Segments(pieces), message[at:]


def _with_prefix(segments: Segments, prefix: str) -> list[Segment]:
    if not prefix:
        return list(segments)
    return [
        one._replace(path=prefix + one.path, measure=one.measure and one.measure._replace(of=prefix + one.measure.of))
        for one in segments
    ]


def _trace_at(message: bytes, number: int, at: int) -> Traced:
    if number != inputs.LOWLATENCY:
        return trace(message, _LAYERS[number], at)
    network = trace(message, Layer.NETWORK, at)
    return network if network.size else trace(message, Layer.TRANSPORT, at)
