"""What an input is: one byte that says as what the rest is read, then the rest."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Final
from zlib import crc32

from zenoh_conformance.batch import decode_batch
from zenoh_conformance.codec import Decoded, DecodeError, Layer, decode, trace
from zenoh_conformance.wire import vle
from zenoh_conformance.wire.errors import Diagnostic

LAYERS: Final = ("transport", "network", "scouting", "batch", "lowlatency", "vle")
"""The first byte, modulo their number, chooses; the numbers are those of `zcodec.h`."""

MESSAGE_LAYERS: Final = (Layer.TRANSPORT, Layer.NETWORK, Layer.SCOUTING)
"""The first three, as our codec names them: one message each."""

BATCH, LOWLATENCY, VLE = 3, 4, 5


def of(layer: str, data: bytes) -> bytes:
    """The input that is `data` read as `layer`.  Raises ValueError for a layer that inputs do not have."""
    return bytes([LAYERS.index(layer)]) + data


def taken_apart(data: bytes) -> tuple[int, bytes]:
    """The number of the layer, and the rest; an empty input is an empty transport message."""
    return (data[0] % len(LAYERS), data[1:]) if data else (0, b"")


def messages(number: int, data: bytes) -> tuple[list[Decoded], int]:
    """What our codec reads in `data`, and how many bytes that takes.  Raises DecodeError, and nothing else."""
    if number < BATCH:
        one = decode(data, MESSAGE_LAYERS[number])
        return [one], one.size
    if number == VLE:
        value, size = vle.decode(data)
        return [Decoded(value, (), size)], size
    if not data:
        raise DecodeError(0, LAYERS[number], "an empty batch holds no message")
    return list(_batch(number, data)), len(data)


def _batch(number: int, data: bytes) -> Iterator[Decoded]:
    for found in decode_batch(data, Layer.TRANSPORT if number == BATCH else Layer.LOWLATENCY):
        if isinstance(found, DecodeError):
            raise found
        yield found


def remarks(number: int, data: bytes) -> list[Diagnostic]:
    """What our codec remarks about `data`, up to where it is refused."""
    found: list[Diagnostic] = []
    at = 0
    layers = MESSAGE_LAYERS[number : number + 1] if number < BATCH else (Layer.TRANSPORT, Layer.NETWORK)
    while number != VLE and at < len(data):
        tried = [trace(data, layer, at) for layer in layers[: 2 if number == LOWLATENCY else 1]]
        best = max(tried, key=lambda each: (each.refusal is None, each.size))
        found += best.diagnostics
        if best.refusal is not None or number < BATCH:
            break
        at += best.size
    return found


def digest(data: bytes) -> str:
    """The name of an input's file."""
    return sha256(data).hexdigest()[:16]


def sampled(data: bytes, one_in: int) -> bool:
    """Whether an input is among those that a slow check looks at: decided by its content, so that it repeats."""
    return crc32(data) % one_in == 0


__all__ = [
    "BATCH", "LAYERS", "LOWLATENCY", "MESSAGE_LAYERS", "VLE", "Decoded", "digest", "messages", "of", "remarks", "sampled",
    "taken_apart",
]  # fmt: skip
