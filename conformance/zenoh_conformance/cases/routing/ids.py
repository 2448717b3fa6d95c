"""Ids at the edges of their range, and many of them: each stands for what it was given to, and for nothing else."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.interest.snapshots import who_asks_is_told
from zenoh_conformance.cases.interest.telling import is_final
from zenoh_conformance.cases.push.delivery import a_number_of_the_sender_names_the_key
from zenoh_conformance.messages import (
    Declare,
    DSubscriber,
    InterestMode,
    InterestOptions,
    Target,
    UQueryable,
    USubscriber,
    sane,
)
from zenoh_conformance.talking import Scene, parties

from .plain import ROUTES, a_publication_reaches_a_subscriber, a_query_reaches_a_queryable, heard_of

SMALL = (1, 127, 128, 255, 256, 16383, 16384, 65535)
"""Of 16 bits: expression ids."""

LARGE = (127, 128, 65535, 65536, (1 << 32) - 1)
"""Of 32 bits: entities and interests."""

HIGH = 1 << 16
"""What two ids differ by that are one where only 16 bits count."""

MANY = 100
"""More than a node has room for whose author thought of a few."""


@case(
    "push/push-mapping-side",
    needs=ROUTES,
    control=a_number_of_the_sender_names_the_key,
    parameters=grid(number=SMALL),
)
def any_number_may_name_a_key(scene: Scene, *, number: int) -> None:
    """
    An expression id is any of 16 bits but 0.

        publisher  DECLARE (key expression, that number), PUSH (that number)
        target     to the subscriber: PUSH, the whole key
    """
    publisher, subscriber = heard_of(scene)

    publisher.puts(publisher.names_key("k/a", number), b"1")

    subscriber.expect_push("k/a", step="the key")


@case(
    "push/push-reaches-intersecting",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(id=LARGE),
)
def a_subscriber_may_have_any_id(scene: Scene, *, id: int) -> None:  # noqa: A002  the field's name
    """
    The id of an entity is any of 32 bits: two that differ in their upper halves hear, and one stays when the other goes.

        subscriber  DECLARE (subscriber of k/a, that id), DECLARE (subscriber of k/b, the id beside it)
        publisher   PUSH (k/a), PUSH (k/b)
        subscriber  DECLARE (the first id is taken back)
        publisher   PUSH (k/b)
        target      to the subscriber: three PUSHes
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    subscriber.declares_subscriber("k/a", entity=id)
    subscriber.declares_subscriber("k/b", entity=id ^ HIGH)
    for key in ("k/a", "k/b"):
        publisher.puts(key, b"1")
        subscriber.expect_push(key, step="both hear")

    subscriber.retracts(USubscriber, id)
    publisher.puts("k/b", b"2")

    subscriber.expect_push("k/b", step="who stays")


@case("query/query-reaches-intersecting", needs=ROUTES, control=a_query_reaches_a_queryable, parameters=grid(id=LARGE))
def a_queryable_may_have_any_id(scene: Scene, *, id: int) -> None:  # noqa: A002  the field's name
    """
    The same of queryables.

        queryable  DECLARE (queryable of k/a, that id), DECLARE (queryable of k/b, the id beside it)
        querier    REQUEST (k/a), REQUEST (k/b)
        queryable  DECLARE (the first id is taken back)
        querier    REQUEST (k/b)
        target     to the queryable: three REQUESTs
    """
    querier, queryable = parties(scene, "querier", "queryable")
    queryable.declares_queryable("k/a", entity=id)
    queryable.declares_queryable("k/b", entity=id ^ HIGH)
    for key in ("k/a", "k/b"):
        queryable.takes(querier.asks(key, target=Target.ALL), step="both are asked")

    queryable.retracts(UQueryable, id)
    asked = querier.asks("k/b", target=Target.ALL, parameters="again")

    queryable.takes(asked, step="who stays")


@case("interests/snapshot-ends-with-final", needs=ROUTES, control=who_asks_is_told, parameters=grid(id=LARGE))
def an_interest_may_have_any_id(scene: Scene, *, id: int) -> None:  # noqa: A002  the field's name
    """
    The id of an interest is any of 32 bits, and what answers it has it.

        watcher  INTEREST (Current, that id)
        target   to the watcher: DECLARE (I, that id, D_FINAL)
    """
    (watcher,) = parties(scene, "watcher")

    watcher.asks_interest(InterestOptions.TOKENS, InterestMode.CURRENT, "k/**", number=id)

    watcher.expect(Declare, lambda heard: is_final(heard, id), step="its end", what="DFinal")


@case(
    "push/push-reaches-intersecting",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(what=("subscribers", "numbers")),
)
def a_session_may_declare_many(scene: Scene, *, what: str) -> None:
    """
    A session has many subscribers, or names many keys by numbers: what the target takes, it acts upon, the last as the first one.

        subscriber  DECLARE (subscriber of k/1), .., DECLARE (subscriber of k/100); or one of k/**
        publisher   PUSH (k/1), .., PUSH (k/100), by name or by number
        target      to the subscriber: every PUSH
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    keys: list[Any] = [f"k/{number}" for number in range(MANY)]
    if what == "subscribers":
        for key in keys[:-1]:
            subscriber.declares(DSubscriber(id=subscriber.us.new_id(), key=subscriber.key(key)))
        subscriber.declares_subscriber(keys[-1])
        said = keys
    else:
        subscriber.declares_subscriber("k/**")
        said = [publisher.names_key(key, number + 1) for number, key in enumerate(keys)]
        publisher.settles(step="not reached: room for so many")  # a node without room may say so, and end the session

    for key in said:
        publisher.puts(key, b"1", exts=sane.SURELY)  # so many at once may be dropped where they may be

    for key in keys:
        subscriber.expect_push(key, step=f"each of {MANY}")
