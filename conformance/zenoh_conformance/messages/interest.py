"""INTEREST: asks a node for its declarations."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Annotated

from zenoh_conformance.primitives import KeyByOptions
from zenoh_conformance.wire import NO_EXTS, Exts, Fixed, Layer, Z32Cut, bits, flags_note, message, when

from .network import NodeId, QoS, TimestampExt


class InterestMode(IntEnum):
    """Whether current or future declarations are asked for; FINAL ends an earlier INTEREST."""

    FINAL = 0
    CURRENT = 1
    FUTURE = 2
    CURRENT_FUTURE = 3


class InterestOptions(IntFlag):
    """The kinds of declarations that are asked for, and how the key is given."""

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
    """Asks for declarations; DECLAREs answer it, and D_FINAL follows the current ones.

     7 6 5 4 3 2 1 0
    |Z|Mod|  0x19   |
    """

    id: Z32Cut
    """Chosen by the sender; the answers repeat it."""

    mode: InterestMode = bits("Mod")
    """Current declarations, future ones, or both."""

    options: Annotated[int, Fixed(1, says=flags_note(InterestOptions))] | None = when("mode", default=None)
    """InterestOptions; absent in FINAL."""

    key: KeyByOptions | None = when("options and options & 0x10", default=None)
    """Restricts the answer to declarations whose key intersects it; N and M are bits of `options`."""

    exts: Exts[QoS | TimestampExt | NodeId] = NO_EXTS
