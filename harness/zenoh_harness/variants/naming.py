"""Nodes that say keys in other ways than the reference: by numbers of their own, or of the far side, whole or in parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from zenoh_conformance import keyexpr, sane
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
)
from zenoh_conformance.messages.declarations import WireExprExt, WireExprFlags
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.declaring import whole
from zenoh_harness.reference.link import Link

from . import variant
from .talking import DeclaresNames, EverythingInFragments

BY_NUMBER = "declarations: expression ids; push#wire-format: scope and suffix are put together as they stand"


def keyed(message: Any, said: Callable[[str], WireExpr]) -> Any:
    """The message, its key said in another way where it is said by its whole name."""
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
    """A key said in another way, unless it has a number already, or there is none."""
    return key if key.scope or not key.suffix else said(key.suffix)


def taken_back(ext: WireExprExt, said: Callable[[str], WireExpr]) -> WireExprExt:
    """The key of what is taken back, said in another way."""
    key = changed(WireExpr(scope=ext.scope, suffix=ext.suffix, mapping=True), said)
    flags = WireExprFlags.SUFFIX if key.suffix is not None else 0
    flags |= WireExprFlags.SENDERS_SCOPE if key.mapping else 0
    return WireExprExt(flags=int(flags), scope=key.scope, suffix=key.suffix)


class _Numbers(Reference):
    """Gives numbers to what it is about to say, in the lane in which it says that."""

    def tells(self, link: Link, body: DKeyExpr | UKeyExpr, message: Any, how: dict[str, Any]) -> None:
        """A number comes, or goes, before or behind a message; there it is not overtaken."""
        qos = message.exts.get(QoS)
        priority = sane.DEFAULT_PRIORITY if qos is None else qos.priority
        super().say(link, Declare(exts=Exts((QoS(value=sane.DECLARE_QOS | priority),)), body=body), **how)

    def named(self, to: Link, kind: str, key: str) -> WireExpr:
        return whole(key)


@variant("names-keys-by-parts", permitted=BY_NUMBER)
class NamesKeysByParts(_Numbers):
    """Gives a number to a part of each key, which may end within a chunk, and says the rest; it has at most twenty numbers."""

    MOST: ClassVar = 20

    def say(self, link: Link, message: Any, **how: Any) -> None:
        if link.inside is None:
            message = keyed(message, lambda key: self.by_part(link, key, message, how))
        super().say(link, message, **how)

    def by_part(self, link: Link, key: str, message: Any, how: dict[str, Any]) -> WireExpr:
        """The number of a part, and what remains."""
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
    """About two thirds of a key, also within a chunk, where that is a key expression; else all of it."""
    ends = range(len(key) * 2 // 3, 0, -1)
    return next((key[:end] for end in ends if keyexpr.is_canonical(key[:end])), key)


@variant("names-keys-for-one-use", permitted=BY_NUMBER)
class NamesKeysForOneUse(_Numbers):
    """Gives each key the same number, uses it once, and releases it."""

    def say(self, link: Link, message: Any, **how: Any) -> None:
        names: list[str] = []
        by_number = message if link.inside is not None else keyed(message, lambda key: first(names, key))
        for name in names:
            self.tells(link, DKeyExpr(expr_id=1, key=WireExpr(scope=0, suffix=name)), message, how)
        super().say(link, by_number, **how)
        if names:
            self.tells(link, UKeyExpr(expr_id=1), message, how)


def first(names: list[str], key: str) -> WireExpr:
    """The first number, and what it is to stand for."""
    names.append(key)
    return WireExpr(scope=1, mapping=True)


@variant("names-keys-by-their-numbers", permitted="push#wire-format: M clear: the scope is the receiver's")
class NamesKeysByTheirNumbers(Reference):
    """Names a key by a number that the far side has declared, with a suffix where that is but a part of it."""

    def say(self, link: Link, message: Any, **how: Any) -> None:
        if link.inside is None:
            message = keyed(message, lambda key: self.by_theirs(link, key))
        super().say(link, message, **how)

    def by_theirs(self, link: Link, key: str) -> WireExpr:
        """By the longest of theirs that it begins with."""
        fitting = [number for number, known in link.keys.items() if key.startswith(known)]
        if not fitting:
            return whole(key)
        number = max(fitting, key=lambda one: len(link.keys[one]))
        return WireExpr(scope=number, suffix=key[len(link.keys[number]) :] or None, mapping=False)


@variant("fragments-and-numbers", permitted=f"{BY_NUMBER}; no page forbids a fragment that would fit")
class FragmentsAndNumbers(EverythingInFragments, DeclaresNames):
    """Declares a number for each key that it publishes to, and says everything in fragments."""
