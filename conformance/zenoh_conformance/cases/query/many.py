"""Many queries, at once or in turn, toward a node that routes between its clients: each is one of its own, and ends."""

from __future__ import annotations

from zenoh_conformance.cases.case import case
from zenoh_conformance.cases.routing.plain import ROUTES, a_query_reaches_a_queryable, asked_of
from zenoh_conformance.messages import Request, ResponseFinal, Target, sane
from zenoh_conformance.talking import Party, Scene, parties
from zenoh_conformance.wire import Exts

from .ends import LONG_MS, a_query_fits_the_range_of_who_gets_it
from .targets import RID_8

ALIKE = 24
"""Queries at once that ask for the same."""
IN_TURN, HANDFUL = 300, 10
"""Queries, more than there are ids of 8 bits, and how many of them are open at once."""
TURNS = 32
"""How often what comes of them is looked at, within our patience twice over."""


@case("reply/final-always-comes", needs=ROUTES, control=a_query_reaches_a_queryable)
def each_of_many_alike_ends(scene: Scene) -> None:
    """
    Queries that ask for the same are open at once: each ends, once the queryable has ended whatever of them came to it.

        querier    REQUEST, so many times, of one key
        queryable  RESPONSE_FINAL to each that comes
        target     to the querier: RESPONSE_FINAL to each
    """
    querier, queryable = asked_of(scene)

    asked = [querier.asks("k", timeout_ms=LONG_MS, exts=sane.SURELY, query_exts=()) for _ in range(ALIKE)]
    ended = 0
    for turn in range(TURNS):  # no fence here: it may be a query as well, and there may be room for none
        listens(queryable, TURNS)
        come = queryable.heard(Request)
        if len(come) >= ALIKE or turn >= TURNS / 2:
            queryable.says(*(ResponseFinal(id=one.message.id, exts=Exts(sane.SURELY)) for one in come[ended:]))
            ended = len(come)
        listens(querier, TURNS)
        if all(map(querier.finals, asked)):
            return
    querier.us.require(not querier.us.is_over, expected="the session", got="its end", step="not reached: room for them")
    finals = sum(querier.finals(one) > 0 for one in asked)
    querier.us.deviate(expected=f"{ALIKE} ResponseFinal", got=f"{finals}", step="each ends")


@case(
    "query/request-id-in-range",
    needs=ROUTES,
    control=a_query_fits_the_range_of_who_gets_it,
    parameters=({}, {"ours_as_well": True}),
)
def request_ids_begin_anew(scene: Scene, *, ours_as_well: bool = False) -> None:
    """
    More queries come to a session than there are request ids of 8 bits, ten at a time: each has an id of 8 bits. Those that we send
    may have the ids of others that have ended: each is served.

        queryable  InitSyn (request ids of 8 bits) .. DECLARE (queryable)
        querier    REQUEST, 300 times, from two sessions in turn; perhaps with the same ten ids
        target     to the queryable: REQUEST (an id up to 255)
        queryable  RESPONSE_FINAL
        target     to the querier: RESPONSE_FINAL
    """
    queriers = parties(scene, "querier", "other")  # two, who may have ids of 8 bits themselves
    us = scene.dialogue("queryable").open(resolution=RID_8)
    queryable = Party(us, "queryable", queriers[0].root)
    queryable.declares_queryable("k")

    for first in range(0, IN_TURN, HANDFUL):
        querier = queriers[first // HANDFUL % len(queriers)]
        ours = range(HANDFUL) if ours_as_well else [None] * HANDFUL
        some = [
            querier.asks("k", parameters=f"n={first + one}", exts=sane.SURELY, number=number)
            for one, number in enumerate(ours)
        ]
        for asked in some:
            number = queryable.takes(asked)
            us.require(number < 256, expected="an id of 8 bits", got="a larger one", step="a query of many")
            queryable.finishes(asked, exts=sane.SURELY)
        for asked in some:
            querier.expect_end(asked)
            querier.counts_anew(asked.id)


def listens(who: Party, part: int) -> None:
    """Take in what comes within that part of our patience."""
    for _ in who.us.stream(who.us.unit / part, silent=False):
        pass


@case("query/request-id-not-in-use", needs=ROUTES, control=a_query_reaches_a_queryable)
def who_serves_it_twice_is_asked_under_an_id_once(scene: Scene) -> None:
    """
    Two queryables of one session serve what is asked: it is asked once, or once for each of them, under ids that differ.

        queryable  DECLARE (queryable of k), DECLARE (queryable of k/**)
        querier    REQUEST (k, target All)
        target     to the queryable: REQUEST, or two of different ids
        queryable  RESPONSE_FINAL to each
        target     to the querier: RESPONSE_FINAL
    """
    querier, queryable = parties(scene, "querier", "queryable")
    for key in ("k", "k/**"):
        queryable.declares_queryable(key)

    asked = querier.asks("k", target=Target.ALL, timeout_ms=LONG_MS)
    queryable.takes(asked)
    ids = [one.message.id for one in queryable.now(Request) if one.key == asked.key]

    free = len(ids) == len(set(ids))
    queryable.us.require(free, expected="an id that is free", got="an id twice", step="the query is passed on")
    ended: set[int] = set()
    for _ in range(TURNS):
        come = {one.message.id for one in queryable.heard(Request) if one.key == asked.key} - ended
        queryable.says(*(ResponseFinal(id=each) for each in sorted(come)))
        ended |= come
        listens(queryable, TURNS)
        listens(querier, TURNS)
        if querier.finals(asked):
            return
    with querier.us.about("reply/final-always-comes"):
        querier.us.deviate(expected="ResponseFinal", got="none", step="the query ends")
