"""Bytes to messages and back.

decode(b"\\x03\\x02").message                 -> Close(session=False, reason=2, exts=())
encode(Close(reason=CloseReason.INVALID))   -> b"\\x03\\x02"
segments(message).get("close.reason").data  -> b"\\x02"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from . import messages  # noqa: F401 - importing them is what fills the registry
from .wire import registry
from .wire.errors import CodecError, DecodeError, Diagnostic, EncodeError, ended
from .wire.layer import Layer
from .wire.segment import Segments, Tracer


class Decoded(NamedTuple):
    """What some bytes mean."""

    message: Any
    """One of the classes under `messages`."""

    diagnostics: tuple[Diagnostic, ...]
    """What a careful sender would have written otherwise, in the order of the bytes."""

    size: int
    """How many bytes it took."""

    at: int = 0
    """Where in its batch it begins."""


_decoded: Callable[[tuple[Any, ...]], Decoded] = partial(tuple.__new__, Decoded)
"""What its constructor does, in half the time."""


class Traced(NamedTuple):
    """What some bytes mean, and how far that could be told."""

    message: Any
    """None when the bytes are refused."""

    segments: Segments
    """The bytes that were read, in pieces."""

    diagnostics: tuple[Diagnostic, ...]
    size: int
    """How many bytes the segments take."""

    refusal: DecodeError | None


def decode(data: bytes, layer: Layer = Layer.TRANSPORT) -> Decoded:
    """The message at the beginning of `data`.  Raises DecodeError, and nothing else, whatever the bytes."""
    data = bytes(data)
    found: list[Diagnostic] = []
    reader = registry.READERS[layer][data[0] & 0x1F] if data else None
    if reader is None:
        raise _unreadable(data, 0, layer)
    message, size = reader(data, 0, len(data), found)
    return _decoded((message, tuple(found), size, 0))


def decode_whole(data: bytes, layer: Layer = Layer.TRANSPORT) -> Decoded:
    """The message that `data` is.  Raises DecodeError, also when bytes are left."""
    decoded = decode(data, layer)
    if decoded.size != len(data):
        raise DecodeError(decoded.size, layer, f"{len(data) - decoded.size} bytes after the message")
    return decoded


def decode_batch(data: bytes) -> list[Decoded]:
    """The transport messages that `data` holds back to back.  Raises DecodeError for the first bad one."""
    data, at, read = bytes(data), 0, []
    while at < len(data):
        found: list[Diagnostic] = []
        begin = at
        reader = registry.READERS[Layer.TRANSPORT][data[at] & 0x1F]
        if reader is None:
            raise _unreadable(data, at, Layer.TRANSPORT)
        message, at = reader(data, at, len(data), found)
        read.append(Decoded(message, tuple(found), at - begin, begin))
    return read


def trace(data: bytes, layer: Layer = Layer.TRANSPORT, at: int = 0) -> Traced:
    """The message at `at`, with the segments that it is read from; never raises for bad bytes."""
    data = bytes(data)
    found: list[Diagnostic] = []
    tracer = Tracer(data, at)
    try:
        reader = registry.TRACERS[layer][data[at] & 0x1F] if at < len(data) else None
        if reader is None:
            raise _unreadable(data, at, layer)
        message, end = reader(data, at, len(data), found, tracer.mark, "")
    except DecodeError as refusal:
        return Traced(None, tracer.segments(), tuple(found), tracer.at - at, refusal)
    return Traced(message, tracer.segments(), tuple(found), end - at, None)


def encode(message: Any) -> bytes:
    """The message as bytes.  Raises EncodeError when a field has no place on the wire."""
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
    """The message as named pieces.  Raises EncodeError."""
    declaration = registry.of(type(message))
    data = encode(message)
    tracer = Tracer(data)
    declaration.trace(data, 0, len(data), [], tracer.mark, "")
    return tracer.segments()


def to_json(message: Any) -> dict[str, Any]:
    """What the message means, as data that every language reads."""
    return registry.to_json(message)


def from_json(text: Mapping[str, Any], layer: Layer = Layer.TRANSPORT) -> Any:
    """The message that `told` means; where two layers use one name, `layer` decides.  Raises EncodeError."""
    among = {name: cls for other in registry.LAYERS for name, cls in registry.kinds(other).items()}
    try:
        return registry.from_json(text, among | registry.kinds(layer))
    except EncodeError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError) as bad:
        raise EncodeError("json", f"{type(bad).__name__}: {bad}") from bad


def _unreadable(data: bytes, at: int, layer: Layer) -> DecodeError:
    """Why no message begins at `at`."""
    if at >= len(data):
        return ended(len(data), layer, "a message")
    return DecodeError(at, layer, f"no {layer} message has the id {data[at] & 0x1F:#04x}")


__all__ = [
    "CodecError", "DecodeError", "Decoded", "Diagnostic", "EncodeError", "Layer", "Segments", "Traced", "decode",
    "decode_batch", "decode_whole", "encode", "from_json", "segments", "to_json", "trace",
]  # fmt: skip
