"""Batches: the framing and the compression of messages on a link.

A stream has a length before each batch (two bytes, four in a low-latency session); a datagram is a batch.  With negotiated
compression, a batch begins with a byte that says whether the rest is an LZ4 block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import lz4.block

from zenoh_conformance.wire import DecodeError, Diagnostic, EncodeError, Layer, registry

from .codec import Decoded

STREAM_PREFIX = 2
LOWLATENCY_PREFIX = 4
LARGEST = 0xFFFF
"""Bytes of the largest batch, compressed or not."""

COMPRESSED = 0x01
"""The bit of the header byte for an LZ4 block; a reader ignores the other bits."""

_WITHOUT_FRAME = (3, 4)
"""The ids of CLOSE and KEEP_ALIVE, the transport messages of a low-latency session."""


def decode_batch(data: bytes, layer: Layer = Layer.TRANSPORT) -> Iterator[Decoded | DecodeError]:
    """Yield the messages of a batch as they are read; a DecodeError, if any, comes last.

    `layer` is TRANSPORT, or LOWLATENCY for network messages, KEEP_ALIVE and CLOSE without FRAME.
    """
    data, at = bytes(data), 0
    readers = _of_layer(registry.READERS, layer)
    while at < len(data):
        try:
            decoded = read_one(data, at, layer, readers)
        except DecodeError as refusal:
            yield refusal
            return
        at += decoded.size
        yield decoded


def tracers_of(layer: Layer) -> list[Callable[..., Any] | None]:
    """As `readers_of`, for the readers that mark segments."""
    return _of_layer(registry.TRACERS, layer)


def _of_layer(tables: Mapping[str, list[Callable[..., Any] | None]], layer: Layer) -> list[Callable[..., Any] | None]:
    if layer is not Layer.LOWLATENCY:
        return tables[layer]
    bare = list(tables[Layer.NETWORK])
    for mid in _WITHOUT_FRAME:
        bare[mid] = tables[Layer.TRANSPORT][mid]
    return bare


def read_one(data: bytes, at: int, layer: Layer, readers: list[Callable[..., Any] | None]) -> Decoded:
    """The message at `at`.  Raises DecodeError."""
    reader = readers[data[at] & 0x1F]
    if reader is None:
        raise DecodeError(at, layer, f"no {layer} message has the id {data[at] & 0x1F:#04x}")
    diagnostics: list[Diagnostic] = []
    message, end = reader(data, at, len(data), diagnostics)
    return Decoded(message, tuple(diagnostics), end - at, at)


def split(data: bytes, prefix: int = STREAM_PREFIX) -> tuple[list[bytes], bytes]:
    """The complete batches of a stream, without their lengths, and the bytes of the incomplete one at its end."""
    batches, at = [], 0
    while at + prefix <= len(data):
        end = at + prefix + int.from_bytes(data[at : at + prefix], "little")
        if end > len(data):
            break
        batches.append(data[at + prefix : end])
        at = end
    return batches, data[at:]


def frame_batch(
    batch: bytes, framing: str = "stream", *, prefix: int = STREAM_PREFIX, compressed: bool = False
) -> bytes:
    """Frame a batch for the link; `framing` is "stream" or "datagram".  Raises EncodeError for a batch that is too long."""
    if compressed:
        batch = compress(batch)
    if framing == "datagram":
        return batch
    if len(batch) >> 8 * prefix:
        raise EncodeError("batch", f"{len(batch)} bytes do not fit a length of {prefix} bytes")
    return len(batch).to_bytes(prefix, "little") + batch


def compress(batch: bytes) -> bytes:
    """A header byte and an LZ4 block, or a header byte and the batch itself if LZ4 does not make it shorter."""
    block: bytes = lz4.block.compress(batch, store_size=False)
    return bytes([COMPRESSED]) + block if len(block) < len(batch) else b"\0" + batch


def decompress(data: bytes, *, most: int = LARGEST) -> bytes:
    """The batch after the header byte, of at most `most` bytes.  Raises DecodeError."""
    if not data:
        raise DecodeError(0, "batch.compression", "an empty batch, where its header byte is expected")
    if not data[0] & COMPRESSED:
        return bytes(data[1:])
    try:
        batch: bytes = lz4.block.decompress(data[1:], uncompressed_size=most)
    except lz4.block.LZ4BlockError:
        raise DecodeError(1, "batch.block", f"no LZ4 block of at most {most} bytes") from None
    return batch
