"""The key expressions behind expression ids on one session; each side has its own ids.

Pages: primitives#wire-expr, declarations#key-expr.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from string import hexdigits
from typing import Any, Final

from zenoh_conformance.messages import DKeyExpr, UKeyExpr, WireExprExt, WireExprFlags
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.wire import Exts

from .conversation import SIDES, Side


@dataclass(slots=True)
class Names:
    """The ids that each side of a session has declared, with their key expressions."""

    spaces: dict[Side, dict[int, str]] = field(default_factory=lambda: {side: {} for side in SIDES})

    def note(self, sender: Side, body: object) -> None:
        """Add or remove the id of a declaration; ignore any other body."""
        if isinstance(body, DKeyExpr):
            whole = self.whole(sender, body.key, mapping=True)
            if whole is not None and body.expr_id:
                self.spaces[sender][body.expr_id] = whole
        elif isinstance(body, UKeyExpr):
            self.spaces[sender].pop(body.expr_id, None)

    def whole(self, sender: Side, key: WireExpr, *, mapping: bool | None = None) -> str | None:
        """The whole key expression; None for an undeclared scope. `mapping` replaces M in a body that has no M."""
        if not key.scope:
            return key.suffix or ""
        ours = key.mapping if mapping is None else mapping
        scope = self.spaces[sender if ours else sender.other].get(key.scope)
        return None if scope is None else scope + (key.suffix or "")


SCENE_ZID: Final = 8
"""Bytes of a ZenohID of a scene."""
ROOT: Final = "zconform"
"""The first chunk of the keys that we use."""


def root_of_scene(zid: bytes) -> str:
    """The root of the keys of a scene, which nobody else uses: it names the first ZenohID of ours."""
    return f"{ROOT}/{zid.hex()}"


def is_of_a_scene(key: str) -> bool:
    """Whether a key is below the root of a scene, or of a script that was recorded of one, or a fence in one."""
    first, _, rest = key.partition("/")
    zid = rest.removeprefix("fence/").partition("/")[0]
    return first == ROOT and len(zid) == 2 * SCENE_ZID and not set(zid) - set(hexdigits)


def plain(key: str) -> WireExpr:
    """A WireExpr that holds the whole key expression."""
    return WireExpr(scope=0, suffix=key, mapping=True)


def undeclared_key(key: WireExpr | None) -> Exts[Any]:
    """The extension that gives the key of an undeclaration; no extension for None."""
    if key is None:
        return Exts()
    flags = WireExprFlags(0)
    flags |= WireExprFlags.SUFFIX if key.suffix is not None else 0
    flags |= WireExprFlags.SENDERS_SCOPE if key.mapping else 0
    return Exts((WireExprExt(flags=int(flags), scope=key.scope, suffix=key.suffix),))
