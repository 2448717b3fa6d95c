"""RESPONSE: one answer to a REQUEST."""

from __future__ import annotations

from zenoh_conformance.primitives import Key, ZidAlone
from zenoh_conformance.wire import NO_EXTS, Z32, Exts, Layer, Z32Cut, extension, message

from .err import Err
from .network import QoS, TimestampExt, TsStack
from .reply import Reply


@extension(0x3, "zbuf", ref="reply#response-extensions")
class ResponderId:
    """The entity that answers."""

    zid: ZidAlone
    """The node."""

    eid: Z32Cut
    """The entity in that node."""


@message(0x1B, "Z|M|N", layer=Layer.NETWORK, ref="reply#response")
class Response:
    """Answers a REQUEST; several may answer the same one.

     7 6 5 4 3 2 1 0
    |Z|M|N|  0x1b   |
    """

    id: Z32
    """The id of the REQUEST."""

    key: Key
    """The key of the answer."""

    exts: Exts[QoS | TimestampExt | ResponderId | TsStack] = NO_EXTS

    body: Reply | Err
    """The answer."""
