"""Routers that end queries wrongly, consolidate replies by rules of their own, or change a query."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import Any

from zenoh_conformance.messages import Reply, ResponseFinal
from zenoh_conformance.primitives import WireExpr, ZenohID
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import Pending, Reference, before

from . import fault, faulty

ENDS, VALUES = "query-ends", "reply-values"


class Thins(Reference):
    """Base of nodes that consolidate replies by a rule of their own."""

    def on_response(self, link, response):
        if isinstance(response.body, Reply) and not self.lets(link.requests.get(response.id), response):
            return
        super().on_response(link, response)

    def lets(self, pending, response):
        """Whether to forward a reply."""
        raise NotImplementedError


class _ChangesQueries(Reference):
    """Base of nodes that change each query before they forward it."""

    def pass_on(self, other, request, key, pending):
        super().pass_on(other, replace(request, body=self.body(request.body)), key, pending)

    def body(self, body):
        """The query body to forward."""
        raise NotImplementedError


def _has_left(node, pending):
    """Whether the querier of a query has left."""
    return pending is not None and node.link_of(pending.asker) is None


def _holder(node, link, number):
    """The first session with a request of that id, or the link."""
    return next((other for other in node.links.values() if number in other.requests), link)


fault(
    "writes-parameters-its-own-way",
    "Replaces ampersands in the parameters with semicolons.",
    of=_ChangesQueries,
    body=lambda body: replace(body, parameters=body.parameters and body.parameters.replace("&", ";")),
    caught_by=f"{VALUES}/parameters-pass-unchanged",
)
fault(
    "takes-ascii-parameters-only",
    "Drops non-ASCII characters from the parameters.",
    of=_ChangesQueries,
    body=lambda body: replace(body, parameters=body.parameters and body.parameters.encode("ascii", "ignore").decode()),
    caught_by=f"{VALUES}/parameters-pass-unchanged",
)
fault(
    "forgets-what-goes-with-a-query",
    "Forwards a query without its extensions.",
    of=_ChangesQueries,
    body=lambda body: replace(body, exts=Exts()),
    caught_by=f"{VALUES}/a-query-comes-with-all-its-fields",
)
fault(
    "asks-in-a-mode-of-its-own",
    "Forwards a query with an undefined consolidation mode.",
    of=_ChangesQueries,
    body=lambda body: replace(body, consolidation=7),
    caught_by="law/consolidation-is-known",
    also={f"{VALUES}/a-query-comes*": "it changes the consolidation mode"},
)


@faulty(
    "on_final",
    caught_by=(f"{ENDS}/any-number-of-answers-comes", f"{ENDS}/a-second-final-changes-nothing", "law/one-final"),
    also={"*": "every query ends twice"},
)
def ends_twice(node, base, link, request_id):
    """Sends RESPONSE_FINAL twice for a query that a queryable answered."""
    pending = link.requests.get(request_id)
    base()
    asker = node.link_of(pending.asker) if pending is not None and not pending.owing else None
    if pending is not None and asker is not None:
        node.say(asker, ResponseFinal(id=pending.request_id))


@faulty(
    "on_final",
    caught_by=(f"{ENDS}/a-query-ends-with-its-last-source", "law/one-final"),
    also={"*": "each source ends the query for its querier"},
)
def passes_every_final_on(node, base, link, request_id):
    """Forwards the RESPONSE_FINAL of each source."""
    pending = link.requests.get(request_id)
    asker = node.link_of(pending.asker) if pending is not None else None
    if pending is not None and asker is not None and len(pending.owing) > 1:
        node.say(asker, ResponseFinal(id=pending.request_id))
    base()


@faulty(
    "on_final",
    caught_by=f"{ENDS}/of-two-sources-one-cannot-end-for-both",
    also={
        "law/*": "the replies of the other source come too late",
        f"{ENDS}/an-answer-after*": "it keeps the query after its end",
    },
)
def counts_finals(node, link, request_id):
    """Counts finals without checking their sources."""
    pending = link.requests.get(request_id)
    if pending is not None:
        pending.owing.pop(next(iter(pending.owing), ""), None)
        if not pending.owing:
            node.finish(pending)


fault(
    "keeps-a-hundred-queries",
    "Forgets the oldest open query of a session with more than a hundred.",
    pass_on=before(lambda other: other.requests.pop(next(iter(other.requests))) if len(other.requests) > 100 else None),
    caught_by=f"{ENDS}/many-queries-are-open-at-once",
)


fault(
    "falls-with-who-asked",
    "Closes the session of a queryable that replies to a querier that has left.",
    on_response=lambda node, base, link, response: (
        node.refuse(link, 0) if _has_left(node, link.requests.get(response.id)) else base()
    ),
    caught_by=f"{ENDS}/who-asked-may-leave",
)


@faulty(
    "on_response", caught_by=(f"{ENDS}/who-asked-may-leave", "law/responses-answer-requests", "law/finals-end-requests")
)
def answers_who_has_not_asked(node, base, link, response):
    """Sends a reply for a querier that has left to all other sessions."""
    pending = link.requests.get(response.id)
    if _has_left(node, pending):
        for other in node.others(link):
            node.say(other, replace(response, id=pending.request_id))
            node.say(other, ResponseFinal(id=pending.request_id))
    base()


@faulty(caught_by=f"{ENDS}/who-asked-may-leave", also={"law/*": "answers go to a session that has not asked"})
class AnswersALaterSessionOfTheAsker(Reference):
    """Sends what comes for a querier that has left to a later session of the same node."""

    askers = cached_property(lambda node: dict[str, ZenohID]())
    """Each session that has ended, to its node."""

    def on_gone(self, link):
        self.askers[link.session] = link.zid
        super().on_gone(link)

    def link_of(self, session):
        again = (other for other in self.links.values() if other.live and other.zid == self.askers.get(session, b""))
        return super().link_of(session) or next(again, None)


@faulty("on_request", caught_by="query-targets/a-query-goes-under-no-other-key")
def asks_under_another_key(node, base, link, request):
    """Sends a query again to all other sessions under an unrelated key."""
    base()
    for other in node.others(link):
        if (number := node.free_id(other)) is not None:
            other.unended.add(number)
            node.say(other, replace(request, id=number, key=WireExpr(suffix="astray", mapping=True), exts=Exts()))


@faulty(caught_by=(f"{ENDS}/an-answer-after-the-final-is-dropped", "law/nothing-after-final"))
class TakesAnswersAfterTheFinal(Reference):
    """Forwards replies to queries that have ended."""

    over = cached_property(lambda node: dict[tuple[str, int], Pending]())

    def on_final(self, link, request_id):
        if request_id in link.requests:
            self.over[link.session, request_id] = link.requests[request_id]
        super().on_final(link, request_id)

    def on_response(self, link, response):
        late = self.over.get((link.session, response.id))
        asker = self.link_of(late.asker) if late is not None else None
        if late is not None and asker is not None:
            self.say(asker, replace(response, id=late.request_id))
        super().on_response(link, response)


fault(
    "takes-anybodys-answer",
    "Accepts a reply from any session that has the request id.",
    on_response=lambda node, base, link, response: base(link=_holder(node, link, response.id)),
    on_final=lambda node, base, link, request_id: base(link=_holder(node, link, request_id)),
    caught_by=f"{ENDS}/an-answer-to-nothing-goes-nowhere",
    also={f"{ENDS}/of-two*": "the other one has the same id"},
)


@faulty(
    "answer",
    caught_by=f"{ENDS}/any-number-of-answers-comes",
    also={"*": "it drops replies"},
    state={"counts": Counter},
)
def answers_one_in_three(node, base, pending):
    """Drops every third reply to a query."""
    node.counts[pending] += 1
    if node.counts[pending] % 3:
        base()


fault(
    "thins-out-what-nobody-wants-thinned",
    "Forwards one reply for each key, whatever the consolidation mode.",
    of=Thins,
    state={"first": dict},
    lets=lambda node, pending, response: node.first.setdefault((pending, response.key), response) is response,
    caught_by=f"{VALUES}/none-lets-all-through",
    also={"*": "it forwards one reply for each key"},
)


@faulty(
    caught_by=(
        f"{VALUES}/monotonic-loses-nothing-newer",
        f"{VALUES}/latest-loses-no-newest",
        f"{VALUES}/auto-loses-no-newest",
    ),
    also={"application/an-application-gets*": "the same for its own application"},
)
class KeepsTheOldest(Thins):
    """Drops replies newer than the first one of a key, except in consolidation mode None."""

    first = cached_property(lambda node: dict[tuple[Pending, Any], int]())
    modes = cached_property(lambda node: dict[Pending, int]())

    def pending(self, link, request):
        found = super().pending(link, request)
        self.modes[found] = request.body.consolidation or 0
        return found

    def lets(self, pending, response):
        stamp = getattr(response.body.body, "timestamp", None) if isinstance(response.body, Reply) else None
        if stamp is None or self.modes.get(pending) == 1:
            return True
        return bool(self.first.setdefault((pending, response.key), stamp.time) >= stamp.time)
