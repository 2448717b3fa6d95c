"""INTEREST and what a routing node tells of others' declarations. Toward a node that routes between its clients."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.routing.plain import ROUTES
from zenoh_conformance.messages import (
    Declare,
    DToken,
    Interest,
    InterestMode,
    InterestOptions,
    Push,
    Put,
    QueryableInfo,
)
from zenoh_conformance.talking import Party, Scene, parties

from .telling import (
    ALL,
    BOTH,
    DECLARED,
    KIND,
    OPTION,
    TAKEN_BACK,
    answers_alone,
    declares,
    expect_keys,
    finals,
    is_final,
    keys,
    told_of,
    waits_for,
    watched,
)


@case("declarations/forwarded-on-interest", needs=ROUTES, parameters=grid(kind=KIND))
def who_asks_is_told(scene: Scene, *, kind: str) -> None:
    """
    A session with a matching interest is told what another one declares, and when it is taken back.

        watcher  INTEREST (CurrentFuture)
        other    DECLARE (..)
        target   to the watcher: DECLARE (..)
        other    DECLARE (undeclare)
        target   to the watcher: DECLARE (undeclare, the id that it told)
    """
    watcher, other = watched(scene, kind)

    entity = declares(other, kind, "k/a")

    declared = waits_for(scene, watcher, kind, "k/a", step="declared")
    other.retracts(TAKEN_BACK[kind], entity)
    gone: Any = watcher.expect(
        Declare, lambda heard: isinstance(heard.message.body, TAKEN_BACK[kind]), step="taken back"
    ).message.body
    watcher.us.require(gone.id == declared.body.id, expected="the id that was told", got="another", step="taken back")


@case(
    "declarations/forwarded-on-interest",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=grid(kind=KIND, how=("left", "cut")),
)
def what_a_session_declared_is_taken_back_with_it(scene: Scene, *, kind: str, how: str) -> None:
    """
    The session that declared it ends: the watcher is told that it is gone.

        other    DECLARE (..), then CLOSE, or the end of the link
        target   to the watcher: DECLARE (undeclare)
    """
    watcher, other = watched(scene, kind)
    declares(other, kind, "k/a")
    waits_for(scene, watcher, kind, "k/a")

    if how == "left":
        other.leaves()
    else:
        other.us.break_off()

    watcher.expect(
        Declare, lambda heard: isinstance(heard.message.body, TAKEN_BACK[kind]), step=f"the session is gone: {how}"
    )


@case(
    "declarations/forwarded-on-interest",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=grid(kind=KIND),
    breaks=(
        "law/undeclared-queryable-names-key",
        "law/undeclared-subscriber-names-key",
        "law/undeclared-token-names-key",
        "law/undeclared-was-declared",
    ),
)
def nobody_takes_back_what_another_declared(scene: Scene, *, kind: str) -> None:
    """
    Ids count in their own session: another one's undeclaration of the same id takes nothing back.

        other     DECLARE (.. 7)
        stranger  DECLARE (undeclare 7)
        target    to the watcher: no more than the declaration
    """
    watcher, other, stranger = watched(scene, kind, "stranger")
    entity = declares(other, kind, "k/a")
    waits_for(scene, watcher, kind, "k/a")

    stranger.retracts(TAKEN_BACK[kind], entity)
    watcher.settles()

    gone = [one for one in watcher.heard(Declare) if isinstance(one.message.body, TAKEN_BACK[kind])]
    watcher.us.require(
        not gone, expected="nothing taken back", got="what another one declared", step="another session's id"
    )


@case("declarations/forwarded-on-interest", needs=ROUTES, control=who_asks_is_told, parameters=grid(kind=KIND))
def what_two_declared_stays_with_one(scene: Scene, *, kind: str) -> None:
    """
    Two sessions declare the same key; one takes it back: a new snapshot still holds it.

        one, other  DECLARE (.. k/a)
        one         DECLARE (undeclare)
        watcher     INTEREST (CurrentFuture)
        target      to the watcher: DECLARE (.. k/a), DECLARE (D_FINAL)
    """
    watcher, one, other = parties(scene, "watcher", "one", "other")
    entity, _ = declares(one, kind, "k/a"), declares(other, kind, "k/a")
    one.retracts(TAKEN_BACK[kind], entity)

    watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/**")

    waits_for(scene, watcher, kind, "k/a", step="still there")


@case(
    "declarations/forwarded-on-interest",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=[
        *grid(complete=(False, True), distance=(0, 3)),
        *grid(complete=(False, True), distance=(0, 3), before=(True,)),
    ],
)
def completeness_is_told(scene: Scene, *, complete: bool, distance: int, before: bool = False) -> None:
    """
    What a queryable says of its completeness is told with it, at once or in the snapshot of an interest after it.

        other    DECLARE (queryable, complete or not), before or after
        watcher  INTEREST (CurrentFuture)
        target   to the watcher: DECLARE (queryable, the same)
    """
    watcher, other = parties(scene, "watcher", "other")
    if before:
        other.declares_queryable("k/a", complete=complete, distance=distance)
    watcher.asks_interest(InterestOptions.QUERYABLES, InterestMode.CURRENT_FUTURE, "k/**")
    watcher.settles()

    if not before:
        other.declares_queryable("k/a", complete=complete, distance=distance)

    info = waits_for(scene, watcher, "queryable", "k/a").body.exts.get(QueryableInfo)
    forwarded = info is not None and info.complete
    watcher.us.require(forwarded == complete, expected="completeness as declared", got="another", step="QueryableInfo")


@case(
    "interests/snapshot-sets-interest-id", needs=ROUTES, control=who_asks_is_told, parameters=grid(mode=BOTH, kind=KIND)
)
def a_snapshot_names_its_interest(scene: Scene, *, mode: InterestMode, kind: str) -> None:
    """
    What is there when an interest comes is told with that interest's id.

        other    DECLARE (..), three times
        watcher  INTEREST (Current or CurrentFuture)
        target   to the watcher: DECLARE (I, its id, ..) of each, DECLARE (I, its id, D_FINAL)
    """
    watcher, other = parties(scene, "watcher", "other")
    there = ("k/a", "k/b", "k/c")
    for key in there:
        declares(other, kind, key)

    interest = watcher.asks_interest(OPTION[kind], mode, "k/**")

    for key in there:
        got = waits_for(scene, watcher, kind, key, step="the snapshot").interest_id
        if got != interest.id:
            answers_alone(scene, watcher)
        watcher.us.require(got == interest.id, expected="the id of the interest", got=str(got), step="the snapshot")


@case(
    "interests/snapshot-ends-with-final",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=grid(mode=BOTH, kind=KIND, there=(0, 2)),
)
def a_snapshot_ends(scene: Scene, *, mode: InterestMode, kind: str, there: int) -> None:
    """
    A snapshot ends with one D_FINAL that names the interest, after all that is there; also where nothing is.

        watcher  INTEREST (Current or CurrentFuture)
        target   to the watcher: what is there, then DECLARE (I, its id, D_FINAL)
    """
    watcher, other = parties(scene, "watcher", "other")
    for number in range(there):
        declares(other, kind, f"k/{number}")

    interest = watcher.asks_interest(OPTION[kind], mode, "k/**")

    watcher.expect(
        Declare, lambda heard: is_final(heard, interest.id),
        step="its end", what="D_FINAL",
    )  # fmt: skip
    expect_keys(scene, watcher, kind, [f"k/{number}" for number in range(there)], step="before its end", by_now=True)
    watcher.settles()
    count = finals(watcher, interest.id)
    watcher.us.require(count == 1, expected="one D_FINAL", got=str(count), step="its end")


@case("interests/snapshot-ends-with-final", needs=ROUTES, control=who_asks_is_told)
def a_snapshot_of_many_is_whole(scene: Scene) -> None:
    """
    Two hundred tokens are there, of two sessions: a snapshot has them all.

        one, other  DECLARE (token), a hundred times each
        watcher     INTEREST (CurrentFuture)
        target      to the watcher: two hundred, then D_FINAL
    """
    watcher, one, other = parties(scene, "watcher", "one", "other")
    for number in range(100):
        for each, name in ((one, "a"), (other, "b")):
            each.declares(DToken(id=each.us.new_id(), key=each.key(f"k/{name}/{number}")))
    for each in (one, other):
        each.settles()

    watcher.asks_interest(InterestOptions.TOKENS, InterestMode.CURRENT_FUTURE, "k/**")
    watcher.now()

    expect_keys(
        scene,
        watcher,
        "token",
        [f"k/{name}/{number}" for name in "ab" for number in range(100)],
        step="the snapshot",
        by_now=True,
    )


@case(
    "interests/later-declarations-without-interest-id",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=grid(kind=KIND),
)
def what_comes_later_names_no_interest(scene: Scene, *, kind: str) -> None:
    """
    What is declared after the snapshot is told without an interest's id.

        watcher  INTEREST (CurrentFuture)
        target   DECLARE (I, its id, D_FINAL)
        other    DECLARE (..)
        target   to the watcher: DECLARE (..), without I
    """
    watcher, other = watched(scene, kind)

    declares(other, kind, "k/a")

    declared = waits_for(scene, watcher, kind, "k/a")
    watcher.us.require(declared.interest_id is None, expected="no interest id", got="one", step="after the snapshot")


@case("interests/future-alone-no-final", needs=ROUTES, control=who_asks_is_told, parameters=grid(kind=KIND))
def the_future_has_no_snapshot(scene: Scene, *, kind: str) -> None:
    """
    Future alone: nothing of what is there, no D_FINAL, and then what comes.

        other    DECLARE (.. k/a)
        watcher  INTEREST (Future)
        target   nothing
        other    DECLARE (.. k/b)
        target   to the watcher: DECLARE (.. k/b)
    """
    watcher, other = parties(scene, "watcher", "other")
    declares(other, kind, "k/a")
    interest = watcher.asks_interest(OPTION[kind], InterestMode.FUTURE, "k/**")
    watcher.settles()

    declares(other, kind, "k/b")

    waits_for(scene, watcher, kind, "k/b")
    expect_keys(scene, watcher, kind, ["k/b"], step="no snapshot")
    watcher.us.require(not finals(watcher, interest.id), expected="no D_FINAL", got="D_FINAL", step="no snapshot")


@case(
    "interests/final-stops-future",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=[*grid(kind=KIND), *grid(kind=KIND, several=(True,))],
)
def after_final_nothing_is_told(scene: Scene, *, kind: str, several: bool = False) -> None:
    """
    Final ends an interest, in each of the kinds that it asks for: what is declared after it is not told, and what follows it in its
    FRAME is read. What was told may still be taken back.

        watcher  INTEREST (CurrentFuture, perhaps of all kinds), FRAME (INTEREST (Final, the same id), another message)
        other    DECLARE (..)
        target   to the watcher: nothing
        watcher  INTEREST (Current, the same id)
        other    DECLARE (..)
        target   to the watcher: nothing of what came later
    """
    watcher, other = parties(scene, "watcher", "other")
    interest = watcher.asks_interest(ALL if several else OPTION[kind], InterestMode.CURRENT_FUTURE, "k/**")
    watcher.settles()
    declares(other, kind, "k/a")
    waits_for(scene, watcher, kind, "k/a")

    behind = Push(key=watcher.key("k/behind"), body=Put(payload=b""))
    watcher.us.say(Interest(id=interest.id, mode=InterestMode.FINAL), behind)
    with watcher.us.about("interests/final-carries-only-id"):
        watcher.settles()
    declares(other, kind, "k/b")
    watcher.settles()
    expect_keys(scene, watcher, kind, ["k/a"], step="after Final")

    watcher.asks_interest(OPTION[kind], InterestMode.CURRENT, "k/**", number=interest.id)
    watcher.settles()
    declares(other, kind, "k/c")
    watcher.settles()
    later = watcher.whole("k/c") in keys(watcher, kind)
    if later:
        answers_alone(scene, watcher)
    watcher.us.require(not later, expected="nothing of what came later", got="that", step="after a snapshot alone")


@case(
    "interests/restricted-to-key",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=grid(kind=KIND, restricted=(True, False)),
)
def an_interest_is_restricted_to_its_key(scene: Scene, *, kind: str, restricted: bool) -> None:
    """
    With R what meets the key is told, of what is there and of what comes, and nothing else; without R all is.

        other    DECLARE (.. k/a), DECLARE (.. x/a)
        watcher  INTEREST (CurrentFuture, k/**)
        other    DECLARE (.. k/b), DECLARE (.. x/b)
        target   to the watcher: k/a, k/b
    """
    watcher, other = parties(scene, "watcher", "other")
    for key in ("k/a", "x/a"):
        declares(other, kind, key)

    watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/**" if restricted else None)
    watcher.settles()
    for key in ("k/b", "x/b"):
        declares(other, kind, key)

    expect_keys(scene, watcher, kind, ["k/a", "k/b"] if restricted else ["k/a", "k/b", "x/a", "x/b"], step="told")


@case(
    "interests/options-select-kinds",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=grid(subscribers=(False, True), queryables=(False, True), tokens=(False, True)),
)
def options_select_what_is_told(scene: Scene, *, subscribers: bool, queryables: bool, tokens: bool) -> None:
    """
    S, Q and T select the kinds of declaration that are told, of what is there and of what comes.

        other    DECLARE (subscriber), DECLARE (queryable), DECLARE (token)
        watcher  INTEREST (CurrentFuture, some of S, Q, T)
        other    DECLARE (one more of each)
        target   to the watcher: those of the kinds that it wanted
    """
    watcher, other = parties(scene, "watcher", "other")
    for kind in KIND:
        declares(other, kind, "k/a")
    wanted = {"subscriber": subscribers, "queryable": queryables, "token": tokens}
    options = InterestOptions(0)
    for kind, is_wanted in wanted.items():
        options |= OPTION[kind] if is_wanted else 0

    watcher.asks_interest(options, InterestMode.CURRENT_FUTURE, "k/**")
    watcher.settles()
    for kind in KIND:
        declares(other, kind, "k/b")
    watcher.now()

    for kind, is_wanted in wanted.items():
        expect_keys(scene, watcher, kind, ["k/a", "k/b"] if is_wanted else [], step=f"{kind}s told")


@case("interests/aggregate", needs=ROUTES, control=who_asks_is_told, parameters=grid(kind=("subscriber", "queryable")))
def an_aggregate_is_one_declaration(scene: Scene, *, kind: str) -> None:
    """
    With A what matches is told as one declaration of the interest's key; several of their own keys are no fault, but no help.

        other    DECLARE (.. k/a), DECLARE (.. k/b)
        watcher  INTEREST (CurrentFuture, A, k/**)
        target   to the watcher: DECLARE (I, its id, .. k/**), DECLARE (D_FINAL)
        other    CLOSE; to the watcher: DECLARE (undeclare, the id that it was told), unless something that matches is left
    """
    watcher, other = parties(scene, "watcher", "other")
    for key in ("k/a", "k/b"):
        declares(other, kind, key)

    interest = watcher.asks_interest(OPTION[kind] | InterestOptions.AGGREGATE, InterestMode.CURRENT_FUTURE, "k/**")
    watcher.now()

    expect_keys(scene, watcher, kind, ["k/**"], step="aggregated")
    aggregate = told_of(watcher, kind)[0].message
    with watcher.us.about("interests/snapshot-sets-interest-id"):
        named = aggregate.interest_id == interest.id
        watcher.us.require(named, expected="the id of the interest", got="another, or none", step="aggregated")
    other.leaves()
    with watcher.us.about("keep-alive/dead-session-withdraws-declarations"):
        is_taken_back(watcher, kind, aggregate.body.id)


def is_taken_back(watcher: Party, kind: str, entity: int) -> None:
    """Deviate unless what the watcher was told under that id is taken back, or a new snapshot of k/** shows that something is left."""
    gone = TAKEN_BACK[kind]
    back = watcher.awaits(
        lambda: entity in [one.message.body.id for one in watcher.heard(Declare) if type(one.message.body) is gone]
    )
    if not back:
        before = told_at_all(watcher, kind)
        watcher.asks_interest(OPTION[kind], InterestMode.CURRENT, "k/**")
        watcher.now()
        back = told_at_all(watcher, kind) > before
    watcher.us.require(back, expected="what is gone taken back", got="a declaration that stands", step="taken back")


def told_at_all(watcher: Party, kind: str) -> int:
    """How many declarations of a kind came, those with keys of others, too."""
    said = (seen.message.body for seen in watcher.us.heard if seen.kind == "declare")
    return sum(isinstance(body, DECLARED[kind]) for body in said)


@case(
    "declarations/entity-sent-once",
    needs=ROUTES,
    control=who_asks_is_told,
    parameters=grid(kind=KIND),
    breaks=("law/entity-sent-once",),
)
def what_is_declared_again_is_told_once(scene: Scene, *, kind: str) -> None:
    """
    A session declares the same thing twice, under the same id: the watcher is told once.

        other    DECLARE (.. 7, k/a), DECLARE (.. 7, k/a)
        target   to the watcher: DECLARE (..), once
    """
    watcher, other = parties(scene, "watcher", "other")
    watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/**")
    watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/*")
    watcher.settles()

    body = DECLARED[kind](id=other.us.new_id(), key=other.key("k/a"))
    for _ in range(2):
        other.declares(body)
    other.settles()
    watcher.awaits(lambda: bool(told_of(watcher, kind)))

    count = len(told_of(watcher, kind))
    watcher.us.require(count == 1, expected="one declaration", got=str(count), step="told")
