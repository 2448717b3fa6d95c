"""Routers that mistake a query for one before, or its end: shown by what a varied query has behind it, or how it ends."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.messages import ResponseFinal

from . import fault

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
