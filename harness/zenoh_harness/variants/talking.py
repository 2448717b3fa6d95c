"""Nodes that send additional messages, use other lanes or fragments than the reference node, or change what they forward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any

from zenoh_conformance.messages import (
    Declare,
    Del,
    DKeyExpr,
    Drop,
    DSubscriber,
    First,
    Fragment,
    Interest,
    InterestMode,
    InterestOptions,
    KeepAlive,
    Oam,
    Push,
    Put,
    Query,
    Reply,
    Request,
    ResponderId,
    Response,
    ResponseFinal,
    sane,
)
from zenoh_conformance.primitives import Timestamp, WireExpr, ZenohID, keyexpr
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.wire import Enc, Exts, Unknown
from zenoh_harness.reference import Base, Link, Pending, Reference, after, before, declare, whole
from zenoh_harness.reference.groups import MULTICAST

from . import row, variant

UNKNOWN = (
    Unknown(id=0xE, mandatory=False, enc=Enc.ZBUF, value=b"ours"),
    Unknown(id=0xD, mandatory=False, enc=Enc.UNIT, value=None),
)
"""Optional extensions that no page defines."""


row(
    "unknown-extensions-everywhere",
    "Adds optional extensions that no page defines to every message that can have extensions.",
    permitted="primitives#extensions: an unknown optional one is skipped",
    encoded=lambda base, message: base(message=dressed(message)),
    say=lambda base, message: base(message=dressed(message)),
)


def with_deadline(pending: Pending, link: Link, change: Callable[[float | None], float | None]) -> Pending:
    """Return a query with another deadline, unless the application of the node itself asked."""
    return pending if link.inside is not None else replace(pending, deadline=change(pending.deadline))


TIMEOUT = "query#timeout: the querier waits no longer; no page asks a router to end the query"
row(
    "leaves-timeouts-to-queriers",
    "Does not end a query at its Timeout.",
    permitted=TIMEOUT,
    pending=lambda base, link: with_deadline(base(), link, lambda _deadline: None),
)
row(
    "ends-queries-long-after-their-timeout",
    "Ends a query when a thousand times its Timeout has run out.",
    permitted=TIMEOUT,
    pending=lambda node, base, link: with_deadline(
        base(), link, lambda deadline: None if deadline is None else node.now + 1000 * (deadline - node.now)
    ),
)
row(
    "asks-who-is-complete-for-a-part",
    "Forwards a query with target AllComplete to all matching queryables that are complete, for whatever key.",
    permitted="query#query-target: all matching queryables with the Complete flag",
    serves_all=lambda held, key: held.complete and keyexpr.intersects(held.key, key),
)


@variant("on_live", permitted="declarations: a node declares when it likes")
def greets_with_declarations(node: Reference, base: Base[None], link: Link) -> None:
    """Begins each session with declarations, an interest and a publication of its own, to a key that no check uses."""
    if link.name != link.session:
        return  # one more link of a session that was greeted
    key = whole("@/variant/greets")
    node.say(link, declare(DKeyExpr(expr_id=7, key=key)))
    node.say(link, declare(DSubscriber(id=90, key=WireExpr(scope=7, suffix="", mapping=True))))
    options = InterestOptions.SUBSCRIBERS | InterestOptions.KEY_EXPRS
    node.say(link, Interest(id=91, mode=InterestMode.CURRENT_FUTURE, options=options))
    node.say(link, Push(key=key, body=Put(payload=b"hello")))


row(
    "greets-with-a-query",
    "Begins each session with a query of its own.",
    permitted="query#request-response-flow",
    on_live=lambda node, link: ask(node, link),
)


def ask(node: Reference, link: Link) -> int | None:
    """Send a query to a session; return the request's id, or None if no id is free."""
    if (number := node.free_id(link)) is not None:
        link.requests[number] = Pending("nobody", 0, owing={link.session: 1})
        node.say(link, Request(id=number, key=whole("@/variant/**"), body=Query()))
    return number


row(
    "says-oam",
    "Begins each session with a transport message OAM.",
    permitted="message-reference#oam",
    on_live=lambda node, link: None if link.terms.lowlatency else node.send(link, Oam(id=0x7FFF, enc=Enc.Z64, body=5)),
)


row(
    "keeps-alive-all-the-time",
    "Sends KEEP_ALIVE on each session at every tick of its clock, and before every other message.",
    permitted="keep-alive#period: at least",
    on_time=after(
        lambda node, link: (
            node.send(link, KeepAlive()) if link.live and link.inside is None and link.name in node.links else None
        )
    ),
    say=before(lambda node, link: node.send(link, KeepAlive()) if link.inside is None else None),
)


EVERYTHING_IN_FRAGMENTS = row(
    "everything-in-fragments",
    "Sends every network message in fragments of at most ten bytes.",
    permitted="fragmentation: no page forbids a fragment that would fit",
    room=lambda base: min(base(), 24),
)


@variant("say_fragments", permitted="session-establishment#init-extensions: Drop from patch 1 on")
def gives_up_and_begins_anew(
    node: Reference, base: Base[None], link: Link, data: bytes, sn: int, reliable: bool, priority: int
) -> None:
    """Begins a large message, gives it up with Drop, and begins it again, if the patch of the session permits it."""
    if link.terms.patch:
        lane = () if priority == sane.DEFAULT_PRIORITY else (sane.lane(priority),)
        begun = Fragment(reliable=reliable, more=True, sn=sn, exts=Exts((*lane, First())), payload=data[:8])
        node.send_batch(link, encode(begun))
        sn = node.next_sn(link, reliable, priority)
        given_up = Fragment(reliable=reliable, more=False, sn=sn, exts=Exts((*lane, Drop())), payload=b"")
        node.send_batch(link, encode(given_up))
        sn = node.next_sn(link, reliable, priority)
    base(link, data, sn, reliable, priority)


