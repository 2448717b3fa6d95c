"""What expression ids stand for on one session: each side has a mapping space of its own.

Pages: primitives#wire-expr, declarations#key-expr.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .conversation import SIDES, Side
from .messages import DKeyExpr, UKeyExpr
from .messages.declarations import WireExprExt, WireExprFlags
from .primitives import WireExpr
from .wire.extensions import Exts


@dataclass(slots=True)
class Names:
    """The ids that each side of a session has declared, and the whole keys that they stand for."""

    spaces: dict[Side, dict[int, str]] = field(default_factory=lambda: {side: {} for side in SIDES})

    def note(self, sender: Side, body: object) -> None:
        """Learn from a declaration; any other body changes nothing."""
        if isinstance(body, DKeyExpr):
            whole = self.whole(sender, body.key, mapping=True)
            if whole is not None and body.expr_id:
                self.spaces[sender][body.expr_id] = whole
        elif isinstance(body, UKeyExpr):
            self.spaces[sender].pop(body.expr_id, None)

    def whole(self, sender: Side, key: WireExpr, *, mapping: bool | None = None) -> str | None:
        """The key expression that a sender means; None where its scope is not declared. `mapping` stands for an M that there is not."""
        if not key.scope:
            return key.suffix or ""
        ours = key.mapping if mapping is None else mapping
        scope = self.spaces[sender if ours else sender.other].get(key.scope)
        return None if scope is None else scope + (key.suffix or "")


def plain(key: str) -> WireExpr:
    """A key expression by its whole name."""
    return WireExpr(scope=0, suffix=key, mapping=True)


def named(key: WireExpr | None) -> Exts[Any]:
    """The extension by which what takes a declaration back says its key; none for a key that is not known."""
    if key is None:
        return Exts()
    flags = WireExprFlags(0)
    flags |= WireExprFlags.SUFFIX if key.suffix is not None else 0
    flags |= WireExprFlags.SENDERS_SCOPE if key.mapping else 0
    return Exts((WireExprExt(flags=int(flags), scope=key.scope, suffix=key.suffix),))
