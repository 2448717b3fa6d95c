"""RESPONSE_FINAL: the end of the answers to a REQUEST."""

from __future__ import annotations

from zenoh_conformance.wire import NO_EXTS, Z32, Exts, Layer, message

from .network import QoS, TimestampExt


@message(0x1A, "Z|X|X", layer=Layer.NETWORK, ref="reply#final")
class ResponseFinal:
    """Ends the answers to a REQUEST.

     7 6 5 4 3 2 1 0
    |Z|X|X|  0x1a   |
    """

    id: Z32
    """The id of the REQUEST."""

    exts: Exts[QoS | TimestampExt] = NO_EXTS
