"""Routers that forward queries wrongly: receivers, request ids, timeouts, budgets and ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from itertools import count
from math import inf
from typing import Any

from zenoh_conformance.messages import Err, QueryTarget, Target
from zenoh_conformance.primitives import keyexpr
from zenoh_harness.reference import Pending, Reference, before, whole

from . import fault, faulty

TARGETS, ENDS = "query-targets", "query-ends"


class _KeepsIds(Reference):
    """Base of nodes that forward queries under ids of another counter."""

    def pass_on(self, other, request, key, pending):
        other.requests.pop(pending.owing[other.session], None)
        again = self.number(other, request)
        pending.owing[other.session] = again
        other.requests[again] = pending
        super().pass_on(other, request, key, pending)

    def number(self, other, request):
        """The request id to forward a query under."""
        raise NotImplementedError


def with_budget(pending: Pending, change: Callable[[int | None], int | None]) -> Pending:
    """A query with its budget changed."""
    return replace(pending, budget=change(pending.budget))


def forget_at_the_timeout(node, base):
    """An `expire_queries` that sends nothing to the querier, then or later."""
    for pending in {id(p): p for link in node.links.values() for p in link.requests.values()}.values():
        pending.over = pending.over or (pending.deadline is not None and node.now >= pending.deadline)
    base()


fault(
    "asks-everybody",
    "Forwards a query to every session with a queryable, whatever its key.",
    targets=lambda node, link: [other for other in node.others(link) if other.queryables],
    caught_by=f"{TARGETS}/a-query-reaches-no-other",
    also={"*": "it forwards the query to unrelated queryables"},
)
fault(
    "asks-for-equal-keys-only",
    "Matches queryables with the same key only, without wildcards.",
    targets=lambda base, key: [other for other in base() if any(held.key == key for held in other.queryables.values())],
    caught_by="routing-plain/a-query-reaches-a-queryable",
    also={
        "query-*": "the case needs a queryable that gets the query",
        "reply-*": "the case needs a queryable that gets the query",
    },
)
fault(
    "counts-ids-past-their-range",
    "Counts its request ids past the range of their resolution.",
    free_id=lambda link: next(link.request_ids),
    caught_by=("query-many/request-ids-begin-anew", "law/request-id-in-range"),
)
fault(
    "cuts-ids",
    "Keeps seven bits of a request id.",
    pending=lambda base, request: base(request=replace(request, id=request.id & 0x7F)),
    caught_by=(f"{TARGETS}/the-id-comes-back-as-it-was", "law/responses-answer-requests", "law/finals-end-requests"),
    also={"*": "it changes ids above 127"},
)
fault(
    "serves-ids-out-of-range",
    "Serves request ids past the range of their resolution.",
    serves_id=lambda: True,
    caught_by=f"{TARGETS}/an-id-out-of-range-is-not-served",
)
fault(
    "forgets-queries-at-their-timeout",
    "Forgets a query at its Timeout, without RESPONSE_FINAL.",
    expire_queries=forget_at_the_timeout,
    caught_by=f"{ENDS}/a-query-ends-at-its-timeout",
)
fault(
    "ends-no-answered-query-after-its-timeout",
    "Sends no RESPONSE_FINAL for a query that has an answer and whose Timeout has run out.",
    state={"answered": set},
    answer=before(lambda node, pending: node.answered.add(id(pending))),
    finish=lambda node, base, pending: (
        None if id(pending) in node.answered and node.now >= (pending.deadline or inf) else base()
    ),
    caught_by=f"{ENDS}/a-query-ends-at-its-timeout",
)
fault(
    "counts-timeouts-in-microseconds",
    "Reads milliseconds as microseconds.",
    deadline_of=lambda node, timeout: None if timeout is None else node.now + timeout / 1_000_000,
    caught_by=f"{ENDS}/a-query-does-not-end-before-its-timeout",
)
fault(
    "has-no-budget",
    "Ignores the budget of a query.",
    pending=lambda base: with_budget(base(), lambda budget: None),
    caught_by=(f"{ENDS}/no-more-answers-come-than-the-budget-wants", "law/budget-is-kept"),
    also={"query-waits/errors*": "it counts no errors either"},
)
fault(
    "knows-no-request-zero",
    "Ignores request id 0.",
    serves_id=lambda base, number: number != 0 and base(),
    caught_by="query-targets/the-id-comes-back-as-it-was",
)
fault(
    "cuts-timeouts-to-32-bits",
    "Keeps the lower half of a Timeout.",
    deadline_of=lambda base, timeout: base(timeout=None if timeout is None else timeout & 0xFFFF_FFFF),
    caught_by="query-waits/a-very-long-timeout-is-no-short-one",
)
fault(
    "waits-for-no-query-longer-than-a-second",
    "Ends each query after a second, though its Timeout is longer.",
    deadline_of=lambda base, timeout: base(timeout=None if timeout is None else min(timeout, 1000)),
    caught_by="query-waits/a-very-long-timeout-is-no-short-one",
)
fault(
    "takes-a-part-for-the-whole",
    "Treats a complete queryable as complete for every key, if the target is AllComplete.",
    targets=lambda node, base, link, request: (
        [other for other in node.others(link) if any(held.complete for held in other.queryables.values())]
        if node.target_of(request) == Target.ALL_COMPLETE
        else base()
    ),
    caught_by=f"{TARGETS}/complete-is-said-of-its-own-key",
)
fault(
    "gives-one-less-than-the-budget",
    "Ends a query one reply before its budget.",
    pending=lambda base: with_budget(base(), lambda budget: budget and max(0, budget - 1)),
    caught_by=f"{ENDS}/no-more-answers-come-than-the-budget-wants",
)
fault(
    "counts-a-budget-for-the-session",
    "Takes what earlier queries of a session used of their budgets from those of later ones.",
    state={"used": Counter},
    pending=lambda node, base, link: with_budget(
        base(), lambda budget: budget and max(1, budget - node.used[link.session])
    ),
    answer=before(lambda node, pending: node.used.update([pending.asker] * (pending.budget is not None))),
    caught_by=f"{ENDS}/no-more-answers-come-than-the-budget-wants",
)
fault(
    "has-a-budget-of-its-own",
    "Ends a query without budget after a hundred replies.",
    pending=lambda base: with_budget(base(), lambda budget: budget or 100),
    caught_by=f"{ENDS}/without-budget-all-answers-come",
)
fault(
    "passes-a-budget-of-zero-on",
    "Forwards a budget of zero.",
    pass_on=lambda node, other, request, key, pending: node.say(
        other, replace(request, id=pending.owing[other.session], key=whole(key), exts=node.forwarded(request))
    ),
    caught_by=(f"{ENDS}/a-budget-of-zero-is-not-passed-on", "law/budget-not-zero"),
)
fault(
    "takes-all-for-the-default-target",
    "Reads a query without target as target All.",
    target_of=lambda base, request: base() if request.exts.get(QueryTarget) is not None else Target.ALL,
    caught_by=f"{TARGETS}/without-target-the-best-match-is-asked",
)
fault(
    "asks-all-for-all-complete",
    "Forwards a query with target AllComplete to incomplete queryables, too.",
    target_of=lambda base: Target.ALL if base() == Target.ALL_COMPLETE else base(),
    caught_by=(f"{TARGETS}/all-complete-ones-are-asked", f"{TARGETS}/nobody-complete-is-nobody-asked"),
    also={
        f"{TARGETS}/complete-is*": "it forwards the query to all",
        f"{TARGETS}/a-queryable-is-as-complete*": "it forwards the query to all",
    },
)
fault(
    "asks-all-for-the-best",
    "Forwards a query with target BestMatching to all matching queryables.",
    target_of=lambda base: Target.ALL if base() == Target.BEST_MATCHING else base(),
    caught_by=(f"{TARGETS}/the-best-match-is-asked", f"{TARGETS}/without-target-the-best-match-is-asked"),
)
fault(
    "asks-one-for-all",
    "Forwards a query with target All to the first queryable only.",
    targets=lambda node, base, request: base()[: 1 if node.target_of(request) == Target.ALL else None],
    caught_by=f"{TARGETS}/all-are-asked",
    also={
        "query-*": "it does not forward the query to the other one",
        "reply-*": "it does not forward the query to the other one",
    },
)
fault(
    "asks-one-that-is-complete",
    "Forwards a query with target AllComplete to the first complete queryable only.",
    targets=lambda node, base, request: base()[: 1 if node.target_of(request) == Target.ALL_COMPLETE else None],
    caught_by=f"{TARGETS}/all-complete-ones-are-asked",
)
fault(
    "passes-ids-on",
    "Forwards a query under the querier's request id.",
    of=_KeepsIds,
    number=lambda request: request.id,
    caught_by=(
        f"{TARGETS}/two-queriers-may-use-the-same-id",
        "law/request-id-not-in-use",
        f"{ENDS}/a-query-fits-the-range-of-who-gets-it",
        "law/request-id-in-range",
    ),
)
fault(
    "counts-ids-from-a-thousand",
    "Counts its request ids from a thousand, whatever the resolution.",
    of=_KeepsIds,
    state={"numbers": lambda: count(1000)},
    number=lambda node: next(node.numbers),
    caught_by=(f"{ENDS}/a-query-fits-the-range-of-who-gets-it", "law/request-id-in-range"),
    also={"query-many/request-ids-begin-anew": "its first request id is too large, and all later ones"},
)


@faulty(
    "on_entity_gone",
    caught_by=f"{TARGETS}/who-has-left-off-is-not-asked",
    also={"query-*": "it waits for the undeclared queryable"},
)
def asks_who_has_left_off(base, link, kind, entity):
    """Keeps a queryable after its undeclaration."""
    held = link.queryables.get(entity)
    base()
    if held is not None and kind == "queryable" and link.live:
        link.queryables[entity] = held


@faulty(
    "targets",
    caught_by=f"{TARGETS}/somebody-is-asked-where-nobody-is-complete",
    also={"*": "it forwards no query to incomplete queryables"},
)
def asks_nobody_where_none_is_complete(node, base, request):
    """Forwards a query with target BestMatching to complete queryables only."""
    found = base()
    whole = [one for one in found if any(held.complete for held in one.queryables.values())]
    return whole if node.target_of(request) == Target.BEST_MATCHING else found


fault(
    "asks-who-asks",
    "Sends a query back to its querier if that has a matching queryable.",
    targets=lambda base, link, key: (
        base() + [link] * any(keyexpr.intersects(key, held.key) for held in link.queryables.values())
    ),
    caught_by=f"{TARGETS}/a-query-does-not-come-back",
)


fault(
    "says-no-final-for-nobody",
    "Sends no RESPONSE_FINAL for a query without queryables, except for the key of a fence.",
    on_request=lambda node, base, link, request: (
        base() if "fence" in (key := node.key_of(link, request.key) or "") or node.targets(link, request, key) else None
    ),
    caught_by=f"{ENDS}/a-query-that-nobody-serves-is-final",
    also={"*": "our fences are queries without queryables"},
)


@faulty(
    "settle_final",
    caught_by=(f"{ENDS}/a-query-ends-with-its-last-source", f"{ENDS}/of-two-sources-one-cannot-end-for-both"),
)
def ends_with_the_first_source(node, pending):
    """Ends a query at the first RESPONSE_FINAL."""
    pending.owing.clear()
    node.finish(pending)


fault(
    "waits-for-the-dead",
    "Waits for the RESPONSE_FINAL of a session that has ended.",
    on_gone=before(lambda link: link.requests.clear()),
    caught_by=f"{ENDS}/a-query-ends-though-its-source-is-gone",
    also={"session-leases/a-source-that-dies-is-waited-for-no-more": "a session may end in any way"},
)


@faulty("pass_on", caught_by=("query-many/who-serves-it-twice-is-asked-under-an-id-once", "law/request-id-not-in-use"))
def asks_a_session_once_for_each_queryable(base, other, key):
    """Forwards a query once for each matching queryable of a session, under the same id."""
    for _ in [held for held in other.queryables.values() if keyexpr.intersects(key, held.key)]:
        base()


@faulty("answer", caught_by=("query-waits/errors-count-for-the-budget", "law/budget-is-kept"))
def counts_values_into_a_budget(base, pending, response):
    """Counts values and not errors against the budget."""
    if isinstance(response.body, Err) and pending.budget is not None:
        pending.budget += 1
    base()


@faulty(caught_by="query-many/each-of-many-alike-ends")
class ServesTenQueriesAtOnce(Reference):
    """Ignores a query while ten others are open."""

    open: tuple[Pending, ...] = ()

    def pending(self, link, request):
        self.open = (*self.open, super().pending(link, request))
        return self.open[-1]

    def on_request(self, link, request):
        if sum(not query.over for query in self.open) < 10:
            super().on_request(link, request)


fault(
    "asks-who-has-left",
    "Ignores queries that match a queryable of a session that has left.",
    state={"gone": list},
    on_gone=before(lambda node, link: node.gone.extend(held.key for held in link.queryables.values())),
    on_request=lambda node, base, link, request: (
        base()
        if (key := node.key_of(link, request.key)) is None
        or not any(keyexpr.intersects(key, held) for held in node.gone)
        else None
    ),
    caught_by=f"{ENDS}/who-has-left-is-not-waited-for",
    also={"query-*": "the session that left served the same key"},
)


@faulty(caught_by="query-many/each-of-many-alike-ends")
class TakesLikeQueriesForOne(Reference):
    """Ignores a query while the same session has an identical one open."""

    asked = cached_property(lambda node: dict[tuple[Any, ...], Pending]())

    def like(self, link, request):
        """What identical queries have in common."""
        return link.session, self.key_of(link, request.key), request.body

    def pending(self, link, request):
        return self.asked.setdefault(self.like(link, request), super().pending(link, request))

    def on_request(self, link, request):
        before = self.asked.get(self.like(link, request))
        if before is None or before.over:
            self.asked.pop(self.like(link, request), None)
            super().on_request(link, request)
