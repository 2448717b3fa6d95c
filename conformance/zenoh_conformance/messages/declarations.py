"""The nine bodies of DECLARE."""

from __future__ import annotations

from enum import IntFlag
from typing import Annotated

from zenoh_conformance.primitives.wire_expr import Key
from zenoh_conformance.wire.declare import NO_EXTS, Exts, extension, message, when
from zenoh_conformance.wire.extensions import Unknown
from zenoh_conformance.wire.layer import Layer
from zenoh_conformance.wire.notes import completeness, flagged
from zenoh_conformance.wire.types import Fixed, TextRest, Vle, Z16Cut, Z32Cut


@extension(0x1, "z64", ref="declarations#queryable")
class QueryableInfo:
    """How good a queryable is; all zero when absent."""

    value: Annotated[int, Vle(64, says=completeness)]
    """Bit 0 complete, from bit 8 on the distance."""

    @property
    def complete(self) -> bool:
        """It serves all of its key expression."""
        return self.value & 1 != 0

    @property
    def distance(self) -> int:
        """How many hops away it is."""
        return self.value >> 8 & 0xFFFF


class WireExprFlags(IntFlag):
    """What the extension WireExpr holds."""

    SUFFIX = 0x01
    SENDERS_SCOPE = 0x02


@extension(0xF, "zbuf", mandatory=True, ref="declarations#wire-expr-extension", name="WireExpr")
class WireExprExt:
    """The key expression of what is undeclared."""

    flags: Annotated[int, Fixed(1, says=flagged(WireExprFlags))]
    """Bit 0: a suffix follows; bit 1: `scope` was declared by the sender."""

    scope: Z16Cut
    """A declared id; 0 for none."""

    suffix: TextRest | None = when("flags & 1", default=None)
    """The rest of the extension."""


@message(0x00, "Z|X|N", layer=Layer.DECLARATION, ref="declarations#key-expr")
class DKeyExpr:
    """Gives a key expression a number."""

    expr_id: Z16Cut
    """The number."""

    key: Key
    """What it stands for from now on."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x01, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#undeclare-key-expr")
class UKeyExpr:
    """Takes the number back."""

    expr_id: Z16Cut
    """The number."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x02, "Z|M|N", layer=Layer.DECLARATION, ref="declarations#subscriber")
class DSubscriber:
    """Whoever publishes to this key is to send it here."""

    id: Z32Cut
    """Chosen by the sender."""

    key: Key
    """What is subscribed to."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x03, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#undeclare-subscriber")
class USubscriber:
    """The subscriber is gone."""

    id: Z32Cut
    """As declared."""

    exts: Exts[WireExprExt] = NO_EXTS


@message(0x04, "Z|M|N", layer=Layer.DECLARATION, ref="declarations#queryable")
class DQueryable:
    """Whoever asks for this key can ask here."""

    id: Z32Cut
    """Chosen by the sender."""

    key: Key
    """What is served."""

    exts: Exts[QueryableInfo] = NO_EXTS


@message(0x05, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#undeclare-queryable")
class UQueryable:
    """The queryable is gone."""

    id: Z32Cut
    """As declared."""

    exts: Exts[WireExprExt] = NO_EXTS


@message(0x06, "Z|M|N", layer=Layer.DECLARATION, ref="declarations#token")
class DToken:
    """Somebody is alive under this key."""

    id: Z32Cut
    """Chosen by the sender."""

    key: Key
    """Where it is alive."""

    exts: Exts[Unknown] = NO_EXTS


@message(0x07, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#undeclare-token")
class UToken:
    """Nobody is alive there any more."""

    id: Z32Cut
    """As declared."""

    exts: Exts[WireExprExt] = NO_EXTS


@message(0x1A, "Z|X|X", layer=Layer.DECLARATION, ref="declarations#final")
class DFinal:
    """All that an INTEREST asked for has been told."""

    exts: Exts[Unknown] = NO_EXTS
