"""FRAME: network messages under a sequence number."""

from __future__ import annotations

from typing import Annotated, Any

from zenoh_conformance.wire import NO_EXTS, Exts, Layer, Messages, Vle, Z32Cut, extension, flag, message
from zenoh_conformance.wire.notes import lane


@extension(0x1, "z64", mandatory=True, ref="message-reference#frame")
class QoS:
    """The priority of the messages in the FRAME or FRAGMENT."""

    value: Annotated[int, Vle(8, cut=True, reserved=0xF8, says=lane)]
    """0 Control to 7 Background; 5, Data, when absent."""


@message(0x05, "Z|X|R", layer=Layer.TRANSPORT, ref="message-reference#frame")
class Frame:
    """Carries one or more complete network messages.

     7 6 5 4 3 2 1 0
    |Z|X|R|  0x05   |
    """

    reliable: bool = flag("R", default=True)
    """R: set, the reliable channel; clear, best effort."""

    sn: Z32Cut
    """Sequence number, inside the negotiated resolution."""

    exts: Exts[QoS] = NO_EXTS

    messages: Annotated[tuple[Any, ...], Messages(Layer.NETWORK)]
    """The network messages, up to the end of the batch or the next transport message."""
