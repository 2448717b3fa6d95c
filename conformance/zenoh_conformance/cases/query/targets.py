"""To whom a query goes: key expressions, targets, completeness; and ids. Toward a node that routes between its clients."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.routing.plain import (
    BY_NUMBER,
    MISSES,
    ROUTES,
    a_query_reaches_a_queryable,
    answers,
    asked_of,
    by_number,
    pairs,
)
from zenoh_conformance.messages import ConsolidationMode, InterestMode, InterestOptions, Request, Target, UQueryable
from zenoh_conformance.talking import Asked, Party, Scene, one_more, parties

RID_8 = 0x02
"""Resolution byte: request ids of 8 bits, sequence numbers as usual."""

IDS = (0, 1, 127, 128, 16_383, 16_384, 2**32 - 1)
"""Request ids at the edges of VLE and of the default resolution."""


@case("query/query-only-intersecting", needs=ROUTES, control=a_query_reaches_a_queryable, parameters=pairs(MISSES))
def a_query_reaches_no_other(scene: Scene, *, declared: str, said: str) -> None:
    """
    A query goes to nobody whose key expression it does not meet, and is final at once.

        queryable  DECLARE (queryable)
        querier    REQUEST (a key beside it, target All)
        target     to the queryable: nothing; to the querier: RESPONSE_FINAL
    """
    querier, queryable = parties(scene, "querier", "queryable")
    queryable.declares_queryable(declared)

    asked = querier.asks(said, target=Target.ALL)

    querier.expect_end(asked)
    queryable.expect_no_request(asked)


@case("query/query-only-intersecting", needs=ROUTES, control=a_query_reaches_a_queryable)
def who_has_left_off_is_not_asked(scene: Scene) -> None:
    """
    A queryable that was taken back is not asked.

        queryable  DECLARE (queryable), DECLARE (undeclare)
        querier    REQUEST
        target     to the queryable: nothing; to the querier: RESPONSE_FINAL
    """
    querier, queryable = parties(scene, "querier", "queryable")
    declared = queryable.declares_queryable("k")
    queryable.finishes(querier.asks("k", parameters="plain"))

    queryable.retracts(UQueryable, declared.id)
    asked = querier.asks("k", parameters="after")

    querier.expect_final(asked, step="not reached: the query ends")
    came = [heard for heard in queryable.now(Request) if heard.message.body.parameters == "after"]
    queryable.us.require(not came, expected="no Request", got="Request", step="taken back")


def several(scene: Scene, *complete: bool) -> tuple[Party, list[Party]]:
    """A querier, and as many queryables of one key as there are values: whether each is complete."""
    querier, *others = parties(scene, "querier", *(f"queryable-{at}" for at in range(len(complete))))
    for each, is_complete in zip(others, complete, strict=True):
        each.declares_queryable("k", complete=is_complete)
    return querier, others


def asked_ones(asked: Asked, others: list[Party]) -> list[int]:
    """Which of them the query comes to: they finish, and when the query is final there are no more."""
    us, got = asked.by.us, set[int]()
    deadline = us.wire.now() + us.unit
    asked.by.settles()
    while True:
        for at, each in enumerate(others):
            if at not in got and any(one.key == asked.key for one in each.now(Request)):
                each.finishes(asked)
                got.add(at)
        if asked.by.finals(asked) or us.wire.now() >= deadline:
            return sorted(got)
        us.next(us.unit / 16)


@case("query/query-only-intersecting", needs=ROUTES, control=a_query_reaches_a_queryable)
def a_query_goes_under_no_other_key(scene: Scene) -> None:
    """
    A query arrives under its own key and under no other: neither at a queryable nor at a session that serves nothing.

        queryable  DECLARE (queryable)
        querier    REQUEST (parameters that nobody else has)
        target     to the queryable: REQUEST; to the querier and the stranger: nothing with these parameters, of whatever key
    """
    querier, queryable, stranger = parties(scene, "querier", "queryable", "stranger")
    queryable.declares_queryable("k")
    mark = f"asked by {querier.us.zid.hex()}"

    asked = querier.asks("k", parameters=mark)
    queryable.takes(asked)
    queryable.finishes(asked)
    querier.expect_end(asked)

    for each in (querier, queryable, stranger):
        each.settles()
        astray = each.strays(mark.encode())
        each.us.require(astray == 0, expected="no key but its own", got="another", step=f"to the {each.name}")


@case("query/all-reaches-every-match", needs=ROUTES, control=a_query_reaches_a_queryable)
def all_are_asked(scene: Scene) -> None:
    """
    Target All: every queryable that matches is asked, complete or not.

        three      DECLARE (queryable), one of them complete, and another one with a wildcard
        querier    REQUEST (target All), twice
        target     to each of the three: REQUEST, twice
    """
    querier, others = several(scene, True, False)
    others.append(one_more(scene, "queryable-2", querier))
    others[-1].declares_queryable("k/**")

    for mode in (ConsolidationMode.NONE, ConsolidationMode.MONOTONIC):
        asked = querier.asks("k", target=Target.ALL, parameters=f"mode={mode.value}", consolidation=mode)

        for each in others:
            each.takes(asked, step="to every match")
            each.finishes(asked)
        querier.expect_end(asked)


@case("query/all-complete-reaches-complete", needs=ROUTES, control=a_query_reaches_a_queryable)
def all_complete_ones_are_asked(scene: Scene) -> None:
    """
    Target AllComplete: every complete queryable is asked, and no other.

        four       DECLARE (queryable), two of them complete
        querier    REQUEST (target AllComplete)
        target     to both complete ones: REQUEST; to the others: nothing
    """
    querier, others = several(scene, True, False, True, False)

    asked = querier.asks("k", target=Target.ALL_COMPLETE)

    got = asked_ones(asked, others)
    querier.us.require(bool(got), expected="Request", got="silence", step="to whom")
    querier.us.require(
        got == [0, 2], expected="the complete ones asked", got=f"{len(got)} of another choice", step="to whom"
    )


@case("query/all-complete-reaches-complete", needs=ROUTES, control=a_query_reaches_a_queryable)
def the_complete_one_of_a_session_is_asked(scene: Scene) -> None:
    """
    Target AllComplete: a session with two queryables that match is asked if one of them is complete, the later one or the earlier one.

        one, other  DECLARE (queryable k), DECLARE (queryable k/**), the second or the first of them complete
        querier     REQUEST (target AllComplete)
        target      to both: REQUEST
    """
    querier, one, other = parties(scene, "querier", "one", "other")
    for each, later in ((one, True), (other, False)):
        each.declares_queryable("k", complete=not later)
        each.declares_queryable("k/**", complete=later)

    asked = querier.asks("k", target=Target.ALL_COMPLETE)

    for each in (one, other):
        each.takes(asked, step=f"{each.name} is asked")


@case("query/all-complete-reaches-complete", needs=ROUTES, control=a_query_reaches_a_queryable)
def nobody_complete_is_nobody_asked(scene: Scene) -> None:
    """
    Target AllComplete where nobody is complete: nobody is asked, and the query is final.

        queryable  DECLARE (queryable, not complete)
        querier    REQUEST (target AllComplete)
        target     to the queryable: nothing; to the querier: RESPONSE_FINAL
    """
    querier, (queryable,) = several(scene, False)

    asked = querier.asks("k", target=Target.ALL_COMPLETE)

    querier.expect_final(asked, step="it ends")
    queryable.expect_no_request(asked)


@case("query/all-complete-reaches-complete", needs=ROUTES, control=a_query_reaches_a_queryable)
def complete_is_said_of_its_own_key(scene: Scene) -> None:
    """
    A queryable that is complete for more than the query asks gets the query; one that covers all of it and is not complete does not.
    One that is complete for a part of it gets the query as written, and does not as the baseline does; either is right.

        all      DECLARE (queryable, complete) of k/**
        part     DECLARE (queryable, complete) of k/a
        rest     DECLARE (queryable, not complete) of k/**, DECLARE (queryable, complete) of another key
        beside   DECLARE (queryable, complete) of another key
        querier  REQUEST (k/*, target AllComplete)
        target   to all: REQUEST; to part: REQUEST, or nothing; to rest and beside: nothing
    """
    querier, *others = parties(scene, "querier", "all", "part", "rest", "beside")
    for each, key in zip(others, ("k/**", "k/a", "k/**", "x/a"), strict=True):
        each.declares_queryable(key, complete=each.name != "rest")
    others[2].declares_queryable("x/b", complete=True)

    asked = querier.asks("k/*", target=Target.ALL_COMPLETE)

    got = asked_ones(asked, others)
    querier.us.require(bool(got), expected="Request", got="silence", step="to whom")
    right = got in ([0], [0, 1])
    querier.us.require(right, expected="the complete ones asked", got=f"{len(got)} of another choice", step="to whom")
    scene.follows("all-complete-covers-the-query" if got == [0] else None)


@case(
    "query/all-complete-reaches-complete",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(complete=(True, False)),
)
def a_queryable_is_as_complete_as_it_was_declared_last(scene: Scene, *, complete: bool) -> None:
    """
    A queryable is declared again under its id, with another completeness: what was said last holds.

        queryable  DECLARE (queryable 7, complete or not), DECLARE (queryable 7, the other way)
        querier    REQUEST (target AllComplete)
        target     to the queryable: REQUEST if it is complete now, else nothing
    """
    querier, (queryable,) = several(scene, not complete)
    [(_, entity)] = queryable.keys
    queryable.declares_queryable("k", complete=complete, entity=entity)

    asked = querier.asks("k", target=Target.ALL_COMPLETE)

    got = asked_ones(asked, [queryable])
    expected = "it is asked" if complete else "it is not asked"
    querier.us.require(len(got) == complete, expected=expected, got="the other", step="as it was declared last")


@case("query/best-matching-reaches-one", needs=ROUTES, control=a_query_reaches_a_queryable)
def the_best_match_is_asked(scene: Scene) -> None:
    """
    Target BestMatching where some are complete: one of those is asked, and nobody else.

        four       DECLARE (queryable), two of them complete
        querier    REQUEST (target BestMatching)
        target     to one of the complete ones: REQUEST; to the others: nothing
    """
    querier, others = several(scene, False, True, True, False)

    asked = querier.asks("k", target=Target.BEST_MATCHING)

    got = asked_ones(asked, others)
    querier.us.require(
        got in ([1], [2]), expected="one that is complete asked", got=f"{len(got)} asked", step="to whom"
    )


@case("query/best-matching-reaches-one", needs=ROUTES, control=a_query_reaches_a_queryable)
def somebody_is_asked_where_nobody_is_complete(scene: Scene) -> None:
    """
    Target BestMatching where nobody is complete: one is asked as written, all as the baseline does; never nobody.

        three      DECLARE (queryable, not complete)
        querier    REQUEST (target BestMatching)
        target     to one of them, or to all: REQUEST
    """
    querier, others = several(scene, False, False, False)

    asked = querier.asks("k", target=Target.BEST_MATCHING)

    got = asked_ones(asked, others)
    right = len(got) in (1, len(others))
    querier.us.require(right, expected="one asked, or all", got=f"{len(got)} asked", step="to whom")
    scene.follows(None if len(got) == 1 else "best-match-asks-all-incomplete")


@case("query/query-target-default", needs=ROUTES, control=a_query_reaches_a_queryable)
def without_target_the_best_match_is_asked(scene: Scene) -> None:
    """
    Without QueryTarget the best match is asked.

        two        DECLARE (queryable, complete)
        querier    REQUEST, without QueryTarget
        target     to one of them: REQUEST
    """
    querier, others = several(scene, True, True)

    asked = querier.asks("k")

    got = asked_ones(asked, others)
    querier.us.require(len(got) == 1, expected="one asked", got=f"{len(got)} asked", step="to whom")


@case("query/query-only-intersecting", needs=ROUTES, control=a_query_reaches_a_queryable)
def a_query_does_not_come_back(scene: Scene) -> None:
    """
    Who asks for what it serves itself is not asked by itself.

        both     DECLARE (queryable)
        querier  REQUEST (target All)
        target   to the other: REQUEST; to the querier: nothing
    """
    querier, other = parties(scene, "querier", "other")
    querier.declares_queryable("k")
    other.declares_queryable("k")

    asked = querier.asks("k", target=Target.ALL)

    other.finishes(asked)
    querier.expect_end(asked)
    querier.expect_no_request(asked, step="back")


@case("query/request-id-session-local", needs=ROUTES, control=a_query_reaches_a_queryable)
def two_queriers_may_use_the_same_id(scene: Scene) -> None:
    """
    Two sessions have open queries of the same id: each gets its own answer.

        one, other  REQUEST (id 200), of different parameters
        target      to the queryable: two REQUESTs
        queryable   RESPONSE to each, the later one first
        target      to each querier: its own
    """
    one, queryable = parties(scene, "one", "queryable")
    other = one_more(scene, "other", one)
    queryable.declares_queryable("k")
    asked = [each.asks("k", number=200, parameters=name) for each, name in ((one, "one"), (other, "other"))]
    taken = [queryable.takes(each, step="both are passed on") for each in asked]
    queryable.us.require(taken[0] != taken[1], expected="two ids", got="one id for both", step="both are passed on")

    for each, answer in ((asked[1], b"2"), (asked[0], b"1")):
        answers(queryable, each, answer)

    one.expect_answers(asked[0], [b"1"], step="the one's answers")
    other.expect_answers(asked[1], [b"2"], step="the other's answers")


@case("reply/final-matches-request", needs=ROUTES, control=a_query_reaches_a_queryable, parameters=grid(number=IDS))
def the_id_comes_back_as_it_was(scene: Scene, *, number: int) -> None:
    """
    What answers a query, and what ends it, has the id that the querier gave it.

        querier    REQUEST (that id, or the largest of its session)
        target     to the queryable: REQUEST
        queryable  RESPONSE, RESPONSE_FINAL (the id that the target gave it)
        target     to the querier: RESPONSE, RESPONSE_FINAL (that id)
    """
    querier, queryable = asked_of(scene)
    asked = querier.asks("k", number=min(number, querier.us.request_mask))

    with queryable.us.about("query/query-reaches-intersecting"):
        queryable.takes(asked, step="the query is passed on")
    answers(queryable, asked, b"1")

    querier.expect_answers(asked, [b"1"], step="under its own id")


@case(
    "query/request-id-out-of-range-refused",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(number=(256, 300, 70_000)),
    breaks=("law/request-id-in-range",),
)
def an_id_out_of_range_is_not_served(scene: Scene, *, number: int) -> None:
    """
    On a session with request ids of 8 bits an id of more is not served.

        querier    InitSyn (request ids of 8 bits) .. REQUEST (id 300)
        target     to the queryable: nothing; the querier's session may end
    """
    (queryable,) = parties(scene, "queryable")
    queryable.declares_queryable("k")
    us = scene.dialogue("querier").open(resolution=RID_8)
    querier = Party(us, "querier", queryable.root)
    queryable.finishes(querier.asks("k", number=200, parameters="plain"))

    asked = querier.asks("k", number=number)
    querier.settles_or_ends()

    came = [heard for heard in queryable.now(Request) if heard.key == asked.key]
    queryable.us.require(len(came) == 1, expected="no Request", got="Request", step="an id out of range")


@case(
    "query/request-mapping-side",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=BY_NUMBER,
)
def a_query_may_name_its_key_by_number(scene: Scene, *, how: str) -> None:
    """
    A query names its key by a number of its sender (M), with a suffix or without, or by one of its receiver.

        querier  DECLARE (key expression), REQUEST (M, that number)
        target   to the queryable: REQUEST, the whole key
    """
    querier, queryable = parties(scene, "querier", "queryable")
    wanted = InterestOptions.KEY_EXPRS | InterestOptions.QUERYABLES
    querier.asks_interest(wanted, InterestMode.CURRENT_FUTURE, "k/b")
    querier.settles()
    for key in ("k/a", "k/a/c", "k/b", "k/ab"):
        queryable.declares_queryable(key)
    querier.now()
    named = by_number(querier, how)
    if named is None:
        return
    number, whole = named

    asked = querier.asks(number, target=Target.ALL)

    meant = Asked(asked.id, querier.whole(whole), asked.request, querier)
    queryable.takes(meant, step="the key")
