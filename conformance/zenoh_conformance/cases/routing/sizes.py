"""Long keys, large answers, many values and the same one again: what a routing node passes on as it does the short and the few."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.interest.snapshots import who_asks_is_told
from zenoh_conformance.cases.interest.telling import waits_for
from zenoh_conformance.cases.push.delivery import SIZES
from zenoh_conformance.messages import Del, Err, InterestMode, InterestOptions, Put, Reply, sane
from zenoh_conformance.primitives import Encoding
from zenoh_conformance.talking import Party, Scene, parties_of, payload_of, told

from .plain import ROUTES, a_publication_reaches_a_subscriber, a_query_reaches_a_queryable, asked_of, heard_of

LENGTHS = (
    *grid(length=(127, 128, 255, 256, 1000), shape=("deep", "wide")),
    *grid(length=(16383, 16384), shape=("wide",)),
)
"""Bytes of a whole key, at the edges of VLE and beside them; of many chunks or of one."""

TO_SMALL_BATCHES = (*LENGTHS, {"length": 1000, "shape": "wide", "batch": 512})
"""The same, and one between sessions whose batches are smaller than the key."""

MANY = 300
"""More values than a byte counts."""


SCHEMA = Encoding(5, b"a schema")


def key_of(who: Party, length: int, shape: str) -> str:
    """A key below our root, of so many bytes as a whole."""
    left = length - len(who.whole(""))
    chunks = "k/" * (left // 2) if shape == "deep" else "k" * left
    return chunks[: left - 1] + "k" if len(chunks) >= left else chunks + "k"


@case(
    "push/push-reaches-intersecting",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=TO_SMALL_BATCHES,
    is_heard=True,
)
def a_publication_to_a_long_key_reaches_its_subscriber(
    scene: Scene, *, length: int, shape: str, batch: int = sane.DEFAULT_BATCH
) -> None:
    """
    A key is a key, however long; where a batch is smaller, the message comes in fragments.

        subscriber  DECLARE (subscriber of that key)
        publisher   PUSH (the same key)
        target      to the subscriber: PUSH
    """
    takes(scene, length)
    publisher, subscriber = parties_of(scene, publisher={"batch_size": batch}, subscriber={"batch_size": batch})
    key = key_of(publisher, length, shape)
    subscriber.declares_subscriber(key)

    publisher.puts(key, b"1", exts=sane.SURELY)

    subscriber.expect_push(key)


@case(
    "query/query-reaches-intersecting", needs=ROUTES, control=a_query_reaches_a_queryable, parameters=TO_SMALL_BATCHES
)
def a_query_for_a_long_key_reaches_its_queryable(
    scene: Scene, *, length: int, shape: str, batch: int = sane.DEFAULT_BATCH
) -> None:
    """
    A key is a key, however long; where a batch is smaller, the message comes in fragments.

        queryable  DECLARE (queryable of that key)
        querier    REQUEST (the same key)
        target     to the queryable: REQUEST
    """
    takes(scene, length)
    querier, queryable = parties_of(scene, querier={"batch_size": batch}, queryable={"batch_size": batch})
    key = key_of(querier, length, shape)
    queryable.declares_queryable(key)

    asked = querier.asks(key)

    queryable.expect_request(asked)
    querier.us.require(len(asked.key) == length, expected=f"{length} bytes", got="another key", step="not reached: key")


@case("declarations/forwarded-on-interest", needs=ROUTES, control=who_asks_is_told, parameters=TO_SMALL_BATCHES)
def a_token_of_a_long_key_is_told(scene: Scene, *, length: int, shape: str, batch: int = sane.DEFAULT_BATCH) -> None:
    """
    A key is a key, however long; where a batch is smaller, the message comes in fragments.

        watcher  INTEREST (CurrentFuture, tokens of that key)
        other    DECLARE (token of the same key)
        target   to the watcher: DECLARE (token)
    """
    takes(scene, length)
    watcher, other = parties_of(scene, watcher={"batch_size": batch}, other={"batch_size": batch})
    key = key_of(watcher, length, shape)
    watcher.asks_interest(InterestOptions.TOKENS, InterestMode.CURRENT_FUTURE, key)
    watcher.settles()

    other.declares_token(key)

    waits_for(scene, watcher, "token", key, step="declared")


@case("push/push-reaches-intersecting", needs=(*ROUTES, "stream"), control=a_publication_reaches_a_subscriber)
def a_session_hears_however_many_there_are(scene: Scene) -> None:
    """
    The three hundredth value reaches a subscriber as the first one does.

        publisher  PUSH, 300 times, none of which may be dropped
        target     to the subscriber: PUSH, 300 times
    """
    publisher, subscriber = heard_of(scene)
    for number in range(MANY):
        publisher.puts("k/many", number.to_bytes(2, "big"), exts=sane.SURELY)

    for number in range(MANY):
        push = subscriber.expect_push("k/many", step=f"value {number + 1} of {MANY}")
        came = payload_of(push)
        right = came == number.to_bytes(2, "big")
        subscriber.us.require(right, expected=f"value {number}", got=told([came]), step="the values")


@case(
    "push/put-delivers-value",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    parameters=grid(what=("value", "deletion")),
)
def the_same_again_comes_again(scene: Scene, *, what: str) -> None:
    """
    What is published again is published again, though nothing of it is new.

        publisher  PUSH, PUSH, PUSH (the same value, or DEL)
        target     to the subscriber: PUSH, PUSH, PUSH
    """
    publisher, subscriber = heard_of(scene)
    for _ in range(3):
        publisher.puts("k/again", exts=sane.SURELY, body=Put(payload=b"1") if what == "value" else Del())

    for number in range(3):
        subscriber.expect_push("k/again", step=("the first", "the same again", "and again")[number])


def comes_whole(scene: Scene, size: int, body: Any) -> tuple[Party, Any]:
    """One large answer to one query: who asked, and the RESPONSE that it got."""
    takes(scene, size)
    querier, queryable = asked_of(scene)
    asked = querier.asks("k", exts=sane.SURELY)  # an answer may go with what was said of its query
    payload = sane.payload(size)

    queryable.replies(asked, body=body(payload), exts=sane.SURELY)
    queryable.finishes(asked, exts=sane.SURELY)

    response = querier.expect_answer(asked)
    same = payload_of(response) == payload
    querier.us.require(same, expected=f"{size} bytes as sent", got="others", step="the answer")
    return querier, response


@case(
    "reply/reply-carries-put-semantics",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(size=SIZES),
)
def an_answer_of_any_size_comes_whole(scene: Scene, *, size: int) -> None:
    """
    A value that answers comes as it was given, however large.

        queryable  RESPONSE (a REPLY of that size), in FRAGMENTs where it must be
        target     to the querier: RESPONSE, the same payload
    """
    comes_whole(scene, size, lambda payload: Reply(body=Put(payload=payload)))


@case("reply/err-reaches-querier", needs=ROUTES, control=a_query_reaches_a_queryable, parameters=grid(size=SIZES))
def an_error_of_any_size_comes_whole(scene: Scene, *, size: int) -> None:
    """
    An error comes as it was given, however large.

        queryable  RESPONSE (an ERR of that size), in FRAGMENTs where it must be
        target     to the querier: RESPONSE, the same payload
    """
    comes_whole(scene, size, lambda payload: Err(payload=payload))


@case(
    "reply/err-reaches-querier",
    needs=ROUTES,
    control=an_error_of_any_size_comes_whole,
    parameters=grid(size=(1000, 70_000)),
)
def an_error_of_any_size_keeps_its_encoding(scene: Scene, *, size: int) -> None:
    """
    An error comes with the encoding that it was given with, however large.

        queryable  RESPONSE (an ERR of that size, with an encoding), in FRAGMENTs where it must be
        target     to the querier: RESPONSE, the same encoding
    """
    querier, response = comes_whole(scene, size, lambda payload: Err(encoding=SCHEMA, payload=payload))

    same = isinstance(response.body, Err) and response.body.encoding == SCHEMA
    querier.us.require(same, expected="the encoding as it was said", got="another", step="the error")
