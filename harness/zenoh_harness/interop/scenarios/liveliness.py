"""Liveliness tokens: seen when they come, seen when they go, and asked for."""

from __future__ import annotations

from zenoh_harness.interop.scenario import scenario
from zenoh_harness.interop.talk import Talk


@scenario()
def a_token_is_seen_to_come_and_go(talk: Talk) -> None:
    """By who watches before it comes."""
    watch = talk.here.declare("liveliness", f"{talk.key}/*")
    talk.settle()
    token = talk.there.declare("token", f"{talk.key}/t")
    talk.expect(watch, kind="put", key=f"{talk.key}/t")
    talk.there.undeclare(token)
    talk.expect(watch, kind="delete", key=f"{talk.key}/t")


@scenario(history=(True, False))
def who_watches_late_sees_old_tokens_when_asking_to(talk: Talk, history: bool) -> None:
    """With history the tokens that are there already are told, without it only new ones."""
    talk.there.declare("token", f"{talk.key}/old")
    talk.settle()
    watch = talk.here.declare("liveliness", f"{talk.key}/*", history=history)
    if history:
        talk.expect(watch, kind="put", key=f"{talk.key}/old")
    talk.settle()
    talk.there.declare("token", f"{talk.key}/new")
    talk.expect(watch, kind="put", key=f"{talk.key}/new")


@scenario(tokens=(0, 1, 20))
def tokens_are_told_when_asked_for(talk: Talk, tokens: int) -> None:
    """Each that is there once, then the end."""
    keys = sorted(f"{talk.key}/{number}" for number in range(tokens))
    for key in keys:
        talk.there.declare("token", key)
    talk.settle()
    answers = talk.answers(talk.here.tokens(f"{talk.key}/*"))
    talk.same("tokens", keys, sorted(answer.get("key", answer["event"]) for answer in answers))


@scenario()
def a_token_that_has_gone_is_not_told(talk: Talk) -> None:
    """Asked for before and after."""
    token = talk.there.declare("token", f"{talk.key}/t")
    talk.settle()
    talk.same("tokens", 1, len(talk.answers(talk.here.tokens(f"{talk.key}/*"))))
    talk.there.undeclare(token)
    talk.settle()
    talk.same("tokens", 0, len(talk.answers(talk.here.tokens(f"{talk.key}/*"))))
