"""FRAGMENT: a piece of a network message that is too large for one batch."""

from __future__ import annotations

from zenoh_conformance.wire import NO_EXTS, BytesRest, Exts, Layer, Z32Cut, extension, flag, message

from .frame import QoS

REF = "message-reference#fragment"


@extension(0x2, "unit", ref=REF)
class First:
    """Marks the first piece of a message."""


@extension(0x3, "unit", ref=REF)
class Drop:
    """Says that the message will not be completed; the receiver drops its pieces."""


@message(0x06, "Z|M|R", layer=Layer.TRANSPORT, ref=REF)
class Fragment:
    """Carries a piece of a network message; its sequence numbers continue those of FRAME.

     7 6 5 4 3 2 1 0
    |Z|M|R|  0x06   |
    """

    reliable: bool = flag("R", default=True)
    """R: set, the reliable channel; clear, best effort."""

    more: bool = flag("M")
    """M: more pieces follow."""

    sn: Z32Cut
    """Sequence number, inside the negotiated resolution."""

    exts: Exts[QoS | First | Drop] = NO_EXTS

    payload: BytesRest
    """The piece: the rest of the batch."""
