"""What a routing node does with the plainest traffic: the controls of all other cases about routing, and how those begin."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.messages import sane
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.talking import Asked, Party, Scene, parties, parties_of, payload_of, told

ROUTES = ("routing", "interests", "finals", "several-sessions")
"""What a node must offer: to pass on between two of its clients what one says and the other wants."""

MATCHES = (
    ("k", "k"), ("k/*", "k/a"), ("k/**", "k/a/b"), ("k/**", "k"), ("k/a", "k/*"), ("k", "k/**"), ("k/*/c", "k/b/**"), ("k/$*b", "k/ab"),
    ("k/a$*", "k/a"), ("k/@v/*", "k/@v/a"), ("k/ä/漢", "k/ä/漢"), ("k/**/z", "k/z"), ("/".join(["k"] * 40), "/".join(["k"] * 40)),
)  # fmt: skip
"""Pairs of key expressions that intersect: what is declared, what is said."""

MISSES = (
    ("k/a", "k/b"), ("k/*", "k/a/b"), ("k/*", "k"), ("k/a", "k/ab"), ("k/$*b", "k/a"), ("k/**", "k/@v/a"), ("k/*", "k/@v"),
    ("k/@v", "k/@w"), ("k/a/*/**", "k/*"), ("k", "kk"),
)  # fmt: skip
"""Pairs that do not."""


def pairs(several: tuple[tuple[str, str], ...]) -> tuple[dict[str, str], ...]:
    """Parameter sets of a case about such pairs."""
    return tuple({"declared": declared, "said": said} for declared, said in several)


@case("push/push-reaches-intersecting", needs=ROUTES, parameters=pairs(MATCHES), is_heard=True)
def a_publication_reaches_a_subscriber(scene: Scene, *, declared: str, said: str) -> None:
    """
    A client subscribes, another one publishes to a key that intersects.

        subscriber  DECLARE (subscriber)
        publisher   PUSH
        target      to the subscriber: PUSH, once
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    subscriber.declares_subscriber(declared)

    publisher.puts(said, b"1")

    push = subscriber.expect_push(said)
    publisher.settles()
    subscriber.expect_no_push(step="once", but=1)
    came = payload_of(push)
    subscriber.us.require(came == b"1", expected=told([b"1"]), got=told([came]), step="the value")


@case("query/query-reaches-intersecting", needs=ROUTES, parameters=pairs(MATCHES))
def a_query_reaches_a_queryable(scene: Scene, *, declared: str, said: str) -> None:
    """
    A client declares a queryable, another one asks for a key that intersects.

        queryable  DECLARE (queryable)
        querier    REQUEST
        target     to the queryable: REQUEST
        queryable  RESPONSE, RESPONSE_FINAL
        target     to the querier: RESPONSE, RESPONSE_FINAL
    """
    querier, queryable = parties(scene, "querier", "queryable")
    queryable.declares_queryable(declared)

    asked = querier.asks(said)
    queryable.takes(asked, step="the query is passed on")
    answers(queryable, asked, b"1")

    with querier.us.about("reply/final-always-comes"):
        querier.expect_final(asked)
    querier.expect_answers(asked, [b"1"])


def served(scene: Scene, *names: str, complete: bool = False, key: str = "k") -> tuple[Party, ...]:
    """A querier, and a queryable for each name, of which each has answered a plain query: what follows is about what follows."""
    querier, *others = parties(scene, "querier", *names)
    for each in others:
        each.declares_queryable(key, complete=complete)
    return (querier, *others)


LONGEST_MOMENT = 2.0
"""Seconds; patience is stretched to far more on a busy machine, and the lease that our parties state is 10 s."""


def asked_of(scene: Scene, key: str = "k") -> tuple[Party, Party]:
    """A querier, and a queryable of that key."""
    querier, queryable = parties(scene, "querier", "queryable")
    queryable.declares_queryable(key)
    return querier, queryable


def answers(queryable: Party, asked: Asked, payload: bytes, **fields: Any) -> None:
    """Answer a query with one reply and its end."""
    queryable.replies(asked, payload, **fields)
    queryable.finishes(asked)


def is_answered_after_a_moment(querier: Party, queryable: Party, asked: Asked, seconds: float | None = None) -> None:
    """Deviate where a query ends within so many seconds, before it is answered, or its answer does not come then.

    Without `seconds` an eighth of our patience, at most `LONGEST_MOMENT`: who answers is silent in it, and must not be so for its own
    lease.
    """
    moment = min(querier.us.unit / 8, LONGEST_MOMENT) if seconds is None else seconds
    for _ in querier.us.stream(moment, silent=False):
        pass
    early = querier.finals(asked)
    querier.us.require(not early, expected="no ResponseFinal yet", got="ResponseFinal", step="before its timeout")
    answers(queryable, asked, b"1")

    querier.expect_answers(asked, [b"1"], step="after a moment")


def heard_of(scene: Scene, *, whole: bool = True) -> tuple[Party, Party]:
    """A publisher, and a subscriber that has received a plain publication."""
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    subscriber.declares_subscriber("k/**" if whole else "k")
    publisher.puts("k", b"plain")
    subscriber.expect_push("k", step="not reached: a plain publication")
    return publisher, subscriber


def low_latency(scene: Scene, *names: str) -> tuple[Party, ...]:
    """Sessions without FRAME."""
    return parties_of(scene, **{name: {"exts": sane.offers("LowLatency")} for name in names})


BY_NUMBER = grid(how=("scope", "scope-and-suffix", "receiver", "part-of-a-chunk"))
"""Ways to name a key by a number."""


def by_number(who: Party, how: str) -> tuple[WireExpr, str] | None:
    """k/a by a number of the sender, k/a/c or k/ab by the same with a suffix, or k/b by a number of the target; and that key.

    None where the target has given k/b no number, so that there is nothing to mistake.
    """
    theirs = [number for number, key in who.names.spaces[who.us.wire.side.other].items() if key == who.whole("k/b")]
    if how == "receiver" and not theirs:
        return None
    ours = who.names_key("k/a", theirs[0] if theirs else 5)
    return {
        "scope": (ours, "k/a"),
        "scope-and-suffix": (WireExpr(scope=ours.scope, suffix="/c", mapping=True), "k/a/c"),
        "receiver": (WireExpr(scope=ours.scope, mapping=False), "k/b"),
        "part-of-a-chunk": (WireExpr(scope=ours.scope, suffix="b", mapping=True), "k/ab"),
    }[how]


KINDS = grid(kind=("subscriber", "queryable", "token"))
"""What can be declared."""
