"""When a query ends: at the last final, at its timeout, at its budget, when who owes the final is gone; and only once.

Toward a node that routes between its clients.
"""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishment.states import comes_back
from zenoh_conformance.cases.routing.plain import (
    ROUTES,
    a_query_reaches_a_queryable,
    answers,
    asked_of,
    is_answered_after_a_moment,
    low_latency,
)
from zenoh_conformance.messages import Budget, Put, Reply, Request, Response, ResponseFinal, Target, UQueryable, sane
from zenoh_conformance.talking import Asked, Party, Scene, parties, payload_of

from .targets import RID_8

MANY, MOST = 300, 10_000
"""Queries at once, and answers to one query; MOST by night."""
LONG_MS = 600_000
"""A Timeout that no run comes to."""
HANDFUL = 100
"""So many are said before they are looked for: what waits for us never fills a link."""


@case(
    "reply/final-always-comes",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(target=(None, *Target)),
)
def a_query_that_nobody_serves_is_final(scene: Scene, *, target: Target | None) -> None:
    """
    A query that nobody serves ends: with no answer, and one final.

        querier  REQUEST (a key that nobody serves)
        target   RESPONSE_FINAL
    """
    querier, _ = parties(scene, "querier", "other")

    asked = querier.asks("nobody", target=target)

    querier.expect_answers(asked, [], step="it ends")


@case(
    "query/query-zero-or-more-responses",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(answers=(0, 1, 2, 17)),
)
def any_number_of_answers_comes(scene: Scene, *, answers: int) -> None:
    """
    A query has as many answers as the queryable gives, none among them, and then its final.

        queryable  RESPONSE, so many times, RESPONSE_FINAL
        target     to the querier: the same
    """
    querier, queryable = asked_of(scene)
    asked = querier.asks("k", consolidation=1)

    for number in range(answers):
        queryable.replies(asked, bytes([number]), key=f"k/{number}" if number else "k")
    queryable.finishes(asked)

    querier.expect_answers(asked, [bytes([number]) for number in range(answers)])


@case(
    "query/query-complete-on-finals",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=(*grid(first=(0, 1)), {"first": 0, "error": True}),
)
def a_query_ends_with_its_last_source(scene: Scene, *, first: int, error: bool = False) -> None:
    """
    Three queryables answer: the query ends when all have ended, in any order, and not at the error of one.

        one, other  RESPONSE_FINAL, perhaps after RESPONSE (ERR)
        target      to the querier: no RESPONSE_FINAL
        third       RESPONSE, RESPONSE_FINAL
        target      to the querier: RESPONSE, RESPONSE_FINAL
    """
    querier, *sources = parties(scene, "querier", "one", "other", "third")
    for each in sources:
        each.declares_queryable("k")
    asked = querier.asks("k", target=Target.ALL)
    for each in sources:
        each.takes(asked)

    last = sources.pop(1 - first)
    for each, step in zip(sources, ("after the first source", "after the second of three"), strict=True):
        if error:
            each.fails(asked, b"no")
        each.finishes(asked)
        each.settles()
        querier.settles()
        early = querier.finals(asked)
        querier.us.require(not early, expected="no ResponseFinal yet", got="ResponseFinal", step=step)
    answers(last, asked, b"2")

    querier.expect_answers(asked, [b"no"] * len(sources) * error + [b"2"], step="after the last source")


@case(
    "reply/final-always-comes",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=(*grid(how=("taken-back", "left", "cut")), *grid(how=("left", "cut"), more=(2,))),
)
def a_query_ends_though_its_source_is_gone(scene: Scene, *, how: str, more: int = 0) -> None:
    """
    A queryable leaves before its final, or takes back what it declared and answers on: each query ends all the same, and not before.

        queryable  RESPONSE, then CLOSE, or the end of the link; or DECLARE (undeclare), RESPONSE, RESPONSE_FINAL
        target     to the querier: each RESPONSE, RESPONSE_FINAL
    """
    querier, queryable = parties(scene, "querier", "queryable")
    declared = queryable.declares_queryable("k")
    asked = querier.asks("k", consolidation=1)
    queryable.replies(asked, b"1")
    others = [querier.asks("k", parameters=f"more={number}") for number in range(more)]
    for each in others:
        queryable.takes(each)
    if how == "taken-back":
        queryable.retracts(UQueryable, declared.id)
        answers(queryable, asked, b"2")
        with querier.us.about("query/query-complete-on-finals"):
            querier.expect_answers(asked, [b"1", b"2"], step="it is taken back")
        return
    if how == "left":
        queryable.leaves()
        querier.expect_answers(asked, [b"1"], step="its source is gone: left")
    else:
        queryable.us.break_off()
        querier.expect_final(asked)
    for each in others:
        querier.expect_final(each, step=f"the source of several is gone: {how}")


