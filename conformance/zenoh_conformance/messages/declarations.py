"""The nine bodies of DECLARE."""

from __future__ import annotations

from enum import IntFlag
from typing import Annotated

from zenoh_conformance.primitives import Key
from zenoh_conformance.wire import (
    NO_EXTS,
    Exts,
    Fixed,
    Layer,
    TextRest,
    Unknown,
    Vle,
    Z16Cut,
    Z32Cut,
    extension,
    message,
    when,
)
from zenoh_conformance.wire.notes import completeness, flags_note


@extension(0x1, "z64", ref="declarations#queryable")
class QueryableInfo:
    """Completeness and distance of a queryable; both are zero when it is absent."""

    value: Annotated[int, Vle(64, says=completeness)]
    """Bit 0 complete, from bit 8 on the distance."""

    @property
    def complete(self) -> bool:
        """Whether the queryable answers for every key of its key expression."""
        return self.value & 1 != 0

    @property
    def distance(self) -> int:
        """The number of hops to the queryable."""
        return self.value >> 8 & 0xFFFF


class WireExprFlags(IntFlag):
    """The flags of the extension WireExpr."""

    SUFFIX = 0x01
    SENDERS_SCOPE = 0x02


@extension(0xF, "zbuf", mandatory=True, ref="declarations#wire-expr-extension", name="WireExpr")
class WireExprExt:
    """The key expression of the declaration that an UNDECLARE takes back."""

    flags: Annotated[int, Fixed(1, says=flags_note(WireExprFlags))]
    """Bit 0: a suffix follows; bit 1: `scope` was declared by the sender."""

    scope: Z16Cut
    """A declared id; 0 for none."""

    suffix: TextRest | None = when("flags & 1", default=None)
    """The rest of the extension."""


@message(0x00, "Z|X|N", layer=Layer.DECLARATION, ref="declarations#key-expr")
class DKeyExpr:
    """Assigns a number to a key expression."""

    expr_id: Z16Cut
    """The number."""

    key: Key
    """The key expression that the number means from now on."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x01, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#undeclare-key-expr")
class UKeyExpr:
    """Removes the number of a key expression."""

    expr_id: Z16Cut
    """The number."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x02, "Z|M|N", layer=Layer.DECLARATION, ref="declarations#subscriber")
class DSubscriber:
    """Declares a subscriber: publications on this key are to be sent to this node."""

    id: Z32Cut
    """Chosen by the sender."""

    key: Key
    """The key expression of the subscription."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x03, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#undeclare-subscriber")
class USubscriber:
    """Undeclares a subscriber."""

    id: Z32Cut
    """As declared."""

    exts: Exts[WireExprExt] = NO_EXTS


@message(0x04, "Z|M|N", layer=Layer.DECLARATION, ref="declarations#queryable")
class DQueryable:
    """Declares a queryable: queries for this key can be sent to this node."""

    id: Z32Cut
    """Chosen by the sender."""

    key: Key
    """The key expression that it answers queries for."""

    exts: Exts[QueryableInfo] = NO_EXTS


@message(0x05, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#undeclare-queryable")
class UQueryable:
    """Undeclares a queryable."""

    id: Z32Cut
    """As declared."""

    exts: Exts[WireExprExt] = NO_EXTS


@message(0x06, "Z|M|N", layer=Layer.DECLARATION, ref="declarations#token")
class DToken:
    """Declares a liveliness token on this key."""

    id: Z32Cut
    """Chosen by the sender."""

    key: Key
    """The key expression of the token."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x07, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#undeclare-token")
class UToken:
    """Undeclares a liveliness token."""

    id: Z32Cut
    """As declared."""

    exts: Exts[WireExprExt] = NO_EXTS


@message(0x1A, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#final")
class DFinal:
    """Ends the answer to an INTEREST: every current declaration has been sent."""

    exts: Exts[Unknown] = NO_EXTS
