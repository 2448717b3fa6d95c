"""ERR: why there is no value."""

from __future__ import annotations

from zenoh_conformance.primitives.encoding import EncodingField
from zenoh_conformance.wire.declare import NO_EXTS, Exts, given, message
from zenoh_conformance.wire.layer import Layer

from .data import PayloadField, Shm, SourceInfo


@message(0x05, "Z|E|X", layer=Layer.DATA, ref="reply#err")
class Err:
    """Carried in RESPONSE.

     7 6 5 4 3 2 1 0
    |Z|E|X|  0x05   |
    """

    encoding: EncodingField | None = given("E", default=None)
    """What the payload is; zenoh/bytes when absent."""

    exts: Exts[SourceInfo | Shm] = NO_EXTS

    payload: PayloadField
    """Of the application; with the marker Shm the slices as they stand, their count first."""
