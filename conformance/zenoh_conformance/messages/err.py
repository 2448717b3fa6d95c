"""ERR: an error as the answer to a query."""

from __future__ import annotations

from zenoh_conformance.primitives import EncodingField
from zenoh_conformance.wire import NO_EXTS, Exts, Layer, given, message

from .data import PayloadField, Shm, SourceInfo


@message(0x05, "Z|E|X", layer=Layer.DATA, ref="reply#err")
class Err:
    """Answers a query with an error; carried in RESPONSE.

     7 6 5 4 3 2 1 0
    |Z|E|X|  0x05   |
    """

    encoding: EncodingField | None = given("E", default=None)
    """The encoding of the payload; zenoh/bytes when absent."""

    exts: Exts[SourceInfo | Shm] = NO_EXTS

    payload: PayloadField
    """The application's error; with the marker Shm, the number of slices and then the slices."""
