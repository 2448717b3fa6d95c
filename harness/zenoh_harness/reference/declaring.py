"""What the reference knows of declarations and interests, and whom it tells (declarations#forwarding, interests#modes)."""

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
    UKeyExpr,
    UQueryable,
    USubscriber,
    UToken,
    sane,
)
from zenoh_conformance.messages.declarations import QueryableInfo, WireExprExt, WireExprFlags
from zenoh_conformance.primitives import WireExpr, keyexpr
from zenoh_conformance.wire.extensions import NO_EXTS, Exts

from .link import Entity, Link
from .speaking import Speaking

CURRENT, FUTURE = 1, 2
"""Bits of the interest mode (interests#modes)."""
KEYEXPRS, SUBSCRIBERS, QUERYABLES, TOKENS, RESTRICTED, AGGREGATE = 0x01, 0x02, 0x04, 0x08, 0x10, 0x80
"""Bits of the interest options (interests#options)."""

KIND: dict[type[Any], str] = {
    DSubscriber: "subscriber", DQueryable: "queryable", DToken: "token",
    USubscriber: "subscriber", UQueryable: "queryable", UToken: "token",
}  # fmt: skip
DECLARE: dict[str, type[Any]] = {"subscriber": DSubscriber, "queryable": DQueryable, "token": DToken}
UNDECLARE: dict[str, type[Any]] = {"subscriber": USubscriber, "queryable": UQueryable, "token": UToken}
ASKED = {"subscriber": SUBSCRIBERS, "queryable": QUERYABLES, "token": TOKENS}
"""Kind to the option that asks for it."""


