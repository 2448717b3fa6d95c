"""DECLARE: carries one declaration or one undeclaration."""

from __future__ import annotations

from zenoh_conformance.wire import NO_EXTS, Exts, Layer, Z32Cut, given, message

from .declarations import DFinal, DKeyExpr, DQueryable, DSubscriber, DToken, UKeyExpr, UQueryable, USubscriber, UToken
from .network import NodeId, QoS, TimestampExt


@message(0x1E, "Z|X|I", layer=Layer.NETWORK, ref="message-reference#declare")
class Declare:
    """Carries exactly one declaration.

     7 6 5 4 3 2 1 0
    |Z|X|I|  0x1e   |
    """

    interest_id: Z32Cut | None = given("I", default=None)
    """The INTEREST that this answers."""

    exts: Exts[QoS | TimestampExt | NodeId] = NO_EXTS

    body: DKeyExpr | UKeyExpr | DSubscriber | USubscriber | DQueryable | UQueryable | DToken | UToken | DFinal
    """The declaration."""
