"""Messages without a QoS extension: they are Data. Toward a node that routes between its clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zenoh_conformance.cases.case import case
from zenoh_conformance.cases.interest.snapshots import who_asks_is_told
from zenoh_conformance.cases.routing.plain import ROUTES, a_query_reaches_a_queryable, answers, asked_of, heard_of
from zenoh_conformance.messages import (
    Declare,
    DFinal,
    DSubscriber,
    DToken,
    InterestMode,
    InterestOptions,
    NetworkOam,
    Push,
    Request,
    Response,
    ResponseFinal,
    sane,
)
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.talking import Heard, Party, Scene, parties, payload_of
from zenoh_conformance.wire import Enc

from .values import priority_and_congestion_control_pass

AREA = "qos-defaults"

NEEDS = (*ROUTES, "qos")
UNKNOWN = 0x7FFF
"""An OAM id that stands for nothing."""


def is_data(who: Party, heard: Heard) -> None:
    """Deviate unless a message is Data: it says so or nothing, and came in that lane."""
    qos, channel = heard.message.exts.get(QoS), heard.seen.channel
    priority = sane.DEFAULT_PRIORITY if qos is None else qos.priority
    lane = sane.DEFAULT_PRIORITY if channel is None else channel[1]
    right = priority == lane == sane.DEFAULT_PRIORITY
    who.us.require(right, expected="priority Data", got="another", step="without QoS")


@case("message-reference/default-qos-push", needs=NEEDS, control=priority_and_congestion_control_pass)
def a_push_without_qos_is_data(scene: Scene) -> None:
    """
    A PUSH without QoS is passed on as Data.

        publisher  PUSH, without QoS
        target     to the subscriber: PUSH, of priority Data, in that lane
    """
    publisher, subscriber = heard_of(scene, whole=False)
    publisher.puts("k", b"1")

    subscriber.expect_push("k", step="not reached: the publication")

    is_data(subscriber, subscriber.heard(Push)[-1])


@case("message-reference/default-qos-request", needs=NEEDS, control=a_query_reaches_a_queryable)
def a_request_without_qos_is_data(scene: Scene) -> None:
    """
    A REQUEST without QoS is passed on as Data.

        querier  REQUEST, without QoS
        target   to the queryable: REQUEST, of priority Data, in that lane
    """
    querier, queryable = asked_of(scene)

    queryable.takes(querier.asks("k"))

    is_data(queryable, queryable.heard(Request)[-1])


@case("message-reference/default-qos-response", needs=NEEDS, control=a_query_reaches_a_queryable)
def a_response_without_qos_is_data(scene: Scene) -> None:
    """
    A RESPONSE without QoS is passed on as Data.

        queryable  RESPONSE, without QoS
        target     to the querier: RESPONSE, of priority Data, in that lane
    """
    querier = answered(scene)
    is_data(querier, querier.heard(Response)[-1])


@case("message-reference/default-qos-response-final", needs=NEEDS, control=a_query_reaches_a_queryable)
def a_final_without_qos_is_data(scene: Scene) -> None:
    """
    The final of a query without QoS is Data.

        queryable  RESPONSE_FINAL, without QoS
        target     to the querier: RESPONSE_FINAL, of priority Data, in that lane; or with QoS, for a final is its own
    """
    querier = answered(scene)
    final = querier.heard(ResponseFinal)[-1]
    if final.message.exts.get(QoS) is None:
        is_data(querier, final)


def tells(body: type[Any]) -> Callable[[Heard], bool]:
    """Whether a DECLARE tells that."""
    return lambda heard: isinstance(heard.message.body, body)


@case("message-reference/default-qos-declare", needs=NEEDS, control=who_asks_is_told)
def a_declaration_without_qos_is_data(scene: Scene) -> None:
    """
    A DECLARE without QoS, in the lane of Data, is one as any other; what the target tells without QoS is Data, too.

        watcher  INTEREST (CurrentFuture)
        other    DECLARE (subscriber), without QoS, in the lane of Data
        target   to the watcher: DECLARE (subscriber)
    """
    watcher, other = parties(scene, "watcher", "other")
    watcher.asks_interest(InterestOptions.SUBSCRIBERS, InterestMode.CURRENT_FUTURE, "k/**")
    watcher.settles()

    other.says(Declare(body=DSubscriber(id=other.us.new_id(), key=other.key("k/a"))))
    other.settles()

    told = watcher.expect(Declare, tells(DSubscriber), step="declared without QoS")
    if told.message.exts.get(QoS) is None:
        is_data(watcher, told)


@case("message-reference/default-qos-interest", needs=NEEDS, control=who_asks_is_told)
def an_interest_without_qos_is_data(scene: Scene) -> None:
    """
    An INTEREST without QoS, in the lane of Data, is served; with the same said in QoS it is no other.

        other    DECLARE (token)
        watcher  INTEREST (Current), without QoS, in the lane of Data
        target   to the watcher: DECLARE (token), DECLARE (D_FINAL)
    """
    watcher, other = parties(scene, "watcher", "other")
    other.declares_token("k/a")

    interest = watcher.asks_interest(InterestOptions.TOKENS, InterestMode.CURRENT, "k/**")

    for body in (DToken, DFinal):
        watcher.expect(Declare, tells(body), step="an interest without QoS")
    watcher.ends_interest(interest.id)


@case("message-reference/default-qos-oam", needs=NEEDS, control=a_query_reaches_a_queryable, is_heard=True)
def an_oam_without_qos_is_data(scene: Scene) -> None:
    """
    A network OAM without QoS has its place in the lane of Data, between others: those are served as before.

        publisher  PUSH, OAM (an id that nobody knows) without QoS, PUSH: in the lane of Data
        target     to the subscriber: both PUSHes
    """
    publisher, subscriber = heard_of(scene, whole=False)

    publisher.puts("k", b"before")
    publisher.says(NetworkOam(id=UNKNOWN, enc=Enc.UNIT))
    publisher.puts("k", b"after")
    publisher.settles("after an OAM")

    for value in (b"before", b"after"):
        same = payload_of(subscriber.expect_push("k", step="around an OAM")) == value
        subscriber.us.require(same, expected="what was said around it", got="another", step="around an OAM")  # fmt: skip


def answered(scene: Scene) -> Party:
    """A querier whose query was answered and ended, all without QoS."""
    querier, queryable = asked_of(scene)
    asked = querier.asks("k")
    answers(queryable, asked, b"1")
    querier.expect_end(asked)
    with querier.us.about("query/query-zero-or-more-responses"):
        querier.us.require(bool(querier.answers(asked)), expected="Response", got="none", step="the answer")
    return querier
