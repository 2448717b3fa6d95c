"""A mutator that knows the wire: an input is decoded, one segment is changed, lengths are made true again or left to lie.

What does not decode is mutated as bytes are. The choice of a change comes from the seed that the engine hands over, so that a
run repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from zenoh_conformance.codec import Segments, trace
from zenoh_conformance.wire import vle
from zenoh_conformance.wire.segment import Segment

from .oracles.decode import LAYERS

Edit = Callable[[Segments, Random], Segments]
BytesMutator = Callable[[bytes, int], bytes]

EDGES = (
    0,
    1,
    127,
    128,
    255,
    256,
    16383,
    16384,
    65535,
    65536,
    (1 << 28) - 1,
    1 << 28,
    (1 << 32) - 1,
    1 << 32,
    (1 << 56) - 1,
    1 << 56,
    (1 << 64) - 1,
)
"""Where widths and VLE lengths change (primitives#vle)."""


def _path(segments: Segments, random: Random) -> str:
    return random.choice(segments.paths())


def number(segments: Segments, random: Random) -> Segments:
    """An edge value in place of a segment, as a VLE integer."""
    return segments.replace(_path(segments, random), vle.encode(random.choice(EDGES)), recompute=random.random() < 0.5)


def bit(segments: Segments, random: Random) -> Segments:
    """One bit of one segment."""
    path = _path(segments, random)
    data = bytearray(segments.get(path).data)
    if not data:
        return segments
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return segments.replace(path, bytes(data), recompute=random.random() < 0.5)


def cut(segments: Segments, random: Random) -> Segments:
    """A segment goes."""
    return segments.cut(_path(segments, random), recompute=random.random() < 0.7)


def double(segments: Segments, random: Random) -> Segments:
    """A segment stands twice."""
    return segments.double(_path(segments, random), recompute=random.random() < 0.7)


def swap(segments: Segments, random: Random) -> Segments:
    """Two segments change places."""
    first, second = random.choice(segments.paths()), random.choice(segments.paths())
    return segments if first == second else segments.swap(first, second)


def stuff(segments: Segments, random: Random) -> Segments:
    """A run of bytes where a segment stands."""
    size = random.choice((0, 1, 2, 15, 16, 17, 255, 256, 300))
    return segments.replace(_path(segments, random), random.randbytes(size), recompute=random.random() < 0.5)


def extension(segments: Segments, random: Random) -> Segments:
    """An extension that no table names, after some segment."""
    header = random.choice((0x0E, 0x2E, 0x4E, 0x1E, 0x60)) | random.choice((0, 0x80))
    content = {0x20: b"\x05", 0x40: b"\x01\x00"}.get(header & 0x60, b"")
    return segments.insert_after(_path(segments, random), Segment("unknown", bytes([header]) + content))


EDITS: Sequence[Edit] = (number, bit, cut, double, swap, stuff, extension)


def mutate(data: bytes, most: int, seed: int, as_bytes: BytesMutator) -> bytes:
    """One changed input of at most `most` bytes; `as_bytes` mutates what no message is."""
    random = Random(seed)
    if len(data) < 2 or random.random() < 0.2:
        return as_bytes(data, most)
    found = trace(data[1:], LAYERS[data[0] % len(LAYERS)])
    if not found.segments:
        return as_bytes(data, most)
    try:
        edited = random.choice(EDITS)(found.segments, random)
    except (KeyError, ValueError):
        return as_bytes(data, most)  # the edit does not fit this message
    rest = data[1 + found.size :]
    return (data[:1] + edited.join() + rest)[:most]
