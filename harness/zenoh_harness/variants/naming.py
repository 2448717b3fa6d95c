"""Nodes that encode key expressions in other ways than the reference node: with own or the far side's expression ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from zenoh_conformance.messages import (
    Declare,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    Push,
    Request,
    Response,
    UKeyExpr,
    UQueryable,
    USubscriber,
    UToken,
    WireExprExt,
    WireExprFlags,
    sane,
)
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import WireExpr, keyexpr
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import Base, Link, Reference, whole

from . import row, variant
from .talking import EVERYTHING_IN_FRAGMENTS, declares_names

BY_NUMBER = "declarations: expression ids; push#wire-format: scope and suffix are concatenated as they are"


def keyed(message: Any, said: Callable[[str], WireExpr]) -> Any:
    """Return the message with its key encoded by `said`, if the key has no expression id yet."""
    body = getattr(message, "body", None)
    if isinstance(message, Push | Request | Response):
        return replace(message, key=changed(message.key, said))
    if isinstance(body, DSubscriber | DQueryable | DToken):
        return replace(message, body=replace(body, key=changed(body.key, said)))
    if isinstance(body, USubscriber | UQueryable | UToken):
        exts = [taken_back(ext, said) if isinstance(ext, WireExprExt) else ext for ext in body.exts]
        return replace(message, body=replace(body, exts=Exts(exts)))
    return message


def changed(key: WireExpr, said: Callable[[str], WireExpr]) -> WireExpr:
    """Return a key encoded by `said`; one with an expression id, or an empty one, stays as it is."""
    return key if key.scope or not key.suffix else said(key.suffix)


def taken_back(ext: WireExprExt, said: Callable[[str], WireExpr]) -> WireExprExt:
    """Return the key extension of an undeclaration, encoded by `said`."""
    key = changed(WireExpr(scope=ext.scope, suffix=ext.suffix, mapping=True), said)
    flags = WireExprFlags.SUFFIX if key.suffix is not None else 0
    flags |= WireExprFlags.SENDERS_SCOPE if key.mapping else 0
    return WireExprExt(flags=int(flags), scope=key.scope, suffix=key.suffix)


class _Numbers(Reference):
    """Declares an expression id before each message that uses it, on the lane of this message."""

    def tells(self, link: Link, body: DKeyExpr | UKeyExpr, message: Any, how: dict[str, Any]) -> None:
        """Declare or undeclare an expression id with the priority of a message, so that neither overtakes the other."""
        qos = message.exts.get(QoS)
        priority = sane.DEFAULT_PRIORITY if qos is None else qos.priority
        super().say(link, Declare(exts=Exts((QoS(value=sane.DECLARE_QOS | priority),)), body=body), **how)

    def named(self, to: Link, kind: str, key: str) -> WireExpr:
        return whole(key)


@variant(permitted=BY_NUMBER)
class NamesKeysByParts(_Numbers):
    """Declares an expression id for a prefix of each key, which may end within a chunk; it has at most twenty ids."""

    MOST: ClassVar = 20

    def say(self, link: Link, message: Any, **how: Any) -> None:
        if link.inside is None:
            message = keyed(message, lambda key: self.by_part(link, key, message, how))
        super().say(link, message, **how)

    def by_part(self, link: Link, key: str, message: Any, how: dict[str, Any]) -> WireExpr:
        """Return the expression id of a key's prefix, with the rest of the key as suffix."""
        part = part_of(key)
        number = next((number for number, known in link.named.items() if known == part), None)
        if number is None:
            if len(link.named) >= self.MOST:
                oldest = next(iter(link.named))
                del link.named[oldest]
                self.tells(link, UKeyExpr(expr_id=oldest), message, how)
            number = next(link.expr_ids)
            link.named[number] = part
            self.tells(link, DKeyExpr(expr_id=number, key=WireExpr(scope=0, suffix=part)), message, how)
        return WireExpr(scope=number, suffix=key[len(part) :] or None, mapping=True)


def part_of(key: str) -> str:
    """Return a prefix of at most two thirds of a key, if one is a key expression; else the whole key."""
    ends = range(len(key) * 2 // 3, 0, -1)
    return next((key[:end] for end in ends if keyexpr.is_canonical(key[:end])), key)


@variant("say", permitted=BY_NUMBER, of=_Numbers)
def names_keys_for_one_use(node: _Numbers, base: Base[None], link: Link, message: Any, **how: Any) -> None:
    """Declares the same expression id for each key, uses it once, and releases it."""
    names: list[str] = []
    by_number = message if link.inside is not None else keyed(message, lambda key: first(names, key))
    for name in names:
        node.tells(link, DKeyExpr(expr_id=1, key=WireExpr(scope=0, suffix=name)), message, how)
    base(link, by_number, **how)
    if names:
        node.tells(link, UKeyExpr(expr_id=1), message, how)


def first(names: list[str], key: str) -> WireExpr:
    """Return expression id 1, and add the key to those for which the id must be declared."""
    names.append(key)
    return WireExpr(scope=1, mapping=True)


row(
    "names-keys-by-their-numbers",
    "Encodes a key with an expression id that the far side has declared, and the rest of the key as suffix.",
    permitted="push#wire-format: M clear: the scope is the receiver's",
    say=lambda base, link, message: (
        base() if link.inside is not None else base(message=keyed(message, lambda key: by_theirs(link, key)))
    ),
)


def by_theirs(link: Link, key: str) -> WireExpr:
    """Return the far side's expression id of the longest prefix of the key, with the rest of the key as suffix."""
    fitting = [number for number, known in link.keys.items() if key.startswith(known)]
    if not fitting:
        return whole(key)
    number = max(fitting, key=lambda number: len(link.keys[number]))
    return WireExpr(scope=number, suffix=key[len(link.keys[number]) :] or None, mapping=False)


row(
    "fragments-and-numbers",
    "Declares an expression id for each key that it publishes to, and sends everything in fragments.",
    permitted=f"{BY_NUMBER}; no page forbids a fragment that would fit",
    of=EVERYTHING_IN_FRAGMENTS,
    say=declares_names,
)