@case("reply/final-always-comes", needs=ROUTES, control=a_query_reaches_a_queryable)
def a_query_ends_at_its_timeout(scene: Scene) -> None:
    """
    A query ends, although its Timeout has run out before its source has sent the final. The pages bind the querier alone, which waits
    no longer: a router may end the query at its Timeout, and an error may tell so; or at the final, however late that is. An answer
    that comes later is not forwarded after the final, which `law/nothing-after-final` judges.

        querier    REQUEST (Timeout: an eighth of our patience), twice
        target     to the queryable: REQUEST
        queryable  RESPONSE to the second one, and nothing more until the Timeout has run out
        target     to the querier: RESPONSE_FINAL, or nothing yet
        queryable  RESPONSE, RESPONSE_FINAL
        target     to the querier: RESPONSE_FINAL, if it has not sent it
    """
    querier, queryable = asked_of(scene)
    both = [querier.asks("k", parameters=name, timeout_ms=int(scene.unit * 125)) for name in ("silent", "answered")]
    for asked in both:
        queryable.takes(asked)
    queryable.replies(both[1], b"early")

    ended = querier.us.wait_until(lambda: all(map(querier.finals, both)), scene.unit / 2)
    for asked in both:
        answers(queryable, asked, b"late")
    queryable.settles("after a late Response")

    for asked in both:
        querier.expect_final(asked, step="its timeout is over")
    querier.settles("after a late Response")
    scene.follows("timeout-told-as-error" if ended else None)


@case("reply/not-complete-before-finals", needs=ROUTES, control=a_query_reaches_a_queryable)
def a_query_does_not_end_before_its_timeout(scene: Scene) -> None:
    """
    A query with a long Timeout waits for its source: Timeout counts milliseconds.

        querier    REQUEST (Timeout: one minute)
        queryable  after a moment RESPONSE, RESPONSE_FINAL
        target     to the querier: RESPONSE, RESPONSE_FINAL, and nothing before
    """
    querier, queryable = asked_of(scene)
    asked = querier.asks("k", timeout_ms=60_000)
    queryable.takes(asked)

    is_answered_after_a_moment(querier, queryable, asked)


@case("query/budget-absent-unlimited", needs=(*ROUTES, "stream"), control=a_query_reaches_a_queryable)
def without_budget_all_answers_come(scene: Scene) -> None:
    """
    Without Budget as many answers come as are given.

        queryable  RESPONSE, three hundred times, RESPONSE_FINAL
        target     to the querier: the same
    """
    querier, queryable = asked_of(scene)
    asked = querier.asks("k", consolidation=1)

    for number in range(MANY):
        queryable.replies(asked, number.to_bytes(2, "big"))
    queryable.finishes(asked)

    querier.expect_answers(asked, [number.to_bytes(2, "big") for number in range(MANY)])


@case(
    "query/budget-stops-forwarding", needs=ROUTES, control=a_query_reaches_a_queryable, parameters=grid(budget=(1, 3))
)
def no_more_answers_come_than_the_budget_wants(scene: Scene, *, budget: int) -> None:
    """
    With a Budget the router forwards so many answers, and no more; to the next query as to the first one.

        querier    REQUEST (Budget)
        queryable  RESPONSE, one more than that, RESPONSE_FINAL
        target     to the querier: RESPONSE, as many as wanted, RESPONSE_FINAL
                   (all of it once more)
    """
    querier, queryable = asked_of(scene)
    us = querier.us
    for _ in range(2):
        asked = querier.asks("k", consolidation=1, budget=budget)

        for number in range(budget + 1):
            queryable.replies(asked, bytes([number]))
        queryable.finishes(asked)

        querier.expect_end(asked)
        came = len(querier.answers(asked))
        us.require(came <= budget, expected="no more answers than the budget", got="more", step="past the budget")
        with us.about("reply/reply-delivers-value"):
            us.require(came == budget, expected="as many answers as the budget", got="fewer", step="within the budget")


@case("reply/exactly-one-final", needs=ROUTES, control=a_query_reaches_a_queryable, breaks=("law/one-final",))
def a_second_final_changes_nothing(scene: Scene) -> None:
    """
    A queryable ends twice: the querier is told once, and what follows goes on.

        queryable  RESPONSE_FINAL, twice
        target     to the querier: RESPONSE_FINAL, once
    """
    querier, queryable = asked_of(scene)
    asked = querier.asks("k")

    queryable.finishes(asked)
    queryable.finishes(asked)
    queryable.settles("after a second ResponseFinal")

    querier.expect_answers(asked, [], step="one final")


