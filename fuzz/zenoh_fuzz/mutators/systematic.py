"""Exhaustive inputs for small spaces, tried before random ones: headers, lengths, text, chains, cuts, keys.

They are made from the declarations and from one golden vector of each shape of message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Final

from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading.codec import Segments
from zenoh_conformance.wire import Segment, registry, vle
from zenoh_fuzz import inputs
from zenoh_fuzz.inputs import seeds

from . import edits
from .generate import value_of
from .segmented import segments_of

SHAPE: Final = 90
"""Most bytes of a vector that represents its shape."""
LAYER_OF: Final = {"transport": 0, "network": 1, "scouting": 2}


@cache
def shapes() -> tuple[bytes, ...]:
    """Return one input for each set of segments in the valid vectors, the longest of equals."""
    found: dict[frozenset[str], bytes] = {}
    for vector in seeds.vectors():
        if vector.layer not in LAYER_OF or vector.means is None or len(vector.data) > SHAPE:
            continue
        data = inputs.make_input(vector.layer, vector.data)
        pieces = segments_of(data)
        if pieces is None:
            continue
        names = frozenset(path for path in pieces[0].paths() if ".unknown_" not in path)
        if len(data) > len(found.get(names, b"")):
            found[names] = data
    kept = sorted(found.items(), key=lambda item: (-len(item[0]), item[1]))
    return tuple(
        data for names, data in kept if not any(names < other for other, _ in kept[: kept.index((names, data))])
    )


def message_inputs() -> Iterator[bytes]:
    """Yield every input of the small spaces of messages, each once."""
    done: set[bytes] = set()
    for source in (_headers, _integers, _texts, _lengths, _chains, _extensions, _cuts):
        for data in source():
            if data not in done:
                done.add(data)
                yield data


def _headers() -> Iterator[bytes]:
    """Yield every first byte in every layer, followed by nothing, by zeros, and by the body of the message with that id."""
    random = Random(0)
    for number in range(inputs.VLE):
        for header in range(256):
            yield bytes([number, header])
            yield bytes([number, header]) + bytes(24)
    for cls in registry.MESSAGES:
        declared = registry.of(cls)
        if declared.layer is not None and declared.layer in LAYER_OF:
            out = bytearray()
            declared.write(value_of(declared, random), out)
            for bits in range(8):
                yield bytes([LAYER_OF[declared.layer], declared.id | bits << 5]) + bytes(out[1:])


def _integers() -> Iterator[bytes]:
    """Yield integers of one and two bytes, and every edge value in every length that it fits."""
    for first in range(256):
        yield bytes([inputs.VLE, first])
        yield from (bytes([inputs.VLE, first, second]) for second in (0, 1, 0x7F, 0x80, 0xFF))
    for value in seeds.EDGES:
        for size in range(len(vle.encode(value)), 10):
            yield bytes([inputs.VLE]) + vle.overlong(value, size)


def _pieces_where(wanted: Callable[[Segment], object]) -> Iterator[tuple[bytes, Segments, Segment]]:
    """Yield each shape with each of its segments that is wanted."""
    for data in shapes():
        if (found := segments_of(data)) is not None:
            yield from ((data, found[0], piece) for piece in found[0] if wanted(piece))


def _measures(piece: Segment) -> bool:
    return piece.measure is not None and piece.measure.form != "chain"


def _holds_text(piece: Segment) -> bool:
    return piece.path.endswith((".bytes", ".suffix", ".name", "]"))


def _has_chain(piece: Segment) -> bool:
    return piece.measure is not None and piece.measure.form == "chain"


def _lengths() -> Iterator[bytes]:
    """Yield every length and count with every edge value, and values near the right one."""
    for data, segments, piece in _pieces_where(_measures):
        if piece.measure and piece.measure.form == "nibble":
            values = [bytes([piece.data[0] & 0x0F | size << 4]) for size in range(16)]
        else:
            true, _ = vle.decode(piece.data)
            values = [vle.encode(value & vle.MOST) for value in (*seeds.EDGES, true + 1, max(true - 1, 0), true + 40)]
        for value in values:
            yield data[:1] + segments.replace(piece.path, value, recompute=False).join()


def _texts() -> Iterator[bytes]:
    """Yield every segment of text or bytes with every odd string, with correct lengths."""
    for data, segments, piece in _pieces_where(_holds_text):
        for text in edits.ODD_TEXTS:
            yield data[:1] + segments.replace(piece.path, text).join()


def _chains() -> Iterator[bytes]:
    """Yield every chain with hundreds of unknown extensions."""
    for data, segments, piece in _pieces_where(_has_chain):
        if piece.path.endswith(".header") and ".exts." not in piece.path:
            for size in (2, 255, 256, 257, 300):
                owner = piece.path.removesuffix(".header")
                where = edits.before_chain(segments, owner)
                yield data[:1] + segments.insert_after(where, edits.crowd(owner, size, 0x0F)).join()


def _extensions() -> Iterator[bytes]:
    """Yield every extension with every ENC, mandatory and not."""
    for data, segments, piece in _pieces_where(_has_chain):
        if ".exts." in piece.path:
            for flip in (0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70):
                yield data[:1] + segments.replace(piece.path, bytes([piece.data[0] ^ flip]), recompute=False).join()


def _cuts() -> Iterator[bytes]:
    """Yield every prefix of every shape."""
    for data in shapes():
        yield from (data[:end] for end in range(1, len(data)))


# --- keys -------------------------------------------------------------------------------------------------------------

LETTERS: Final = "ab/*$@"


def strings(longest: int, letters: str = LETTERS) -> Iterator[str]:
    """Yield every string up to a length, the shortest first."""
    words = [""]
    for _ in range(longest):
        words = [word + letter for word in words for letter in letters]
        yield from words


def key_inputs(longest: int = 4, longest_in_pair: int = 3) -> Iterator[bytes]:
    """Yield every string up to a length, and every pair of shorter canonical ones."""
    for text in strings(longest):
        yield text.encode() + b"\n"
    keys = [text for text in strings(longest_in_pair) if keyexpr.is_canonical(text)]
    for left in keys:
        yield from (f"{left}\n{right}".encode() for right in keys)
