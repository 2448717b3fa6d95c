"""INTEREST: which declarations a node wants to be told."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Annotated

from zenoh_conformance.primitives.wire_expr import KeyByOptions
from zenoh_conformance.wire.declare import NO_EXTS, Exts, bits, message, when
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.notes import flagged
from zenoh_conformance.wire.types import Fixed, Z32Cut

from .network import NodeId, QoS, TimestampExt


class InterestMode(IntEnum):
    """Of which time; FINAL ends an earlier INTEREST."""

    FINAL = 0
    CURRENT = 1
    FUTURE = 2
    CURRENT_FUTURE = 3


class InterestOptions(IntFlag):
    """What kind of declarations, and of which key."""

    KEY_EXPRS = 0x01
    SUBSCRIBERS = 0x02
    QUERYABLES = 0x04
    TOKENS = 0x08
    RESTRICTED = 0x10
    NAMED = 0x20
    MAPPING = 0x40
    AGGREGATE = 0x80


@message(0x19, "Z|Mod|Mod", layer=Layer.NETWORK, ref="message-reference#interest")
class Interest:
    """Answered by DECLAREs, and for what is current by a D_FINAL.

     7 6 5 4 3 2 1 0
    |Z|Mod|  0x19   |
    """

    id: Z32Cut
    """Chosen by the sender; the answers bear it."""

    mode: InterestMode = bits("Mod")
    """Of which time."""

    options: Annotated[int, Fixed(1, says=flagged(InterestOptions))] | None = when("mode", default=None)
    """InterestOptions; absent in FINAL."""

    key: KeyByOptions | None = when("options and options & 0x10", default=None)
    """Only what intersects it; its suffix and mapping are bits of `options` too."""

    exts: Exts[QoS | TimestampExt | NodeId] = NO_EXTS