@case("reply/exactly-one-final", needs=ROUTES, control=a_query_reaches_a_queryable, breaks=("law/one-final",))
def of_two_sources_one_cannot_end_for_both(scene: Scene) -> None:
    """
    One of two queryables ends twice: that does not stand for the other one.

        one        RESPONSE_FINAL, twice
        target     to the querier: nothing yet
        other      RESPONSE, RESPONSE_FINAL
        target     to the querier: RESPONSE, RESPONSE_FINAL
    """
    querier, one, other = parties(scene, "querier", "one", "other")
    for each in (one, other):
        each.declares_queryable("k")
    asked = querier.asks("k", target=Target.ALL)
    other.takes(asked)

    one.finishes(asked)
    one.finishes(asked)
    one.settles()
    querier.settles()
    early = querier.finals(asked)
    querier.us.require(not early, expected="no ResponseFinal yet", got="ResponseFinal", step="after one source, twice")
    answers(other, asked, b"2")

    querier.expect_answers(asked, [b"2"], step="the other one's answer")


@case(
    "reply/nothing-after-final", needs=ROUTES, control=a_query_reaches_a_queryable, breaks=("law/nothing-after-final",)
)
def an_answer_after_the_final_is_dropped(scene: Scene) -> None:
    """
    A queryable answers after it has ended: the querier gets nothing after the final.

        queryable  RESPONSE_FINAL, RESPONSE
        target     to the querier: RESPONSE_FINAL, and nothing after it
    """
    querier, queryable = asked_of(scene)
    asked = querier.asks("k", consolidation=1)
    answers(queryable, asked, b"1")

    queryable.replies(asked, b"late")
    queryable.settles("after a late Response")

    querier.expect_answers(asked, [b"1"], step="nothing after the final")


@case(
    "reply/response-correlates",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    breaks=("law/finals-end-requests", "law/responses-answer-requests"),
)
def an_answer_to_nothing_goes_nowhere(scene: Scene) -> None:
    """
    Answers and finals to a query that never was come to nobody, and end nothing.

        stranger   RESPONSE, RESPONSE_FINAL (ids of no query of its own)
        target     to the querier: nothing; its own query goes on
    """
    querier, queryable, stranger = parties(scene, "querier", "queryable", "stranger")
    queryable.declares_queryable("k")
    asked = querier.asks("k", consolidation=1)
    number = queryable.takes(asked)
    stray = Reply(body=Put(payload=b"stray"))

    for wrong in sorted({number, asked.id, (number + 1000) & stranger.us.request_mask}):
        stranger.says(Response(id=wrong, key=querier.key("k"), body=stray), ResponseFinal(id=wrong))
    stranger.settles("after answers to nothing")
    querier.settles()
    answers(queryable, asked, b"1")

    querier.expect_answers(asked, [b"1"], step="its own answers")