class Declaring(Speaking):
    """Declarations in, and to those who asked to be told of them."""

    # -- keys

    def key_of(self, link: Link, key: WireExpr) -> str | None:
        """The whole key expression, or None when its scope is unknown or it is no key expression."""
        whole = self.spelt(link, key)
        return whole if whole is not None and keyexpr.is_canonical(whole) else None

    def spelt(self, link: Link, key: WireExpr) -> str | None:
        """Scope and suffix put together; M tells whose scope it is."""
        if not key.scope:
            return key.suffix or ""
        scope = (link.keys if key.mapping else link.named).get(key.scope)
        return None if scope is None else scope + (key.suffix or "")

    # -- declarations

    def on_declare(self, link: Link, declare: Declare) -> None:
        """Keep what is declared, forget what is undeclared, and tell those who asked to be told."""
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
        """An expression id; one that is taken is not given again before it is released."""
        key = self.key_of(link, WireExpr(scope=body.key.scope, suffix=body.key.suffix, mapping=True))
        if key is not None and body.expr_id and body.expr_id not in link.keys:
            link.keys[body.expr_id] = key

    def on_alias_gone(self, link: Link, body: UKeyExpr) -> None:
        """The id may be given again."""
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
        """QueryableInfo; 0 where there is none."""
        return next((ext.value for ext in body.exts if isinstance(ext, QueryableInfo)), 0)

    def told_of(self, link: Link, kind: str, key: str) -> list[Link]:
        """The sessions that are to hear of what this one declares: all that asked, and every router."""
        return [other for other in self.others(link) if self.hears_unasked(other) or self.wants(other, kind, key)]

    def hears_unasked(self, link: Link) -> bool:
        """A router is told everything; so is, by a client, whom it is connected to."""
        return link.theirs is not None and link.theirs.whatami == sane.ROUTER

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        """Undeclared: those who were told are told again."""
        held = self.table(link, kind).pop(entity, None)
        for other in self.others(link):
            text = other.announced.pop((kind, link.session, entity), None)
            if text is not None and held is not None:
                self.say(other, declare(self.undeclared(kind, text, held.key)))
        self.refresh_aggregates(link)

    def undeclared(self, kind: str, entity: int, key: str) -> Any:
        """What takes a declaration back: with its key, as the text has it (erratum undeclare-without-key)."""
        flags = WireExprFlags.SUFFIX | WireExprFlags.SENDERS_SCOPE
        return UNDECLARE[kind](id=entity, exts=Exts((WireExprExt(flags=int(flags), scope=0, suffix=key),)))

    def tell(
        self, to: Link, owner: Link, kind: str, entity: int, interest: int | None = None, *, once: bool = False
    ) -> None:
        """Forward one declaration: of its own accord no session hears of one twice, each snapshot has them all.

        `once`: it is an answer for the moment, and not to be taken back later.
        """
        text = to.announced.get((kind, owner.session, entity))
        if text is not None and interest is None:
            return
        text = next(to.entity_ids) if text is None else text
        if not once:
            to.announced[kind, owner.session, entity] = text
        self.say(to, declare(self.told(to, owner, kind, entity, text), interest))

    def tell_again(self, owner: Link, kind: str, entity: int) -> None:
        """What was declared again otherwise is told again, under its id, to those who were told of it."""
        for other in self.others(owner):
            text = other.announced.get((kind, owner.session, entity))
            if text is not None:
                self.say(other, declare(self.told(other, owner, kind, entity, text)))

    def told(self, to: Link, owner: Link, kind: str, entity: int, text: int) -> Any:
        """The declaration of an entity as `to` is told of it, under the id `text`."""
        held = self.table(owner, kind)[entity]
        info = self.told_info(held) if kind == "queryable" else NO_EXTS
        key = self.named(to, kind, held.key)
        return DECLARE[kind](id=text, key=key, **({"exts": info} if kind == "queryable" else {}))

    def told_info(self, held: Entity) -> Exts[QueryableInfo]:
        """Completeness and distance, as they are passed on."""
        if not held.complete and not held.distance:
            return NO_EXTS
        return Exts((QueryableInfo(value=int(held.complete) | held.distance << 8),))

    def named(self, to: Link, kind: str, key: str) -> WireExpr:
        """A key as it is told: by a number of ours where the far side wants numbers, else by its whole name."""
        if not any(self.covers(to, one, kind, key) and (one.options or 0) & KEYEXPRS for one in to.interests.values()):
            return whole(key)
        number = next((n for n, known in to.named.items() if known == key), None)
        if number is None:
            number = next(to.expr_ids)
            to.named[number] = key
            self.say(to, declare(DKeyExpr(expr_id=number, key=WireExpr(scope=0, suffix=key))))
        return WireExpr(scope=number, mapping=True)

    def on_gone(self, link: Link) -> None:
        """A session ended: its declarations are withdrawn."""
        for kind in DECLARE:
            for entity in list(self.table(link, kind)):
                self.on_entity_gone(link, kind, entity)

    def table(self, link: Link, kind: str) -> dict[int, Entity]:
        """What a session declared of one kind, by id."""
        return {"subscriber": link.subscribers, "queryable": link.queryables, "token": link.tokens}[kind]

    # -- interests

    def on_interest(self, link: Link, interest: Interest) -> None:
        """Final ends one; current is answered by a snapshot and D_FINAL; future is remembered."""
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
        """With the whole name of its key, as that is now: what becomes of a number later is nothing to it."""
        key = None if interest.key is None else self.spelt(link, interest.key)
        return interest if key is None else replace(interest, key=whole(key))

    def refresh_aggregates(self, link: Link) -> None:
        """What a session declared or took back may change what others are told in one."""
        for other in self.others(link):
            for interest in other.interests.values():
                self.refresh_aggregate(other, interest)

    def refresh_aggregate(self, link: Link, interest: Interest, answers: int | None = None) -> None:
        """One declaration of the interest's key, while anything is there that meets it."""
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
        """What there is now of what is asked for."""
        for other in self.others(link):
            for kind in DECLARE:
                for entity, held in list(self.table(other, kind).items()):
                    if self.covers(link, interest, kind, held.key):
                        yield other, kind, entity

    def end_snapshot(self, link: Link, interest: Interest) -> None:
        """That was all."""
        self.say(link, declare(DFinal(), interest.id))

    def wants(self, link: Link, kind: str, key: str) -> bool:
        """Whether a session asked to be told of such declarations."""
        every = [one for one in link.interests.values() if not aggregates(one, kind)]
        return any(self.covers(link, interest, kind, key) for interest in every)

    def covers(self, link: Link, interest: Interest, kind: str, key: str) -> bool:
        """Whether an interest is in such a declaration."""
        options = interest.options or 0
        if not options & ASKED[kind]:
            return False
        if not options & RESTRICTED or interest.key is None:
            return True
        wanted = self.key_of(link, interest.key)
        return wanted is not None and keyexpr.intersects(wanted, key)


def aggregates(interest: Interest, kind: str) -> bool:
    """Whether an interest wants one declaration for all that meets its key; tokens are told one by one."""
    options = interest.options or 0
    return kind != "token" and bool(options & AGGREGATE) and bool(options & RESTRICTED)


def declare(body: Any, interest: int | None = None) -> Declare:
    """A DECLARE as the baseline sends it."""
    return Declare(interest_id=interest, exts=Exts((sane.qos(sane.DECLARE_QOS),)), body=body)


def whole(key: str) -> WireExpr:
    """A key by its whole name."""
    return WireExpr(scope=0, suffix=key, mapping=True)
