"""How long a query waits, and for how many answers: Timeouts have 64 bits, errors count, a Budget is spent once. Toward a router."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.routing.plain import (
    LONGEST_MOMENT,
    ROUTES,
    a_query_reaches_a_queryable,
    asked_of,
    is_answered_after_a_moment,
)
from zenoh_conformance.messages import Target
from zenoh_conformance.talking import Scene, parties

from .ends import (
    a_query_does_not_end_before_its_timeout,
    no_more_answers_come_than_the_budget_wants,
)

LONG = (1 << 32, (1 << 32) + 1, 1 << 40)
"""Milliseconds, of which the lower 32 bits are next to nothing."""


@case(
    "reply/not-complete-before-finals",
    needs=ROUTES,
    control=a_query_does_not_end_before_its_timeout,
    parameters=(*grid(timeout=LONG), {"timeout": LONG[0], "short_beside": True}),
    timed=True,
)
def a_very_long_timeout_is_no_short_one(scene: Scene, *, timeout: int, short_beside: bool = False) -> None:
    """
    A Timeout has 64 bits: one whose lower half is zero does not end the query at once, nor any long one after a second. Nor does that
    of another query, which runs out.

        querier    REQUEST (Timeout: seven weeks, or more); perhaps another REQUEST (Timeout: an eighth of our patience)
        queryable  after two seconds RESPONSE, RESPONSE_FINAL
        target     to the querier: RESPONSE, RESPONSE_FINAL, and nothing before
    """
    querier, queryable = asked_of(scene)
    asked = querier.asks("k", timeout_ms=timeout)
    queryable.takes(asked, step="the query is passed on")
    beside = querier.asks("k", parameters="short", timeout_ms=int(scene.unit * 125)) if short_beside else None
    if beside is not None:
        queryable.takes(beside, step="the query is passed on")

    is_answered_after_a_moment(querier, queryable, asked, LONGEST_MOMENT)
    if beside is not None:
        queryable.finishes(beside)


@case(
    "query/budget-stops-forwarding",
    needs=ROUTES,
    control=no_more_answers_come_than_the_budget_wants,
    parameters=grid(budget=(1, 3)),
)
def errors_count_for_the_budget(scene: Scene, *, budget: int) -> None:
    """
    A Budget counts RESPONSEs, and an error is one.

        querier    REQUEST (Budget)
        queryable  RESPONSE (ERR), RESPONSE (REPLY), as many as the Budget, RESPONSE_FINAL
        target     to the querier: RESPONSE, no more than wanted, RESPONSE_FINAL
    """
    querier, queryable = asked_of(scene)
    asked = querier.asks("k", consolidation=1, budget=budget)

    queryable.fails(asked, b"no")
    for number in range(budget):
        queryable.replies(asked, bytes([number]))
    queryable.finishes(asked)

    querier.expect_end(asked)
    few = len(querier.answers(asked)) <= budget
    querier.us.require(few, expected="no more answers than the budget", got="more", step="past the budget")


@case("reply/exactly-one-final", needs=ROUTES, control=a_query_reaches_a_queryable)
def a_spent_budget_ends_a_query_once(scene: Scene) -> None:
    """
    The Budget is spent by one of two queryables, and both end what they were asked: the querier is told once that it is over.

        querier     REQUEST (target All, Budget 1)
        one         RESPONSE
        one, other  RESPONSE_FINAL
        target      to the querier: RESPONSE, RESPONSE_FINAL
    """
    querier, one, other = parties(scene, "querier", "one", "other")
    for each in (one, other):
        each.declares_queryable("k")
    asked = querier.asks("k", target=Target.ALL, consolidation=1, budget=1)
    other.takes(asked)

    one.replies(asked, b"1")
    one.settles()
    for each in (one, other):
        each.finishes(asked)
        each.settles()

    querier.expect_end(asked)
    querier.settles()
    ends = querier.finals(asked)
    querier.us.require(ends == 1, expected="one ResponseFinal", got=str(ends), step="after both have ended")


@case("query/budget-stops-forwarding", needs=ROUTES, control=no_more_answers_come_than_the_budget_wants)
def a_budget_is_one_for_all_sources(scene: Scene) -> None:
    """
    The Budget is that of the query: two queryables together give no more answers than one alone.

        querier     REQUEST (target All, Budget 1)
        one, other  RESPONSE, RESPONSE_FINAL
        target      to the querier: RESPONSE, RESPONSE_FINAL
    """
    querier, *both = parties(scene, "querier", "one", "other")
    for each in both:
        each.declares_queryable("k")
    asked = querier.asks("k", target=Target.ALL, consolidation=1, budget=1)

    for each in both:
        each.replies(asked, each.name.encode())
        each.finishes(asked)
        each.settles()

    querier.expect_end(asked)
    querier.settles()
    few = len(querier.answers(asked)) <= 1
    querier.us.require(few, expected="no more answers than the budget", got="more", step="past the budget")
