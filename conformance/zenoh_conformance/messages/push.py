"""PUSH: publishes a value or a deletion."""

from __future__ import annotations

from zenoh_conformance.primitives import Key
from zenoh_conformance.wire import NO_EXTS, Exts, Layer, message

from .delete import Del
from .network import NodeId, QoS, TimestampExt, TsStack
from .put import Put


@message(0x1D, "Z|M|N", layer=Layer.NETWORK, ref="push#push")
class Push:
    """Publishes to every subscriber whose key expression intersects the key.

     7 6 5 4 3 2 1 0
    |Z|M|N|  0x1d   |
    """

    key: Key
    """The key that is published to."""

    exts: Exts[QoS | TimestampExt | NodeId | TsStack] = NO_EXTS

    body: Put | Del
    """The value, or its deletion."""