@case(
    "reply/exactly-one-final",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(number=(MANY,)),
    nightly=grid(number=(MOST,)),
)
def many_queries_are_open_at_once(scene: Scene, *, number: int) -> None:
    """
    Hundreds of queries (by night ten thousand) are open at once, and are answered in another order: each gets its own answer and final.

        querier    REQUEST, so many times
        queryable  RESPONSE, RESPONSE_FINAL to each, the last one first
        target     to the querier: each under its id
    """
    querier, queryable = parties(scene, "querier", "queryable")
    number = min(number, *(each.us.request_mask // 2 for each in (querier, queryable)))  # half of the ids stay free
    queryable.declares_queryable("k")
    asked: list[Asked] = []
    for first in range(0, number, HANDFUL):
        some = range(first, min(first + HANDFUL, number))
        asked += [querier.asks("k", parameters=str(one), timeout_ms=LONG_MS, exts=sane.SURELY) for one in some]
        for each in asked[first:]:
            queryable.takes(each)
        queryable.settles()  # a session that never sends is taken for dead

    for after in range(number, 0, -HANDFUL):
        some = range(max(0, after - HANDFUL), after)
        for one in reversed(some):
            queryable.replies(asked[one], one.to_bytes(2, "big"), exts=sane.SURELY)
            queryable.finishes(asked[one], exts=sane.SURELY)
        for one in some:
            querier.expect_final(asked[one], step="each of many")
        querier.settles()

    got = [[payload_of(one.message) for one in querier.answers(each)] for each in asked]
    right = got == [[one.to_bytes(2, "big")] for one in range(number)]
    with querier.us.about("reply/response-correlates"):
        querier.us.require(right, expected="its own answer to each", got="others", step="each of many")
    once = all(querier.finals(each) == 1 for each in asked)
    querier.us.require(once, expected="one ResponseFinal for each", got="another count", step="each of many")


@case("reply/final-always-comes", needs=ROUTES, control=a_query_reaches_a_queryable)
def who_has_left_is_not_waited_for(scene: Scene) -> None:
    """
    A session that served a key has left: a query for that key ends, once the node has noticed.

        queryable  CLOSE
        querier    REQUEST; once more, if the first may have gone to the session that left
        target     RESPONSE_FINAL
    """
    querier, queryable = asked_of(scene)
    queryable.leaves()

    early = querier.asks("k")
    if not querier.awaits(lambda: querier.finals(early) > 0):
        querier.expect_final(querier.asks("k"), step="it ends")


@case(
    "query/query-complete-on-finals",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(back=(False, True)),
)
def who_asked_may_leave(scene: Scene, *, back: bool) -> None:
    """
    The querier leaves before the answer, and may come again: the queryable and others are served as before, and a new session of the
    same node hears nothing of what the old one asked.

        querier    REQUEST, CLOSE; perhaps a new session
        queryable  RESPONSE, RESPONSE_FINAL
        target     others' queries go on
    """
    querier, queryable, other = parties(scene, "querier", "queryable", "other")
    queryable.declares_queryable("k")
    asked = querier.asks("k")
    queryable.takes(asked)

    querier.leaves()
    later = comes_back(scene, querier.us.zid, step="not reached: a new session") if back else None
    answers(queryable, asked, b"1")
    queryable.settles("who asked has left")
    again = other.asks("k", parameters="again")
    answers(queryable, again, b"2")

    other.expect_answers(again, [b"2"], step="another one's query")
    if later is not None:
        heard = [seen for seen in later.fence() if isinstance(seen.message, Response)]
        later.require(not heard, expected="no Response", got="Response", step="what the session before it asked")


@case(
    "query/request-direct-in-low-latency",
    profile="low-latency",
    needs=(*ROUTES, "low-latency"),
    control=a_query_reaches_a_queryable,
)
def a_query_passes_without_frame(scene: Scene) -> None:
    """
    On low-latency sessions a REQUEST stands in the batch by itself.

        querier  REQUEST, without FRAME
        target   to the queryable: REQUEST
    """
    querier, queryable = low_latency(scene, "querier", "queryable")
    queryable.declares_queryable("k")

    queryable.takes(querier.asks("k"), step="the query is passed on")


@case(
    "reply/response-direct-in-low-latency",
    profile="low-latency",
    needs=(*ROUTES, "low-latency"),
    control=a_query_reaches_a_queryable,
)
def answers_pass_without_frame(scene: Scene) -> None:
    """
    On low-latency sessions RESPONSE and RESPONSE_FINAL stand in batches by themselves.

        queryable  RESPONSE, RESPONSE_FINAL, without FRAME
        target     to the querier: the same
    """
    querier, queryable = low_latency(scene, "querier", "queryable")
    queryable.declares_queryable("k")
    asked = querier.asks("k")
    answers(queryable, asked, b"1")

    querier.expect_answers(asked, [b"1"])


@case("query/budget-not-zero", needs=ROUTES, control=a_query_reaches_a_queryable, breaks=("law/budget-not-zero",))
def a_budget_of_zero_is_not_passed_on(scene: Scene) -> None:
    """
    A Budget of zero is none of the values that the page allows: a router refuses the query or takes it for one without, and says no
    such thing itself.

        querier  REQUEST (Budget 0)
        target   to the queryable: REQUEST without Budget, or nothing
    """
    querier, queryable = asked_of(scene)

    querier.asks("k", budget=0)
    querier.settles_or_ends()

    zero = any(Budget(value=0) in heard.message.exts for heard in queryable.now(Request))
    queryable.us.require(not zero, expected="no Budget of 0", got="Budget of 0", step="the query is passed on")


@case("query/request-id-in-range", needs=ROUTES, control=a_query_reaches_a_queryable)
def a_query_fits_the_range_of_who_gets_it(scene: Scene) -> None:
    """
    The queryable's session has request ids of 8 bits: the queries that come there have such ids.

        queryable  InitSyn (request ids of 8 bits) .. DECLARE (queryable)
        querier    REQUEST (id 70000, or the largest of its session)
        target     to the queryable: REQUEST (an id up to 255)
    """
    (querier,) = parties(scene, "querier")
    us = scene.dialogue("queryable").open(resolution=RID_8)
    queryable = Party(us, "queryable", querier.root)
    queryable.declares_queryable("k")

    number = queryable.takes(querier.asks("k", number=min(70_000, querier.us.request_mask)))

    us.require(number < 256, expected="an id of 8 bits", got="a larger one", step="the query is passed on")
