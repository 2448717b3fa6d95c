"""What becomes of an interest: what its snapshot told is taken back later, and its id serves again."""

from __future__ import annotations

from zenoh_conformance.case import case, grid
from zenoh_conformance.messages import Declare
from zenoh_conformance.messages.interest import InterestMode, InterestOptions
from zenoh_conformance.party import parties
from zenoh_conformance.scene import Scene

from .interest_snapshots import BOTH, OPTION, TAKEN_BACK, declares, is_final, waits_for, who_asks_is_told
from .routing_plain import KINDS, ROUTES


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
    told = waits_for(watcher, kind, "k/a", step="not reached: the snapshot").body

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
