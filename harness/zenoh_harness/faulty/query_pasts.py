"""Routers that mistake a query for one before, or its end: shown by what a varied query has behind it, or how it ends."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.messages import ResponseFinal, Target
from zenoh_conformance.primitives import keyexpr
from zenoh_harness.reference import after, before

from . import fault, faulty

ASKED = "routing-varied/a-query-is-answered-in-any-circumstances"

fault(
    "gives-a-query-the-parameters-of-the-last",
    "Forwards a query without parameters with those of the query before it.",
    state={"parameters": dict},
    on_request=lambda node, base, link, request: base(
        request=replace(
            request,
            body=replace(
                request.body,
                parameters=(
                    node.parameters.get(link.session)
                    if request.body.parameters is None
                    else node.parameters.setdefault(link.session, request.body.parameters)
                ),
            ),
        )
    ),
    caught_by=ASKED,
    shown_in=(ASKED,),
)
fault(
    "ends-no-timed-query-of-nobody",
    "Sends no RESPONSE_FINAL for a query with a Timeout that nobody serves.",
    on_request=lambda node, base, link, request: (
        base() if node.pending(link, request).deadline is None or _is_served(node, link, request) else None
    ),
    caught_by=ASKED,
    shown_in=(ASKED,),
)


def _is_served(node, link, request):
    """Whether a query is forwarded to anybody."""
    key = node.key_of(link, request.key)
    return key is not None and bool(node.targets(link, request, key))


def _ends_twice(node, base, link):
    """Send RESPONSE_FINAL once more for each query that ends with a session."""
    owed = {pending for pending in link.requests.values() if not pending.over}
    base()
    for pending in owed:
        asker = node.link_of(pending.asker)
        if pending.over and asker is not None:
            node.say(asker, ResponseFinal(id=pending.request_id))


fault(
    "ends-a-query-twice-with-a-source-that-leaves",
    "Sends RESPONSE_FINAL twice when the last source of a query leaves.",
    on_gone=_ends_twice,
    caught_by=ASKED,
    shown_in=(ASKED,),
)


def _ends_only_for_the_querier(node):
    """Send the final of the queries that have timed out, and go on with their answers."""
    for pending in {id(each): each for link in node.links.values() for each in link.requests.values()}.values():
        if pending.deadline is not None and node.now >= pending.deadline:
            node.finish(pending)


fault(
    "answers-after-the-timeout",
    "Sends RESPONSE_FINAL at the Timeout of a query, and forwards the answers that come later.",
    expire_queries=_ends_only_for_the_querier,
    caught_by="law/nothing-after-final",
)


def _as_a_map(request):
    text = request.body.parameters
    pairs = [each.partition("=") for each in (text or "").split("&")]
    return "&".join({name: f"{name}{mark}{value}" for name, mark, value in pairs}.values()) if text else text


fault(
    "forwards-each-name-once",
    "Takes parameters for a map: of a name that is there twice only the last value is forwarded.",
    pass_on=lambda base, request: base(
        request=replace(request, body=replace(request.body, parameters=_as_a_map(request)))
    ),
    caught_by="reply-values/parameters-pass-unchanged",
)


@faulty("targets", caught_by="query-targets/the-complete-one-of-a-session-is-asked")
def asks_who_is_complete_first(node, base, link, request, key):
    """Looks for AllComplete at the first queryable of each session only."""
    if node.target_of(request) != Target.ALL_COMPLETE:
        return base()
    first = {
        other.session: [held for held in other.queryables.values() if keyexpr.intersects(key, held.key)][:1]
        for other in base()
    }
    return [other for other in base() if all(node.serves_all(held, key) for held in first[other.session])]


fault(
    "ends-again-with-each-late-final",
    "After the final of a query whose budget is spent, forwards those of its sources as well.",
    state={"late": dict},
    abandon=before(lambda node, pending: node.late.update(dict.fromkeys(pending.owing.items(), pending))),
    on_final=after(
        lambda node, link, request_id: (
            (pending := node.late.pop((link.session, request_id), None)) is not None
            and node.say(node.link_of(pending.asker), ResponseFinal(id=pending.request_id))
        )
    ),
    caught_by="query-waits/a-spent-budget-ends-a-query-once",
)
fault(
    "ends-one-query-of-who-has-left",
    "Ends only the oldest of the queries that a session owed when it ended.",
    on_gone=before(lambda link: [link.requests.pop(number) for number in list(link.requests)[1:]]),
    caught_by="query-ends/a-query-ends-though-its-source-is-gone",
)
