"""What the reference routes: declarations, interests, publications, queries, between the sessions that it holds.

Pages: push#routing, query#request-response-flow, reply#response-final; companions declarations, interests, fragmentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zenoh_conformance import keyexpr, sane
from zenoh_conformance.codec import Layer, decode, encode
from zenoh_conformance.messages import (
    Declare,
    DFinal,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    Fragment,
    Frame,
    Interest,
    Push,
    Request,
    Response,
    ResponseFinal,
    UKeyExpr,
    UQueryable,
    USubscriber,
    UToken,
)
from zenoh_conformance.messages.declarations import QueryableInfo
from zenoh_conformance.messages.request import QueryTarget
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.wire.errors import DecodeError
from zenoh_conformance.wire.extensions import NO_EXTS, Exts

from .link import Link, Pending, Queryable

if TYPE_CHECKING:
    from .config import Action, Config

BEST_MATCHING, ALL, ALL_COMPLETE = 0, 1, 2
"""QueryTarget (query#querytarget-extension)."""
CURRENT, FUTURE = 1, 2
"""Bits of the interest mode (interests#modes)."""
KEYEXPRS, SUBSCRIBERS, QUERYABLES, TOKENS, RESTRICTED = 0x01, 0x02, 0x04, 0x08, 0x10
"""Bits of the interest options (interests#options)."""


class Router:
    """The part of a node that stands above its sessions; the node gives it `send_batch` and the links."""

    config: Config
    actions: list[Action]
    now: float

    def __init__(self) -> None:
        self.links: dict[str, Link] = {}

    # -- in

    def route_bytes(self, link: Link, data: bytes) -> None:
        """A message put together from fragments; one that is none is dropped (companion fragmentation)."""
        try:
            message = decode(data, Layer.NETWORK).message
        except DecodeError:
            return
        self.route(link, message)

    def route(self, link: Link, message: Any) -> None:
        """One network message of a session."""
        if isinstance(message, Push):
            self.on_push(link, message)
        elif isinstance(message, Declare):
            self.on_declare(link, message)
        elif isinstance(message, Interest):
            self.on_interest(link, message)
        elif isinstance(message, Request):
            self.on_request(link, message)
        elif isinstance(message, Response):
            self.on_response(link, message)
        elif isinstance(message, ResponseFinal):
            self.on_final(link, message.id)

    def on_live(self, link: Link) -> None:
        """A session began: what it has to be told unasked (nothing toward a client)."""

    # -- keys

    def key_of(self, link: Link, key: WireExpr) -> str | None:
        """The whole key expression, or None when its scope is unknown or it is no key expression."""
        if key.scope and not key.mapping:
            return None
        scope = link.keys.get(key.scope, "") if key.scope else ""
        whole = scope + (key.suffix or "")
        return whole if (scope or not key.scope) and keyexpr.is_canonical(whole) else None

    # -- declarations

    def on_declare(self, link: Link, declare: Declare) -> None:
        """Keep what is declared, forget what is undeclared, and tell those who asked to be told."""
        body = declare.body
        if isinstance(body, DKeyExpr):
            self.on_alias(link, body)
        elif isinstance(body, UKeyExpr):
            link.keys.pop(body.expr_id, None)
        elif isinstance(body, DSubscriber | DQueryable | DToken):
            self.on_entity(link, body)
        elif isinstance(body, USubscriber | UQueryable | UToken):
            self.on_entity_gone(link, KIND[type(body)], body.id)

    def on_alias(self, link: Link, body: DKeyExpr) -> None:
        """An expression id; one that is taken is not given again before it is released."""
        key = self.key_of(link, replace(body.key, mapping=True))
        if key is not None and body.expr_id and body.expr_id not in link.keys:
            link.keys[body.expr_id] = key

    def on_entity(self, link: Link, body: Any) -> None:
        key = self.key_of(link, body.key)
        if key is None:
            return
        kind = KIND[type(body)]
        if kind == "queryable":
            info = next((ext for ext in body.exts if isinstance(ext, QueryableInfo)), QueryableInfo(value=0))
            link.queryables[body.id] = Queryable(key, bool(info.value & 1), info.value >> 8)
        else:
            self.table(link, kind)[body.id] = key
        for other in self.others(link):
            if self.wants(other, kind, key):
                self.tell(other, link, kind, body.id)

    def on_entity_gone(self, link: Link, kind: str, entity: int) -> None:
        """Undeclared: those who were told are told again."""
        self.table(link, kind).pop(entity, None)
        for other in self.others(link):
            announced = other.announced.pop((kind, link.session, entity), None)
            if announced is not None:
                self.say(other, declare(UNDECLARE[kind](id=announced)))

    def tell(self, to: Link, owner: Link, kind: str, entity: int, interest: int | None = None) -> None:
        """Forward one declaration, never the same one twice to one session."""
        if (kind, owner.session, entity) in to.announced:
            return
        announced = to.announced[kind, owner.session, entity] = next(to.entity_ids)
        held = self.table(owner, kind)[entity]
        key = WireExpr(scope=0, suffix=held.key if isinstance(held, Queryable) else held, mapping=True)
        info: Exts[QueryableInfo] = NO_EXTS
        if isinstance(held, Queryable) and (held.complete or held.distance):
            info = Exts((QueryableInfo(value=int(held.complete) | held.distance << 8),))
        body = DECLARE[kind](id=announced, key=key, **({"exts": info} if kind == "queryable" else {}))
        self.say(to, declare(body, interest))

    def on_gone(self, link: Link) -> None:
        """A session ended: its declarations are withdrawn, its queries are answered final."""
        for kind in DECLARE:
            for entity in list(self.table(link, kind)):
                self.on_entity_gone(link, kind, entity)
        for pending in {id(p): p for p in link.requests.values()}.values():
            self.settle_final(pending, link.session)

    def table(self, link: Link, kind: str) -> dict[int, Any]:
        """What a session declared of one kind, by id."""
        tables: dict[str, dict[int, Any]] = {
            "subscriber": link.subscribers, "queryable": link.queryables, "token": link.tokens,
        }  # fmt: skip
        return tables[kind]

    def others(self, link: Link) -> Iterator[Link]:
        """Every live session but this one: one link of each."""
        sessions = {other.session: other for other in reversed(self.links.values()) if other.live}
        return (other for name, other in reversed(sessions.items()) if name != link.session)

    def link_of(self, session: str) -> Link | None:
        """A live link of a session, the first one while it is there; None when the session is over."""
        return next((link for link in self.links.values() if link.live and link.session == session), None)

    # -- interests

    def on_interest(self, link: Link, interest: Interest) -> None:
        """Final ends one; current is answered by a snapshot and D_FINAL; future is remembered."""
        if not interest.mode:
            link.interests.pop(interest.id, None)
            return
        if interest.mode & FUTURE:
            link.interests[interest.id] = interest
        if interest.mode & CURRENT:
            for other in self.others(link):
                for kind in DECLARE:
                    for entity, held in list(self.table(other, kind).items()):
                        key = held.key if isinstance(held, Queryable) else held
                        if self.covers(link, interest, kind, key):
                            self.tell(link, other, kind, entity, interest.id)
            self.say(link, declare(DFinal(), interest.id))

    def wants(self, link: Link, kind: str, key: str) -> bool:
        """Whether a session asked to be told of such declarations."""
        return any(self.covers(link, interest, kind, key) for interest in link.interests.values())

    def covers(self, link: Link, interest: Interest, kind: str, key: str) -> bool:
        options = interest.options or 0
        if not options & {"subscriber": SUBSCRIBERS, "queryable": QUERYABLES, "token": TOKENS}[kind]:
            return False
        if not options & RESTRICTED or interest.key is None:
            return True
        wanted = self.key_of(link, replace(interest.key, mapping=True))
        return wanted is not None and keyexpr.intersects(wanted, key)

    def earlier_link(self, link: Link) -> Link | None:
        """A live link of the same node."""
        return next((other for other in self.links.values() if other.live and other.zid == link.zid), None)

    # -- publications

    def on_push(self, link: Link, push: Push) -> None:
        """To every other session with a subscriber whose key intersects, once each."""
        key = self.key_of(link, push.key)
        if key is None:
            return
        for other in self.others(link):
            if any(keyexpr.intersects(key, theirs) for theirs in other.subscribers.values()):
                self.say(other, replace(push, key=whole(key), exts=self.forwarded(push)), priority=priority_of(push))

    def forwarded(self, message: Any) -> Exts[Any]:
        """The extensions that go on: all but the hop's own node id."""
        return Exts(ext for ext in message.exts if type(ext).__name__ != "NodeId")

    # -- queries

    def on_request(self, link: Link, request: Request) -> None:
        """To the queryables that its target names; final at once when there is none."""
        key = self.key_of(link, request.key)
        targets = self.targets(link, request, key) if key is not None else []
        values = {type(ext).__name__: getattr(ext, "value", None) for ext in request.exts}
        timeout = values.get("Timeout")
        pending = Pending(
            link.session,
            request.id,
            deadline=None if timeout is None else self.now + timeout / 1000,
            budget=values.get("Budget") or None,
        )
        for other in targets:
            pending.owing[other.session] = number = next(other.request_ids)
            other.requests[number] = pending
        for other in targets:
            forwarded = replace(
                request, id=pending.owing[other.session], key=whole(key or ""), exts=self.forwarded(request)
            )
            self.say(other, forwarded, priority=priority_of(request))
        if not targets:
            self.finish(pending)

    def targets(self, link: Link, request: Request, key: str | None) -> list[Link]:
        """The sessions that a query goes to."""
        assert key is not None
        matching = {
            other.session: [q for q in other.queryables.values() if keyexpr.intersects(key, q.key)]
            for other in self.others(link)
        }
        complete = {
            name: [q for q in queryables if q.complete and keyexpr.includes(q.key, key)]
            for name, queryables in matching.items()
        }
        target = next((ext.value for ext in request.exts if isinstance(ext, QueryTarget)), BEST_MATCHING)
        wanted = complete if target == ALL_COMPLETE else matching
        names = [name for name, queryables in wanted.items() if queryables]
        best = [name for name, queryables in complete.items() if queryables]
        if target == BEST_MATCHING and best:
            names = sorted(best, key=lambda name: min(q.distance for q in complete[name]))[:1]
        return [other for other in map(self.link_of, names) if other is not None]

    def on_response(self, link: Link, response: Response) -> None:
        """Back to who asked, under the id that it asked with."""
        pending = link.requests.get(response.id)
        asker = self.link_of(pending.asker) if pending is not None else None
        if pending is None or asker is None:
            return
        key = self.key_of(link, response.key)
        if key is None or pending.budget == 0:
            return
        if pending.budget is not None:
            pending.budget -= 1
        self.say(asker, replace(response, id=pending.request_id, key=whole(key), exts=self.forwarded(response)))
        if pending.budget == 0:
            self.abandon(pending)

    def on_final(self, link: Link, request_id: int) -> None:
        """One source is done."""
        pending = link.requests.pop(request_id, None)
        if pending is not None:
            self.settle_final(pending, link.session)

    def settle_final(self, pending: Pending, source: str) -> None:
        """When all sources are done, exactly one final goes back."""
        if pending.owing.pop(source, None) is not None and not pending.owing:
            self.finish(pending)

    def finish(self, pending: Pending) -> None:
        asker = self.link_of(pending.asker)
        if asker is not None:
            self.say(asker, ResponseFinal(id=pending.request_id))

    def abandon(self, pending: Pending) -> None:
        """Wait for no more: what comes later is nobody's."""
        for name, request_id in pending.owing.items():
            other = self.link_of(name)
            if other is not None:
                other.requests.pop(request_id, None)
        pending.owing.clear()
        self.finish(pending)

    def expire_queries(self) -> None:
        """Queries whose timeout ran out are final."""
        pending = {id(p): p for link in self.links.values() for p in link.requests.values()}
        for query in pending.values():
            if query.deadline is not None and self.now >= query.deadline:
                self.abandon(query)

    # -- out

    def say(self, link: Link, message: Any, *, reliable: bool = True, priority: int = sane.DEFAULT_PRIORITY) -> None:
        """One network message to a session: in a FRAME, in FRAGMENTs when it is larger than the batch, bare in low latency."""
        if link.terms.lowlatency:
            self.send_batch(link, encode(message))
            return
        priority = priority if link.terms.qos else sane.DEFAULT_PRIORITY
        exts = Exts(() if priority == sane.DEFAULT_PRIORITY else (sane.lane(priority),))
        frame = Frame(reliable=reliable, sn=self.next_sn(link, reliable, priority), exts=exts, messages=(message,))
        batch = encode(frame)
        if len(batch) <= self.room(link):
            self.send_batch(link, batch)
        else:
            self.say_fragments(link, encode(message), frame.sn, reliable, priority)

    def room(self, link: Link) -> int:
        """The largest batch: the negotiated size less the length prefix and the compression header (erratum batch-size-off-by-two)."""
        return link.terms.batch_size - 2 - int(link.terms.compression)

    def say_fragments(self, link: Link, data: bytes, sn: int, reliable: bool, priority: int) -> None:
        """Consecutive numbers, first one marked when the far side knows markers."""
        size = self.room(link) - FRAGMENT_HEAD
        lane: tuple[Any, ...] = () if priority == sane.DEFAULT_PRIORITY else (sane.lane(priority),)
        for at in range(0, len(data), size):
            exts: Exts[Any] = Exts(lane + ((sane.first(),) if not at and self.marks_first(link) else ()))
            piece = Fragment(
                reliable=reliable, more=at + size < len(data), sn=sn, exts=exts, payload=data[at : at + size]
            )
            self.send_batch(link, encode(piece))
            if piece.more:
                sn = self.next_sn(link, reliable, priority)

    def marks_first(self, link: Link) -> bool:
        """Whether the first fragment is marked: where the far side knows markers."""
        return bool(link.terms.patch)

    def next_sn(self, link: Link, reliable: bool, priority: int) -> int:
        channel = (reliable, priority)
        sn = link.tx.get(channel, link.initial_sn)
        link.tx[channel] = (sn + 1) & self.sn_mask(link)
        return sn

    def send_batch(self, link: Link, batch: bytes) -> None:
        raise NotImplementedError

    def sn_mask(self, link: Link) -> int:
        raise NotImplementedError


FRAGMENT_HEAD = 14
"""Most that stands before the payload of a FRAGMENT: header, number, QoS, First."""

KIND: dict[type[Any], str] = {
    DSubscriber: "subscriber", DQueryable: "queryable", DToken: "token",
    USubscriber: "subscriber", UQueryable: "queryable", UToken: "token",
}  # fmt: skip
DECLARE: dict[str, type[Any]] = {"subscriber": DSubscriber, "queryable": DQueryable, "token": DToken}
UNDECLARE: dict[str, type[Any]] = {"subscriber": USubscriber, "queryable": UQueryable, "token": UToken}


def declare(body: Any, interest: int | None = None) -> Declare:
    """A DECLARE as the baseline sends it."""
    return Declare(interest_id=interest, exts=Exts((sane.qos(sane.DECLARE_QOS),)), body=body)


def whole(key: str) -> WireExpr:
    """A key by its whole name."""
    return WireExpr(scope=0, suffix=key, mapping=True)


def priority_of(message: Any) -> int:
    """The priority of a network message: its QoS extension's low three bits."""
    return next((ext.value & 7 for ext in message.exts if type(ext).__name__ == "QoS"), sane.DEFAULT_PRIORITY)
