"""What a session declares, and what another one is told of it: steps that the cases about interests share."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.routing import pasts
from zenoh_conformance.judging.finding import NOT_REACHED, Deviation
from zenoh_conformance.messages import (
    Declare,
    DFinal,
    DQueryable,
    DSubscriber,
    DToken,
    InterestMode,
    InterestOptions,
    UQueryable,
    USubscriber,
    UToken,
)
from zenoh_conformance.talking import Heard, Party, Scene, one_more, parties

OPTION = {
    "subscriber": InterestOptions.SUBSCRIBERS, "queryable": InterestOptions.QUERYABLES, "token": InterestOptions.TOKENS,
}  # fmt: skip
DECLARED: dict[str, type[Any]] = {"subscriber": DSubscriber, "queryable": DQueryable, "token": DToken}
TAKEN_BACK: dict[str, type[Any]] = {"subscriber": USubscriber, "queryable": UQueryable, "token": UToken}
ALL = InterestOptions.SUBSCRIBERS | InterestOptions.QUERYABLES | InterestOptions.TOKENS
BOTH = (InterestMode.CURRENT, InterestMode.CURRENT_FUTURE)
KIND = tuple(DECLARED)


def declares(who: Party, kind: str, key: str, entity: int | None = None) -> int:
    """Declare something of a kind, and first the same beside it, which is to be told to nobody; its id."""
    who.declares_beside(DECLARED[kind], key)
    return pasts.declares(who, kind, key, entity)


def told_of(watcher: Party, kind: str | None = None) -> list[Heard]:
    """What the watcher was told so far, of one kind or of all; expression ids left out."""
    kinds = tuple(DECLARED.values()) if kind is None else (DECLARED[kind],)
    return [heard for heard in watcher.heard(Declare) if isinstance(heard.message.body, kinds)]


def finals(watcher: Party, interest: int) -> int:
    """How many D_FINAL came for an interest."""
    return sum(is_final(one, interest) for one in watcher.heard(Declare))


def is_final(heard: Heard, interest: int) -> bool:
    """Whether a declaration is the end of that interest's snapshot."""
    return isinstance(heard.message.body, DFinal) and heard.message.interest_id == interest


def waits_for(scene: Scene, watcher: Party, kind: str, key: str, *, step: str = "") -> Any:
    """The DECLARE of that kind and key, and none of what was declared beside it, unless who asks nothing is told, too.

    Without a step its loss is filed under the rule that it comes.
    """
    whole, name = watcher.whole(key), DECLARED[kind].__name__
    with watcher.us.about(watcher.us.requirement if step else "declarations/forwarded-on-interest"):
        told = watcher.expect(
            Declare,
            lambda heard: isinstance(heard.message.body, DECLARED[kind]) and heard.key == whole,
            step=step or "declared",
            what=name,
        ).message
    if watcher.told_beside(DECLARED[kind]) and not tells_who_asks_nothing(scene, watcher, kind):
        with watcher.us.about("interests/restricted-to-key"):
            watcher.us.deviate(expected=f"no {name} of another key", got=name, step="beside it")
    return told


def keys(watcher: Party, kind: str | None = None) -> list[str]:
    """The keys that the watcher was told of, once each."""
    return sorted({heard.key or "" for heard in told_of(watcher, kind)})


def expect_keys(
    scene: Scene, watcher: Party, kind: str | None, wanted: list[str], *, step: str, by_now: bool = False
) -> None:
    """Deviate unless the watcher is told of exactly these keys; `by_now`: was told, since what it has heard says that it is all."""
    due = sorted(watcher.whole(key) for key in wanted)
    if not by_now:
        watcher.awaits(lambda: set(due) <= set(keys(watcher, kind)))
    got = keys(watcher, kind)
    right = got == due
    if set(got) - set(due):
        answers_alone(scene, watcher)
    watcher.us.require(
        right, expected=f"{len(wanted)} that were declared", got=f"{len(got)} of another choice", step=step
    )


def answers_alone(scene: Scene, watcher: Party) -> None:
    """Deviate before the case's point if sessions without any interest are told of declarations, too.

    Then what the watcher was told need not answer its interest.
    """
    watcher.us.require(
        not tells_who_asks_nothing(scene, watcher), expected="declarations in answer to an interest",
        got="one that nobody asked for", step=f"{NOT_REACHED}: who asks nothing",
    )  # fmt: skip


def tells_who_asks_nothing(scene: Scene, beside: Party, kind: str = "subscriber") -> bool:
    """Whether a session without any interest is told of a declaration, which no page forbids; false if no more sessions can be had."""
    try:
        silent, speaker = [one_more(scene, name, beside) for name in ("asks-nothing", "declares")]
    except Deviation:
        return False
    declares(speaker, kind, "k/unasked")
    speaker.settles()
    silent.settles()
    return bool(told_of(silent))


def watched(scene: Scene, kind: str, *more: str) -> list[Party]:
    """A session whose interest in a kind of declaration stands, another one, and more."""
    watcher, *others = parties(scene, "watcher", "other", *more)
    watcher.asks_interest(OPTION[kind], InterestMode.CURRENT_FUTURE, "k/**")
    watcher.settles()
    return [watcher, *others]
