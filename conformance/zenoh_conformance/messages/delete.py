"""DEL: deletes a value."""

from __future__ import annotations

from zenoh_conformance.primitives import Timestamp
from zenoh_conformance.wire import NO_EXTS, BytesRest, Exts, Layer, extension, given, message

from .data import SourceInfo


@extension(0x2, "zbuf", ref="push#del-extensions", name="Attachment")
class DelAttachment:
    """Bytes that the application attaches; PUT uses another id for them."""

    payload: BytesRest
    """Opaque."""


@message(0x02, "Z|X|T", layer=Layer.DATA, ref="push#del")
class Del:
    """Deletes a value; carried in PUSH and in REPLY.

     7 6 5 4 3 2 1 0
    |Z|X|T|  0x02   |
    """

    timestamp: Timestamp | None = given("T", default=None)
    """When the value was deleted."""

    exts: Exts[SourceInfo | DelAttachment] = NO_EXTS
