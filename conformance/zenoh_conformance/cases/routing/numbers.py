"""Keys by number: alone or with a suffix, for values and deletions, and in what is declared. Toward a node that routes."""

from __future__ import annotations

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.interest.telling import waits_for
from zenoh_conformance.cases.push.delivery import (
    a_number_of_the_receiver_is_its_own,
    a_number_of_the_sender_names_the_key,
    numbers_of_the_target,
)
from zenoh_conformance.messages import Del, InterestMode, InterestOptions, Put
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.talking import Party, Scene, parties

from .plain import ROUTES, heard_of


@case(
    "primitives/wire-expr-concatenates",
    needs=ROUTES,
    control=a_number_of_the_sender_names_the_key,
    parameters=grid(what=("value", "deletion"), suffix=(None, "", "/b")),
    is_heard=True,
)
def a_number_names_a_key_with_any_suffix_or_none(scene: Scene, *, what: str, suffix: str | None) -> None:
    """
    A number stands for its key, alone as with an empty suffix; a value is published there, or it is said that there is none.

        publisher  DECLARE (key expression k/a), PUSH (PUT or DEL: that number, with a suffix or without)
        target     to the subscriber: PUSH (k/a and the suffix)
    """
    publisher, subscriber = heard_of(scene)
    number = publisher.names_key("k/a")

    key = WireExpr(scope=number.scope, suffix=suffix, mapping=True)
    publisher.puts(key, body=Put(payload=b"1") if what == "value" else Del())

    got = type(subscriber.expect_push(f"k/a{suffix or ''}", step="the key").body)
    wanted = Put if what == "value" else Del
    subscriber.us.require(got is wanted, expected=wanted.__name__.upper(), got=got.__name__.upper(), step="the key")


def number_of_theirs(scene: Scene, who: Party, owner: Party) -> WireExpr | None:
    """k/theirs by a number of the target, which stands for k/ours among those of `who`; None where it names nothing by number."""
    numbers = numbers_of_the_target(who, owner)
    if not numbers:
        scene.follows(None)
        return None
    who.names_key("k/ours", numbers[0])
    return WireExpr(scope=numbers[0], mapping=False)


@case("declarations/subscriber-flag-m", needs=ROUTES, control=a_number_of_the_receiver_is_its_own)
def a_subscriber_may_name_its_key_by_a_number_of_the_receiver(scene: Scene) -> None:
    """
    Both sides have declared the same number, for different keys: M tells whose is meant in a declaration, too.

        target      DECLARE (key expression: number n for k/theirs)
        subscriber  DECLARE (key expression: number n for k/ours), DECLARE (subscriber of n, without M)
        publisher   PUSH (k/theirs)
        target      to the subscriber: PUSH
    """
    subscriber, publisher = parties(scene, "subscriber", "publisher")
    theirs = number_of_theirs(scene, subscriber, publisher)
    if theirs is None:
        return
    subscriber.declares_subscriber(theirs)

    publisher.puts("k/theirs", b"1")

    subscriber.expect_push("k/theirs", step="without M")


@case("message-reference/interest-option-m", needs=ROUTES, control=a_number_of_the_receiver_is_its_own)
def an_interest_may_name_its_key_by_a_number_of_the_receiver(scene: Scene) -> None:
    """
    Both sides have declared the same number, for different keys: M tells whose is meant in an interest, too.

        target   DECLARE (key expression: number n for k/theirs)
        watcher  DECLARE (key expression: number n for k/ours), INTEREST (CurrentFuture, tokens of n, without M)
        other    DECLARE (token k/theirs)
        target   to the watcher: DECLARE (token k/theirs)
    """
    watcher, other = parties(scene, "watcher", "other")
    theirs = number_of_theirs(scene, watcher, other)
    if theirs is None:
        return
    watcher.asks_interest(InterestOptions.TOKENS, InterestMode.CURRENT_FUTURE, theirs)
    watcher.settles()

    other.declares_token("k/theirs")

    waits_for(scene, watcher, "token", "k/theirs", step="without M")
