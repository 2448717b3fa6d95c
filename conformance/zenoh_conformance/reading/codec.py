"""Bytes to messages and back.

decode(b"\\x03\\x02").message                 -> Close(session=False, reason=2, exts=())
encode(Close(reason=CloseReason.INVALID))   -> b"\\x03\\x02"
segments(message).get("close.reason").data  -> b"\\x02"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from zenoh_conformance import messages  # noqa: F401 - importing them is what fills the registry
from zenoh_conformance.wire import Layer, Segments, Tracer, registry
from zenoh_conformance.wire.errors import CodecError, DecodeError, Diagnostic, EncodeError, unexpected_end


class Decoded(NamedTuple):
    """A decoded message."""

    message: Any
    """One of the classes under `messages`."""

    diagnostics: tuple[Diagnostic, ...]
    """Remarks on bytes that a careful sender would not write, in the order of the bytes."""

    size: int
    """The number of bytes that were read."""

    at: int = 0
    """The offset of the message in its batch."""


_decoded: Callable[[tuple[Any, ...]], Decoded] = partial(tuple.__new__, Decoded)
"""The same as the constructor, in half the time."""


class Traced(NamedTuple):
    """A decoded message with its segments, or the segments before a refusal."""

    message: Any
    """None when the bytes are refused."""

    segments: Segments
    """The bytes that were read, as named pieces."""

    diagnostics: tuple[Diagnostic, ...]
    size: int
    """The number of bytes in the segments."""

    refusal: DecodeError | None


def decode(data: bytes, layer: Layer = Layer.TRANSPORT) -> Decoded:
    """Decode the message at the beginning of `data`.  Raises DecodeError and no other error."""
    data = bytes(data)
    diagnostics: list[Diagnostic] = []
    reader = registry.READERS[layer][data[0] & 0x1F] if data else None
    if reader is None:
        raise _unreadable(data, 0, layer)
    message, size = reader(data, 0, len(data), diagnostics)
    return _decoded((message, tuple(diagnostics), size, 0))


def decode_whole(data: bytes, layer: Layer = Layer.TRANSPORT) -> Decoded:
    """Decode `data` as exactly one message.  Raises DecodeError, also when bytes are left."""
    decoded = decode(data, layer)
    if decoded.size != len(data):
        raise DecodeError(decoded.size, layer, f"{len(data) - decoded.size} bytes after the message")
    return decoded


def decode_batch(data: bytes) -> list[Decoded]:
    """Decode transport messages back to back.  Raises DecodeError for the first one that is refused."""
    data, at, decoded = bytes(data), 0, []
    while at < len(data):
        diagnostics: list[Diagnostic] = []
        begin = at
        reader = registry.READERS[Layer.TRANSPORT][data[at] & 0x1F]
        if reader is None:
            raise _unreadable(data, at, Layer.TRANSPORT)
        message, at = reader(data, at, len(data), diagnostics)
        decoded.append(Decoded(message, tuple(diagnostics), at - begin, begin))
    return decoded


def trace(data: bytes, layer: Layer = Layer.TRANSPORT, at: int = 0) -> Traced:
    """Decode the message at `at` with its segments; returns a refusal instead of raising it."""
    data = bytes(data)
    diagnostics: list[Diagnostic] = []
    tracer = Tracer(data, at)
    try:
        reader = registry.TRACERS[layer][data[at] & 0x1F] if at < len(data) else None
        if reader is None:
            raise _unreadable(data, at, layer)
        message, end = reader(data, at, len(data), diagnostics, tracer.mark, "")
    except DecodeError as refusal:
        return Traced(None, tracer.segments(), tuple(diagnostics), tracer.at - at, refusal)
    return Traced(message, tracer.segments(), tuple(diagnostics), end - at, None)


def encode(message: Any) -> bytes:
    """Encode a message.  Raises EncodeError when a field cannot be encoded."""
    try:
        writer = registry.of(type(message)).write
    except KeyError:
        raise EncodeError(type(message).__name__, "this is no message") from None
    out = bytearray()
    try:
        writer(message, out)
    except (TypeError, AttributeError, OverflowError) as bad:
        raise EncodeError(registry.kind_of(message), f"a field is of another type: {bad}") from bad
    return bytes(out)


def segments(message: Any) -> Segments:
    """Encode a message as named pieces.  Raises EncodeError."""
    declaration = registry.of(type(message))
    data = encode(message)
    tracer = Tracer(data)
    declaration.trace(data, 0, len(data), [], tracer.mark, "")
    return tracer.segments()


def to_json(message: Any) -> dict[str, Any]:
    """The JSON form of a message, which every language can read."""
    return registry.to_json(message)


def from_json(json: Mapping[str, Any], layer: Layer = Layer.TRANSPORT) -> Any:
    """The message with this JSON form; `layer` selects where two layers use one name.  Raises EncodeError."""
    among = {name: cls for other in registry.LAYERS for name, cls in registry.kinds(other).items()}
    try:
        return registry.from_json(json, among | registry.kinds(layer))
    except EncodeError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError) as bad:
        raise EncodeError("json", f"{type(bad).__name__}: {bad}") from bad


def _unreadable(data: bytes, at: int, layer: Layer) -> DecodeError:
    """The error for an offset at which no message begins."""
    if at >= len(data):
        return unexpected_end(len(data), layer, "a message")
    return DecodeError(at, layer, f"no {layer} message has the id {data[at] & 0x1F:#04x}")


__all__ = [
    "CodecError",
    "DecodeError",
    "Decoded",
    "Diagnostic",
    "EncodeError",
    "Layer",
    "Segments",
    "Traced",
    "decode",
    "decode_batch",
    "decode_whole",
    "encode",
    "from_json",
    "segments",
    "to_json",
    "trace",
]
