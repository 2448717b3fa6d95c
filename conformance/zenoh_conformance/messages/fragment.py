"""FRAGMENT: a piece of a network message that no batch can hold."""

from __future__ import annotations

from zenoh_conformance.wire.declare import NO_EXTS, Exts, extension, flag, message
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.types import BytesRest, Z32Cut

from .frame import QoS

REF = "message-reference#fragment"


@extension(0x2, "unit", ref=REF)
class First:
    """This is the first piece."""


@extension(0x3, "unit", ref=REF)
class Drop:
    """The message will not be completed; its pieces are to be dropped."""


@message(0x06, "Z|M|R", layer=Layer.TRANSPORT, ref=REF)
class Fragment:
    """Takes its numbers from the space of FRAME, one after the other.

     7 6 5 4 3 2 1 0
    |Z|M|R|  0x06   |
    """

    reliable: bool = flag("R", default=True)
    """R: the reliable channel; best effort when clear."""

    more: bool = flag("M")
    """M: further pieces follow."""

    sn: Z32Cut
    """Sequence number, inside the negotiated resolution."""

    exts: Exts[QoS | First | Drop] = NO_EXTS

    payload: BytesRest
    """The piece: the rest of the batch."""
