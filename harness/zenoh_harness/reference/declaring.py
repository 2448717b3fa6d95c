"""How the reference node stores and forwards declarations, and answers interests.

Pages: declarations#forwarding, interests#modes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from zenoh_conformance.messages import (
    Declare,
    DFinal,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    Interest,
    QueryableInfo,
    UKeyExpr,
    UQueryable,
    USubscriber,
    UToken,
    WireExprExt,
    WireExprFlags,
    sane,
)
from zenoh_conformance.primitives import WireExpr, keyexpr
from zenoh_conformance.wire import NO_EXTS, Exts

from .link import Entity, Link
from .speaking import Speaking

CURRENT, FUTURE = 1, 2
"""Bits of the interest mode (interests#modes)."""
KEYEXPRS, SUBSCRIBERS, QUERYABLES, TOKENS, RESTRICTED, AGGREGATE = 0x01, 0x02, 0x04, 0x08, 0x10, 0x80
"""Bits of the interest options (interests#options)."""

LONGEST_KEY = 0xFFFF
"""The most bytes of a suffix: the length of a key expression that can be sent (primitives#wire-expr)."""

KIND: dict[type[Any], str] = {
    DSubscriber: "subscriber", DQueryable: "queryable", DToken: "token",
    USubscriber: "subscriber", UQueryable: "queryable", UToken: "token",
}  # fmt: skip
DECLARE: dict[str, type[Any]] = {"subscriber": DSubscriber, "queryable": DQueryable, "token": DToken}
UNDECLARE: dict[str, type[Any]] = {"subscriber": USubscriber, "queryable": UQueryable, "token": UToken}
ASKED = {"subscriber": SUBSCRIBERS, "queryable": QUERYABLES, "token": TOKENS}
"""Kind of an entity to the interest option that selects it."""


class DeclarationHandling(Speaking):
    """Stores the declarations of each session, and forwards them to the sessions with a matching interest."""

    # -- keys

    def key_of(self, link: Link, key: WireExpr) -> str | None:
        """Return the full key expression; None if its scope is unknown or it is not a canonical key expression."""
        whole = self.spelt(link, key)
        return whole if whole is not None and keyexpr.is_canonical(whole) else None

    def spelt(self, link: Link, key: WireExpr) -> str | None:
        """Return scope and suffix concatenated; None for an unknown scope, and if no message has room for both.

        M set: the far side declared the scope.
        """
        if not key.scope:
            return key.suffix or ""
        scope = (link.keys if key.mapping else link.named).get(key.scope)
        spelt = None if scope is None else scope + (key.suffix or "")
        return None if spelt is None or len(spelt.encode()) > LONGEST_KEY else spelt

    # -- declarations

    def on_declare(self, link: Link, declare: Declare) -> None:
        """Handle a DECLARE: store or remove the entity, and forward this to the sessions with a matching interest."""
        body = declare.body
        if isinstance(body, DKeyExpr):
            self.on_alias(link, body)
        elif isinstance(body, UKeyExpr):
            self.on_alias_gone(link, body)
        elif isinstance(body, DSubscriber | DQueryable | DToken):
            self.on_entity(link, body)
        elif isinstance(body, USubscriber | UQueryable | UToken):
            self.on_entity_gone(link, KIND[type(body)], body.id)

    def on_alias(self, link: Link, body: DKeyExpr) -> None:
        """Store an expression id; ignore the declaration if the id is in use."""
        key = self.key_of(link, WireExpr(scope=body.key.scope, suffix=body.key.suffix, mapping=True))
        if key is not None and body.expr_id and body.expr_id not in link.keys:
            link.keys[body.expr_id] = key

    def on_alias_gone(self, link: Link, body: UKeyExpr) -> None:
        """Release an expression id."""
        link.keys.pop(body.expr_id, None)

    def on_entity(self, link: Link, body: Any) -> None:
        key = self.key_of(link, body.key)
        if key is None:
            return
        kind = KIND[type(body)]
        info = self.info_of(body)
        before = self.table(link, kind).get(body.id)
        self.table(link, kind)[body.id] = held = Entity(key, info & 1 == 1, info >> 8)
        if before is not None and before != held:
            self.tell_again(link, kind, body.id)
        for other in self.told_of(link, kind, key):
            self.tell(other, link, kind, body.id)
        self.refresh_aggregates(link)

    def info_of(self, body: Any) -> int:
        """Return the value of QueryableInfo; 0 if there is none."""
        return next((ext.value for ext in body.exts if isinstance(ext, QueryableInfo)), 0)

    def told_of(self, link: Link, kind: str, key: str) -> list[Link]:
        """Return the sessions to which a declaration is forwarded: those with a matching interest, and all routers."""
        return [other for other in self.others(link) if self.hears_unasked(other) or self.wants(other, kind, key)]

    def hears_unasked(self, link: Link) -> bool:
        """Return whether a session gets all declarations without an interest: the far side is a router."""
        return link.theirs is not None and link.theirs.whatami == sane.ROUTER

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        """Remove an entity, and undeclare it to the sessions to which it was forwarded."""
        held = self.table(link, kind).pop(entity, None)
        for other in self.others(link):
            text = other.announced.pop((kind, link.session, entity), None)
            if text is not None and held is not None:
                self.say(other, declare(self.undeclared(kind, text, held.key)))
        self.refresh_aggregates(link)

    def undeclared(self, kind: str, entity: int, key: str) -> Any:
        """Return the undeclaration, with its key as the specification requires (erratum undeclare-without-key)."""
        flags = WireExprFlags.SUFFIX | WireExprFlags.SENDERS_SCOPE
        return UNDECLARE[kind](id=entity, exts=Exts((WireExprExt(flags=int(flags), scope=0, suffix=key),)))

    def tell(
        self, to: Link, owner: Link, kind: str, entity: int, interest: int | None = None, *, once: bool = False
    ) -> None:
        """Forward one declaration to a session; without `interest` only if it was not forwarded before.

        `interest`: the id of the interest that it answers; `once`: the interest is not for the future, so that the
        declaration is not remembered and not undeclared later.
        """
        text = to.announced.get((kind, owner.session, entity))
        if text is not None and interest is None:
            return
        text = next(to.entity_ids) if text is None else text
        if not once:
            to.announced[kind, owner.session, entity] = text
        self.say(to, declare(self.told(to, owner, kind, entity, text), interest))

    def tell_again(self, owner: Link, kind: str, entity: int) -> None:
        """Forward an entity that was declared again with other values, under the ids that were used before."""
        for other in self.others(owner):
            text = other.announced.get((kind, owner.session, entity))
            if text is not None:
                self.say(other, declare(self.told(other, owner, kind, entity, text)))

    def told(self, to: Link, owner: Link, kind: str, entity: int, text: int) -> Any:
        """Return the declaration of an entity that is sent to `to`, with the id `text`."""
        held = self.table(owner, kind)[entity]
        info = self.told_info(held) if kind == "queryable" else NO_EXTS
        key = self.named(to, kind, held.key)
        return DECLARE[kind](id=text, key=key, **({"exts": info} if kind == "queryable" else {}))

    def told_info(self, held: Entity) -> Exts[QueryableInfo]:
        """Return QueryableInfo with completeness and distance as they are forwarded; no extension for the defaults."""
        if not held.complete and not held.distance:
            return NO_EXTS
        return Exts((QueryableInfo(value=int(held.complete) | held.distance << 8),))

    def named(self, to: Link, kind: str, key: str) -> WireExpr:
        """Return the wire form of a key: an expression id if an interest of the far side asks for ids, else the full key."""
        if not any(self.covers(to, one, kind, key) and (one.options or 0) & KEYEXPRS for one in to.interests.values()):
            return whole(key)
        number = next((n for n, known in to.named.items() if known == key), None)
        if number is None:
            number = next(to.expr_ids)
            to.named[number] = key
            self.say(to, declare(DKeyExpr(expr_id=number, key=WireExpr(scope=0, suffix=key))))
        return WireExpr(scope=number, mapping=True)

    def on_gone(self, link: Link) -> None:
        """Withdraw the declarations of a session that has ended."""
        for kind in DECLARE:
            for entity in list(self.table(link, kind)):
                self.on_entity_gone(link, kind, entity)

    def table(self, link: Link, kind: str) -> dict[int, Entity]:
        """Return the entities of one kind that a session declared, by id."""
        return {"subscriber": link.subscribers, "queryable": link.queryables, "token": link.tokens}[kind]

    # -- interests

    def on_interest(self, link: Link, interest: Interest) -> None:
        """Handle an INTEREST: Final removes one; Current is answered by declarations and D_FINAL; Future is stored."""
        if not interest.mode:
            link.interests.pop(interest.id, None)
            return
        interest = self.spelt_out(link, interest)
        if interest.mode & FUTURE:
            link.interests[interest.id] = interest
        if interest.mode & CURRENT:
            for owner, kind, entity in self.snapshot(link, interest):
                if not aggregates(interest, kind):
                    self.tell(link, owner, kind, entity, interest.id, once=not interest.mode & FUTURE)
            self.refresh_aggregate(link, interest, interest.id)
            self.end_snapshot(link, interest)

    def spelt_out(self, link: Link, interest: Interest) -> Interest:
        """Return the interest with its full key; a later release of the expression id does not affect the interest."""
        key = None if interest.key is None else self.spelt(link, interest.key)
        return interest if key is None else replace(interest, key=whole(key))

    def refresh_aggregates(self, link: Link) -> None:
        """Update the aggregated declarations of other sessions after a session declared or undeclared something."""
        for other in self.others(link):
            for interest in other.interests.values():
                self.refresh_aggregate(other, interest)

    def refresh_aggregate(self, link: Link, interest: Interest, answers: int | None = None) -> None:
        """Declare the key of an aggregating interest while any entity matches it, and undeclare it afterwards.

        `answers`: the id of the interest, if the declaration is part of its answer.
        """
        for kind in DECLARE:
            if not aggregates(interest, kind) or interest.key is None:
                continue
            text, key = link.announced.get((kind, "", interest.id)), self.key_of(link, interest.key)
            there = any(found == kind for _, found, _ in self.snapshot(link, interest))
            if there and text is None and key is not None:
                text = link.announced[kind, "", interest.id] = next(link.entity_ids)
                self.say(link, declare(DECLARE[kind](id=text, key=whole(key)), answers))
            elif text is not None and not there and key is not None:
                del link.announced[kind, "", interest.id]
                self.say(link, declare(self.undeclared(kind, text, key)))

    def snapshot(self, link: Link, interest: Interest) -> Iterator[tuple[Link, str, int]]:
        """Yield (session, kind, id) of each present entity that matches an interest."""
        for other in self.others(link):
            for kind in DECLARE:
                for entity, held in list(self.table(other, kind).items()):
                    if self.covers(link, interest, kind, held.key):
                        yield other, kind, entity

    def end_snapshot(self, link: Link, interest: Interest) -> None:
        """Send D_FINAL after the declarations that answer an interest."""
        self.say(link, declare(DFinal(), interest.id))

    def wants(self, link: Link, kind: str, key: str) -> bool:
        """Return whether an interest of a session matches declarations of this kind and key; aggregating ones excepted."""
        every = [one for one in link.interests.values() if not aggregates(one, kind)]
        return any(self.covers(link, interest, kind, key) for interest in every)

    def covers(self, link: Link, interest: Interest, kind: str, key: str) -> bool:
        """Return whether an interest matches declarations of this kind and key."""
        options = interest.options or 0
        if not options & ASKED[kind]:
            return False
        if not options & RESTRICTED or interest.key is None:
            return True
        wanted = self.key_of(link, interest.key)
        return wanted is not None and keyexpr.intersects(wanted, key)


def aggregates(interest: Interest, kind: str) -> bool:
    """Return whether an interest asks for one declaration for all entities that match; never for tokens."""
    options = interest.options or 0
    return kind != "token" and bool(options & AGGREGATE) and bool(options & RESTRICTED)


def declare(body: Any, interest: int | None = None) -> Declare:
    """Return a DECLARE with the QoS that the baseline uses."""
    return Declare(interest_id=interest, exts=Exts((sane.qos(sane.DECLARE_QOS),)), body=body)


def whole(key: str) -> WireExpr:
    """Return a key expression without expression id."""
    return WireExpr(scope=0, suffix=key, mapping=True)
