"""RESPONSE_FINAL: there are no more answers."""

from __future__ import annotations

from zenoh_conformance.wire.declare import NO_EXTS, Exts, message
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.types import Z32

from .network import QoS, TimestampExt


@message(0x1A, "Z|X|X", layer=Layer.NETWORK, ref="reply#final")
class ResponseFinal:
    """Ends what a REQUEST began.

     7 6 5 4 3 2 1 0
    |Z|X|X|  0x1a   |
    """

    id: Z32
    """Of the REQUEST."""

    exts: Exts[QoS | TimestampExt] = NO_EXTS
