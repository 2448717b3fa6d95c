"""What becomes of an interest: what its snapshot told is taken back later, its id serves again, and it is one of its own."""

from __future__ import annotations

from itertools import permutations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishment.states import comes_back
from zenoh_conformance.cases.routing.plain import KINDS, ROUTES
from zenoh_conformance.messages import Declare, InterestMode, InterestOptions
from zenoh_conformance.talking import Party, Scene, parties

from .snapshots import who_asks_is_told
from .telling import (
    BOTH,
    KIND,
    OPTION,
    TAKEN_BACK,
    declares,
    is_final,
    tells_who_asks_nothing,
    told_of,
    waits_for,
    watched,
)


@case("declarations/forwarded-on-interest", needs=ROUTES, control=who_asks_is_told, parameters=KINDS)
def what_a_snapshot_told_is_taken_back(scene: Scene, *, kind: str) -> None:
    """
    What was there when the interest came is told, and when it goes, that is told, too.

        other    DECLARE (..)
        watcher  INTEREST (CurrentFuture)
        target   to the watcher: DECLARE (I, ..), DECLARE (I, D_FINAL)
        other    DECLARE (undeclare)
        target   to the watcher: DECLARE (undeclare, the id that it was told)
    """
    watcher, other = parties(scene, "watcher", "other")
    entity = declares(other, kind, "k/a")
    watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/**")
    told = waits_for(scene, watcher, kind, "k/a", step="not reached: the snapshot").body

    gone = TAKEN_BACK[kind]
    other.retracts(gone, entity)

    back = watcher.expect(Declare, lambda heard: isinstance(heard.message.body, gone), step="taken back").message.body
    watcher.us.require(back.id == told.id, expected="the id that was told", got="another", step="taken back")


@case("interests/snapshot-ends-with-final", needs=ROUTES, control=who_asks_is_told, parameters=grid(mode=BOTH))
def an_interest_that_is_over_may_be_asked_anew(scene: Scene, *, mode: InterestMode) -> None:
    """
    The id of an interest that has ended is free: who asks under it again is answered again.

        watcher  INTEREST (Current; or CurrentFuture, and Final), INTEREST (the same again)
        target   to the watcher: DECLARE (I, D_FINAL), twice
    """
    (watcher,) = parties(scene, "watcher")
    for step in ("not reached: an interest", "the same again"):
        interest = watcher.asks_interest(InterestOptions.TOKENS, mode, "k/**", number=7)
        watcher.expect(Declare, lambda heard: is_final(heard, 7), step=step, what="DFinal")
        if mode & InterestMode.FUTURE:
            watcher.ends_interest(interest.id)
        watcher.settles()


@case("declarations/forwarded-on-interest", needs=ROUTES, control=who_asks_is_told, parameters=KINDS)
def what_was_taken_back_may_come_again(scene: Scene, *, kind: str) -> None:
    """
    Something is declared, taken back, and declared again under its id: the watcher is told each time.

        other    DECLARE (.. 7), DECLARE (undeclare 7), DECLARE (.. 7)
        target   to the watcher: DECLARE (..), DECLARE (undeclare), DECLARE (..)
    """
    watcher, other = watched(scene, kind)
    entity = declares(other, kind, "k/a")
    waits_for(scene, watcher, kind, "k/a")
    other.retracts(TAKEN_BACK[kind], entity)
    watcher.expect(
        Declare, lambda heard: isinstance(heard.message.body, TAKEN_BACK[kind]), step="not reached: taken back"
    )

    declares(other, kind, "k/a", entity)

    waits_for(scene, watcher, kind, "k/a", step="declared again")


@case("declarations/forwarded-on-interest", needs=ROUTES, control=who_asks_is_told, parameters=KINDS)
def an_interest_outlives_the_end_of_another(scene: Scene, *, kind: str) -> None:
    """
    Of four interests of a session one ends: what the others want is told on.

        watcher  INTEREST (CurrentFuture) of k/a, k/b, k/c and k/d, INTEREST (Final, the first one's id)
        other    DECLARE (.. k/b), DECLARE (.. k/c), DECLARE (.. k/d)
        target   to the watcher: DECLARE of each
    """
    watcher, other = parties(scene, "watcher", "other")
    ended = watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/a")
    others = ("k/b", "k/c", "k/d")
    for key in others:
        watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, key)
    watcher.settles()
    watcher.ends_interest(ended.id)
    watcher.settles()

    for key in others:
        declares(other, kind, key)

    for key in others:
        waits_for(scene, watcher, kind, key, step="what the others want")


@case("interests/snapshot-ends-with-final", needs=ROUTES, control=who_asks_is_told)
def interests_of_two_sessions_may_have_one_id(scene: Scene) -> None:
    """
    Two sessions are interested under the same id: each is answered, and when the one ends its interest the other is told on.

        other     DECLARE (token k/a)
        one, two  INTEREST (CurrentFuture, id 7)
        target    to each: DECLARE (I, 7, token k/a), DECLARE (I, 7, D_FINAL)
        one       INTEREST (Final, id 7)
        other     DECLARE (token k/b)
        target    to two: DECLARE (token k/b)
    """
    one, two, other = parties(scene, "one", "two", "other")
    other.declares_token("k/a")
    for each in (one, two):
        each.asks_interest(InterestOptions.TOKENS, InterestMode.CURRENT_FUTURE, "k/**", number=7)
        waits_for(scene, each, "token", "k/a", step=f"the snapshot of {each.name}")
        each.expect(Declare, lambda heard: is_final(heard, 7), step=f"its end for {each.name}", what="DFinal")

    one.ends_interest(7)
    one.settles()
    other.declares_token("k/b")

    with two.us.about("declarations/forwarded-on-interest"):
        waits_for(scene, two, "token", "k/b", step="another session's interest ended")


@case(
    "declarations/forwarded-on-interest",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=[{"kind": kind, "other": other} for kind, other in permutations(KIND, 2)],
)
def each_kind_has_ids_of_its_own(scene: Scene, *, kind: str, other: str) -> None:
    """
    Something of one kind and something of another have one id; the other is taken back: the one stands.

        us       DECLARE (.. 7), DECLARE (another kind 7), DECLARE (undeclare the other kind 7)
        watcher  INTEREST (CurrentFuture)
        target   to the watcher: DECLARE (..)
    """
    watcher, us = parties(scene, "watcher", "us")
    number = declares(us, kind, "k/a")
    declares(us, other, "k/b", number)
    us.retracts(TAKEN_BACK[other], number)

    watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/**")

    waits_for(scene, watcher, kind, "k/a", step="what has the same id")


@case("interests/snapshot-ends-with-final", needs=ROUTES, control=who_asks_is_told, parameters=grid(kind=KIND))
def who_comes_again_is_told_again(scene: Scene, *, kind: str) -> None:
    """
    A node that was told of something ends its session and opens another: it is told again, as soon as it asks, and of what comes until
    then only if any session is.

        watcher  INTEREST (CurrentFuture)
        target   to the watcher: DECLARE (..)
        watcher  CLOSE; a new session of the same node
        other    DECLARE (.. of another key)
        watcher  INTEREST (CurrentFuture)
        target   to the watcher: DECLARE (..), DECLARE (D_FINAL)
    """
    watcher, other = watched(scene, kind)
    declares(other, kind, "k/a")
    waits_for(scene, watcher, kind, "k/a")
    watcher.leaves()

    again = Party(comes_back(scene, watcher.us.zid, step="not reached: a new session"), "again", watcher.root)
    declares(other, kind, "k/b")
    other.settles()
    again.settles()
    unasked = bool(told_of(again, kind)) and not tells_who_asks_nothing(scene, again, kind)
    with again.us.about("close/session-close-ends-session"):
        again.us.require(not unasked, expected="no declaration", got=kind, step="what the session before asked for")
    again.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/**")

    waits_for(scene, again, kind, "k/a", step="the snapshot of a node that comes again")
