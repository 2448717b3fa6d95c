"""Inputs: a byte that selects the layer, then the bytes to be read."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Final
from zlib import crc32

from zenoh_conformance.reading.batch import decode_batch
from zenoh_conformance.reading.codec import Decoded, DecodeError, Layer, decode, trace
from zenoh_conformance.wire import Diagnostic, vle

LAYERS: Final = ("transport", "network", "scouting", "batch", "lowlatency", "vle")
"""Layers by the first byte modulo their number; the numbers are those of `zcodec.h`."""

MESSAGE_LAYERS: Final = (Layer.TRANSPORT, Layer.NETWORK, Layer.SCOUTING)
"""The layers of single messages, as our codec names them."""

BATCH, LOWLATENCY, VLE = 3, 4, 5


def make_input(layer: str, data: bytes) -> bytes:
    """Return the input that reads `data` as `layer`. Raises ValueError for an unknown layer."""
    return bytes([LAYERS.index(layer)]) + data


def split_input(data: bytes) -> tuple[int, bytes]:
    """Return the number of the layer and the rest; an empty input is an empty transport message."""
    return (data[0] % len(LAYERS), data[1:]) if data else (0, b"")


def messages(number: int, data: bytes) -> tuple[list[Decoded], int]:
    """Return the messages that our codec reads, and the bytes used. Raises only DecodeError."""
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
    """Return the remarks of our codec, up to a refusal."""
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
    """Return the name of an input's file."""
    return sha256(data).hexdigest()[:16]


def is_sampled(data: bytes, one_in: int) -> bool:
    """Whether a slow check takes this input; its content decides, so that it repeats."""
    return crc32(data) % one_in == 0


__all__ = [
    "BATCH",
    "LAYERS",
    "LOWLATENCY",
    "MESSAGE_LAYERS",
    "VLE",
    "Decoded",
    "digest",
    "is_sampled",
    "make_input",
    "messages",
    "remarks",
    "split_input",
]
