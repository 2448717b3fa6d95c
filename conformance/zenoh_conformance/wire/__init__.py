"""The engine: wire types, declarations, and the functions that are made from them once a class."""

from .declare import bits, composite, extension, flag, given, message, when
from .errors import DecodeError, Diagnostic, EncodeError, excessive_length, unexpected_end
from .extensions import NO_EXTS, Exts, Unknown, exts
from .layer import Enc, Layer
from .nested import Body, ByEnc, Composite, Many, Messages
from .notes import batch_bytes, duration, flags_note, member_note
from .segment import Segment, Segments, Tracer
from .types import (
    U8,
    Z32,
    Z64,
    Blob,
    BytesRest,
    BytesZ16,
    BytesZ64,
    Fixed,
    TextRest,
    TextZ64,
    Vle,
    WireType,
    Z8Cut,
    Z16Cut,
    Z32Cut,
)

__all__ = [
    "NO_EXTS",
    "U8",
    "Z32",
    "Z64",
    "Blob",
    "Body",
    "ByEnc",
    "BytesRest",
    "BytesZ16",
    "BytesZ64",
    "Composite",
    "DecodeError",
    "Diagnostic",
    "Enc",
    "EncodeError",
    "Exts",
    "Fixed",
    "Layer",
    "Many",
    "Messages",
    "Segment",
    "Segments",
    "TextRest",
    "TextZ64",
    "Tracer",
    "Unknown",
    "Vle",
    "WireType",
    "Z8Cut",
    "Z16Cut",
    "Z32Cut",
    "batch_bytes",
    "bits",
    "composite",
    "duration",
    "excessive_length",
    "extension",
    "exts",
    "flag",
    "flags_note",
    "given",
    "member_note",
    "message",
    "unexpected_end",
    "when",
]
