"""What happened in the sessions of a routing case before, and what happens in the middle of it.

Each function takes the sessions in their circumstances, and the kind of what the receivers declare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from zenoh_conformance.messages import InterestMode, InterestOptions, Target, UQueryable, USubscriber, UToken
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.talking import Party, one_more

if TYPE_CHECKING:
    from .circumstances import Surroundings

REUSED: Final = 70
"""The id of what is declared, and of what was declared and taken back before."""
REUSED_INTEREST, REUSED_QUERY = 71, 72
"""The ids of an interest and of a query; where the past says so, others had them before."""
COMES_AND_GOES: Final = 73
"""The id of what comes and goes beside what was declared."""
NUMBER: Final = 40
"""The number that a receiver gives to its key."""

TAKES_BACK: Final[Mapping[str, type[Any]]] = {"subscriber": USubscriber, "queryable": UQueryable, "token": UToken}


def declares(who: Party, kind: str, key: str | WireExpr, entity: int | None = None, **info: Any) -> int:
    """Declare something of a kind; its id. `info`: what a queryable says of itself."""
    makes: dict[str, Any] = {
        "subscriber": who.declares_subscriber,
        "queryable": who.declares_queryable,
        "token": who.declares_token,
    }
    return int(makes[kind](key, entity=entity, **info).id)


def _taken_back(around: Surroundings, kind: str) -> None:
    for receiver in around.receivers:
        receiver.retracts(TAKES_BACK[kind], declares(receiver, kind, around.declared_key, REUSED))


def _other_ids(around: Surroundings, kind: str) -> None:
    """The ids of a declaration, of an interest and of a query: each ended, or was taken back."""
    for receiver in around.receivers:
        receiver.asks_interest(InterestOptions.KEY_EXPRS, InterestMode.CURRENT_FUTURE, "past/**", REUSED_INTEREST)
        receiver.settles()
        receiver.ends_interest(REUSED_INTEREST)
        receiver.retracts(TAKES_BACK[kind], declares(receiver, kind, "past/key", REUSED))
    if kind != "queryable":
        return
    receiver, querier = around.receivers[0], around.sender
    served = receiver.declares_queryable("past/t")
    asked = querier.asks("past/t", timeout_ms=10_000, number=REUSED_QUERY)
    receiver.finishes(asked)
    querier.expect_final(asked, step="not reached: another query")
    receiver.retracts(UQueryable, served.id)
    querier.counts_anew(REUSED_QUERY)


def _another_query(around: Surroundings, _kind: str) -> None:
    receiver, querier = around.receivers[0], around.sender
    served = receiver.declares_queryable("past/q")
    asked = querier.asks("past/q", parameters="past=1")
    receiver.replies(asked, b"past")
    receiver.finishes(asked)
    querier.expect_final(asked, step="not reached: another query")
    receiver.retracts(UQueryable, served.id)


def _another_interest(around: Surroundings, _kind: str) -> None:
    wanted = InterestOptions.SUBSCRIBERS | InterestOptions.QUERYABLES | InterestOptions.TOKENS
    for who in (around.sender, *around.receivers):
        interest = who.asks_interest(wanted, InterestMode.CURRENT_FUTURE, "k/**")
        who.settles()
        who.ends_interest(interest.id)


def _five_publications(around: Surroundings, _kind: str) -> None:
    for receiver in around.receivers:
        subscriber = receiver.declares_subscriber("past/p")
        for at in range(5):
            around.sender.puts("past/p", bytes([at]))
            receiver.expect_push("past/p", step="not reached: earlier publications")
        receiver.retracts(USubscriber, subscriber.id)


def _four_numbers(around: Surroundings, _kind: str) -> None:
    for who in (around.sender, *around.receivers):
        for number in range(1, 5):
            who.names_key(f"past/{number}", number)
        for number in range(1, 5):
            who.releases_key(number)


def _another_session(around: Surroundings, kind: str, *, in_order: bool) -> None:
    other = one_more(around.scene, "other", around.sender)
    declares(other, kind, around.declared_key)
    if in_order:
        other.leaves()
    else:
        other.us.break_off()
    early = around.sender.asks(around.declared_key)  # one that has just left may still be asked
    around.sender.awaits(lambda: around.sender.finals(early) > 0)


def _handshake(around: Surroundings, _kind: str) -> None:
    us = around.scene.dialogue("half-open")
    us.send(us.init_syn())


PASTS: Final[Mapping[str, Callable[[Surroundings, str], None]]] = {
    "the same was taken back": _taken_back,
    "another query": _another_query,
    "another interest ended": _another_interest,
    "five publications": _five_publications,
    "four numbers were released": _four_numbers,
    "another session left": partial(_another_session, in_order=True),
    "another session was cut": partial(_another_session, in_order=False),
    "a handshake began": _handshake,
    "its ids stood for others": _other_ids,
}


# -- what happens in between


def _comes_and_goes(around: Surroundings, kind: str) -> None:
    for receiver in around.receivers:
        receiver.retracts(TAKES_BACK[kind], declares(receiver, kind, around.declared_key, COMES_AND_GOES))


def _session_comes_and_goes(around: Surroundings, kind: str) -> None:
    other = one_more(around.scene, "other", around.sender)
    declares(other, kind, around.declared_key)
    other.leaves()
    if kind == "queryable":  # one that has just left may still be asked, once
        early = around.sender.asks(around.declared_key, target=Target.ALL)
        for receiver in around.receivers:
            receiver.finishes(early)
        around.sender.awaits(lambda: around.sender.finals(early) > 0)
    around.sender.settles()


def _number_given_again(around: Surroundings, _kind: str) -> None:
    """Each receiver releases the number by which it declared, and gives it to another key: what was declared stays as it is."""
    for receiver in around.receivers:
        receiver.releases_key(NUMBER)
        receiver.names_key("past/again", NUMBER)
        receiver.settles()


MEANWHILES: Final[Mapping[str, Callable[[Surroundings, str], None]]] = {
    "another of its key came and went": _comes_and_goes,
    "another session came and left": _session_comes_and_goes,
    "its number was given to another key": _number_given_again,
}
