"""What stays when something beside it goes: another declaration of the session, or the number by which it was declared."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case
from zenoh_conformance.cases.push.delivery import a_number_of_the_sender_names_the_key
from zenoh_conformance.cases.query.targets import a_query_may_name_its_key_by_number
from zenoh_conformance.messages import Push, Request, Target, UQueryable, USubscriber
from zenoh_conformance.talking import Party, Scene, parties

from .plain import ROUTES, a_publication_reaches_a_subscriber, a_query_reaches_a_queryable


@case("push/push-reaches-intersecting", needs=ROUTES, control=a_publication_reaches_a_subscriber)
def the_other_subscribers_of_a_session_stay(scene: Scene) -> None:
    """
    Of three subscribers of a session one is taken back: the session goes on hearing what the others want.

        subscriber  DECLARE (subscribers of k/a, k/b, k/c), DECLARE (k/b is taken back)
        publisher   PUSH (k/a), PUSH (k/c)
        target      to the subscriber: both
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    _, taken_back, _ = [subscriber.declares_subscriber(key) for key in ("k/a", "k/b", "k/c")]
    subscriber.retracts(USubscriber, taken_back.id)

    for key in ("k/a", "k/c"):
        publisher.puts(key, b"1")

    for key in ("k/a", "k/c"):
        subscriber.expect_push(key, step="what stays")


@case("query/query-reaches-intersecting", needs=ROUTES, control=a_query_reaches_a_queryable)
def the_other_queryables_of_a_session_stay(scene: Scene) -> None:
    """
    Of three queryables of a session one is taken back: the session is still asked for what the others serve.

        queryable  DECLARE (queryables of k/a, k/b, k/c), DECLARE (k/b is taken back)
        querier    REQUEST (k/a), REQUEST (k/c)
        target     to the queryable: both
    """
    querier, queryable = parties(scene, "querier", "queryable")
    _, taken_back, _ = [queryable.declares_queryable(key) for key in ("k/a", "k/b", "k/c")]
    queryable.retracts(UQueryable, taken_back.id)

    asked = [querier.asks(key, target=Target.ALL) for key in ("k/a", "k/c")]

    for each in asked:
        queryable.expect_request(each, step="what stays")


@case("push/push-reaches-intersecting", needs=ROUTES, control=a_publication_reaches_a_subscriber)
def the_other_subscriber_of_one_key_stays(scene: Scene) -> None:
    """
    A session has two subscribers of one key and takes one back: it goes on hearing what the other wants.

        subscriber  DECLARE (subscribers 1 and 2 of k), DECLARE (1 is taken back)
        publisher   PUSH (k)
        target      to the subscriber: PUSH
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    taken_back, _ = [subscriber.declares_subscriber("k") for _ in range(2)]
    subscriber.retracts(USubscriber, taken_back.id)

    publisher.puts("k", b"1")

    subscriber.expect_push("k", step="what stays")


@case("query/query-reaches-intersecting", needs=ROUTES, control=a_query_reaches_a_queryable)
def the_other_queryable_of_one_key_stays(scene: Scene) -> None:
    """
    A session has two queryables of one key and takes one back: it is still asked.

        queryable  DECLARE (queryables 1 and 2 of k), DECLARE (1 is taken back)
        querier    REQUEST (k)
        target     to the queryable: REQUEST
    """
    querier, queryable = parties(scene, "querier", "queryable")
    taken_back, _ = [queryable.declares_queryable("k") for _ in range(2)]
    queryable.retracts(UQueryable, taken_back.id)

    asked = querier.asks("k", target=Target.ALL)

    queryable.expect_request(asked, step="what stays")


def comes_by_name(who: Party, kind: type[Any], key: str) -> None:
    """What comes names that key, and not by a number that stands for nothing any more."""
    whole = who.whole(key)
    heard = who.expect(kind, lambda one: one.key in (whole, None), step="without the number")
    who.us.require(heard.key == whole, expected="the key", got="a number of nothing", step="without the number")


@case("push/push-reaches-intersecting", needs=ROUTES, control=a_number_of_the_sender_names_the_key)
def a_subscriber_outlives_the_number_of_its_key(scene: Scene) -> None:
    """
    A subscriber named its key by a number. The number is released, and the subscriber goes on hearing.

        subscriber  DECLARE (key expression 5), DECLARE (subscriber of 5), DECLARE (5 is released)
        publisher   PUSH
        target      to the subscriber: PUSH
    """
    publisher, subscriber = parties(scene, "publisher", "subscriber")
    subscriber.declares_subscriber(subscriber.names_key("k/a", 5))
    subscriber.releases_key(5)
    subscriber.settles()

    publisher.puts("k/a", b"1")

    comes_by_name(subscriber, Push, "k/a")


@case("query/query-reaches-intersecting", needs=ROUTES, control=a_query_may_name_its_key_by_number)
def a_queryable_outlives_the_number_of_its_key(scene: Scene) -> None:
    """
    A queryable named its key by a number. The number is released, and the queryable is still asked.

        queryable  DECLARE (key expression 5), DECLARE (queryable of 5), DECLARE (5 is released)
        querier    REQUEST
        target     to the queryable: REQUEST
    """
    querier, queryable = parties(scene, "querier", "queryable")
    queryable.declares_queryable(queryable.names_key("k/a", 5))
    queryable.releases_key(5)
    queryable.settles()

    querier.asks("k/a", target=Target.ALL)

    comes_by_name(queryable, Request, "k/a")