@variant("say", permitted="qos: the sender chooses the lane")
def on_its_own_lanes(node: Reference, base: Base[None], link: Link, message: Any, *, reliable: bool = True) -> None:
    """Sends declarations and finals on the control lane if QoS was negotiated, and publications as best effort."""
    if isinstance(message, Declare | ResponseFinal) and link.terms.qos:
        kept: list[Any] = [ext for ext in message.exts if type(ext).__name__ != "QoS"]
        message = replace(message, exts=Exts((sane.qos(sane.DECLARE_QOS & 0xF8), *kept)))
    base(link, message, reliable=reliable and not isinstance(message, Push))


@variant("say", permitted="declarations: expression ids")
def declares_names(node: Reference, base: Base[None], link: Link, message: Any, **how: Any) -> None:
    """Declares an expression id for every key, and publishes with it."""
    if link.inside is None and isinstance(message, Push) and message.key.suffix and not message.key.scope:
        number = next(link.entity_ids)
        base(link, declare(DKeyExpr(expr_id=number, key=message.key)), **how)
        message = replace(message, key=WireExpr(scope=number, suffix="", mapping=True))
    base(link, message, **how)


def dressed(message: Any) -> Any:
    """Return the message and its body with the extensions `UNKNOWN`."""
    if not is_dataclass(message) or isinstance(message, type):
        return message
    changes: dict[str, Any] = {}
    for field in fields(message):
        value = getattr(message, field.name)
        if field.name == "exts":
            changes["exts"] = Exts((*value, *UNKNOWN))
        elif field.name == "body" and is_dataclass(value):
            changes["body"] = dressed(value)
    return replace(message, **changes)


@variant("route", permitted="query#request-response-flow: a node may send any query at any time")
def asks_in_mid_session(node: Reference, base: Base[None], link: Link, message: Any, **how: Any) -> None:
    """Sends a query and an interest to a session after each publication, query or declaration of it."""
    asks = isinstance(message, Push | Request | Declare) and link.session != MULTICAST
    if asks and (number := ask(node, link)) is not None:
        node.say(link, Interest(id=1000 + number, mode=InterestMode.CURRENT, options=InterestOptions.TOKENS))
    base(link, message, **how)


row(
    "sends-what-somebody-wants",
    "Sends publications and queries of its own application only to sessions that declared a match, even to routers.",
    permitted="push: a publication goes to sessions with a subscriber; query: to sessions with a queryable",
    receivers=lambda node, base, key: [other for other in base() if node.subscribes(other, key)],
    targets=lambda node, base, link, key: [
        other for other in base() if other.session in node.held(link, lambda held: keyexpr.intersects(key, held.key))
    ],
)


EARLIEST = 0x6A00_0000_0000_0001
"""The NTP64 time of the first timestamp that a variant adds."""

row(
    "consolidates",
    "Consolidates answers itself.",
    permitted="erratum consolidation-by-querier: either reading is right",
    settings={"consolidates": True},
)


@variant("say", permitted="push, reply: T is optional; a router may add a timestamp", state={"turn": count})
def stamps_deletions_and_answers(node: Any, base: Base[None], link: Link, message: Any, **how: Any) -> None:
    """Adds timestamps to publications, deletions and answers that have none, each later than the last."""
    if isinstance(message, Push):
        message = replace(message, body=stamped(node, message.body))
    elif isinstance(message, Response) and isinstance(message.body, Reply):
        message = replace(message, body=replace(message.body, body=stamped(node, message.body.body)))
    base(link, message, **how)


@variant(
    "on_response",
    permitted="reply#responder-id: it names who generated the reply; no page says that a router adds none",
)
def names_who_answers(node: Reference, base: Base[None], link: Link, response: Response) -> None:
    """Adds a ResponderId that names the session that answered to the answers that have none."""
    if response.exts.get(ResponderId) is None and link.theirs is not None:
        named = ResponderId(zid=link.theirs.zid, eid=1)
        response = replace(response, exts=Exts((*response.exts, named)))
    base(link, response)


def stamped(node: Any, body: Any) -> Any:
    """The body with the node's next timestamp, if it is a value or a deletion without one."""
    if not isinstance(body, Put | Del) or body.timestamp is not None:
        return body
    return replace(body, timestamp=Timestamp(time=EARLIEST + next(node.turn), zid=ZenohID(node.config.zid)))


@variant("on_push", permitted="push: a router may add a timestamp")
def stamps_what_it_passes_on(
    node: Reference, base: Base[None], link: Link, push: Push, *, reliable: bool = True
) -> None:
    """Adds a timestamp to the values that it forwards."""
    if isinstance(push.body, Put) and push.body.timestamp is None:
        stamp = Timestamp(time=EARLIEST, zid=ZenohID(node.config.zid))
        push = replace(push, body=replace(push.body, timestamp=stamp))
    base(link, push, reliable=reliable)


row(
    "tells-who-asks-nothing",
    "Tells each session of all declarations, also one without an interest, from its beginning on.",
    permitted="declarations: a session with an interest is told; no page says that no other is",
    unjudged={"interest-*": "what is told need not answer an interest"},
    told_of=lambda node, link: node.others(link),
    on_live=after(
        lambda node, link: [
            node.tell(link, other, kind, entity)
            for other in node.others(link)
            for kind in ("subscriber", "queryable", "token")
            for entity in list(node.table(other, kind))
        ]
    ),
)
