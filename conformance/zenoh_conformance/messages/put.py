"""PUT: a value."""

from __future__ import annotations

from zenoh_conformance.primitives import EncodingField, Timestamp
from zenoh_conformance.wire import NO_EXTS, BytesRest, Exts, Layer, extension, given, message

from .data import PayloadField, Shm, SourceInfo


@extension(0x3, "zbuf", ref="push#put-extensions", name="Attachment")
class PutAttachment:
    """Bytes that the application attaches to the value."""

    payload: BytesRest
    """Opaque."""


@message(0x01, "Z|E|T", layer=Layer.DATA, ref="push#put")
class Put:
    """Sets a value; carried in PUSH and in REPLY.

     7 6 5 4 3 2 1 0
    |Z|E|T|  0x01   |
    """

    timestamp: Timestamp | None = given("T", default=None)
    """When the value was made."""

    encoding: EncodingField | None = given("E", default=None)
    """The encoding of the value; zenoh/bytes when absent."""

    exts: Exts[SourceInfo | Shm | PutAttachment] = NO_EXTS

    payload: PayloadField
    """The value; with the marker Shm, the number of slices and then the slices."""
