"""A query and its answers come as they were said; and how answers are thinned out. Toward a node that routes between its clients."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid, pairwise
from zenoh_conformance.cases.push.values import ENCODINGS, FIELDS, OPAQUE, SOURCE, STAMP, same_put
from zenoh_conformance.cases.routing.plain import (
    BY_NUMBER,
    ROUTES,
    a_query_reaches_a_queryable,
    answers,
    asked_of,
    by_number,
)
from zenoh_conformance.messages import (
    ConsolidationMode,
    Del,
    Err,
    InterestMode,
    InterestOptions,
    Put,
    PutAttachment,
    QueryAttachment,
    QueryBody,
    Reply,
    ResponderId,
    SourceInfo,
    Target,
)
from zenoh_conformance.primitives import Encoding, Timestamp, ZenohID
from zenoh_conformance.talking import Asked, Party, Scene, parties, payload_of, told
from zenoh_conformance.wire import Exts

PARAMETERS = ("", "a", "a=1;b=2", "a=1&b=2", "a=1&a=2", "ü=漢", "?#/*$ %00", "x" * 5000)
"""What may stand behind a question: no page gives it a form."""

WHO = ResponderId(zid=ZenohID(b"\x77\x88"), eid=4000)


def pair(scene: Scene, **query: Any) -> tuple[Party, Party, Asked]:
    """A querier, a queryable, and a query that has come there."""
    querier, queryable = asked_of(scene, "k/**")
    asked = querier.asks("k", **query)
    queryable.takes(asked)
    return querier, queryable, asked


def answered(scene: Scene, body: Any, *exts: Any, key: str | None = None) -> tuple[Party, Any]:
    """Answer a query with a body, and what comes of it."""
    querier, queryable, asked = pair(scene, consolidation=1)
    queryable.replies(asked, body=body, exts=exts, key=key)
    queryable.finishes(asked)
    querier.expect_end(asked)
    return querier, querier.expect_answer(asked)


@case(
    "query/parameters-opaque", needs=ROUTES, control=a_query_reaches_a_queryable, parameters=grid(parameters=PARAMETERS)
)
def parameters_pass_unchanged(scene: Scene, *, parameters: str) -> None:
    """
    Parameters are a text of the applications: they come as they were said, whatever they are.

        querier  REQUEST (QUERY with parameters)
        target   to the queryable: REQUEST (the same parameters)
    """
    querier, queryable = asked_of(scene)

    asked = querier.asks("k", parameters=parameters)

    queryable.takes(asked, step="the same parameters")


WITH_A_QUERY: tuple[tuple[type[Any], str, str], ...] = (
    (SourceInfo, "SourceInfo", "push/source-info-names-origin"),
    (QueryBody, "the body", "query/query-ext-query-body"),
    (QueryAttachment, "the attachment", "message-reference/attachment-opaque"),
)
"""What may go with a query, and the requirement that it comes through."""


@case(
    "push/source-info-names-origin",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=pairwise(
        source=(True, False), attachment=tuple(OPAQUE), body=tuple(ENCODINGS), mode=(None, *ConsolidationMode)
    ),
)
def a_query_comes_with_all_its_fields(
    scene: Scene, *, source: bool, attachment: str, body: str, mode: int | None
) -> None:
    """
    SourceInfo, body and attachment of a query come as they were said, and so does its consolidation mode.

        querier  REQUEST (QUERY with these)
        target   to the queryable: REQUEST (QUERY with the same)
    """
    value, encoding = OPAQUE[attachment], ENCODINGS[body]
    chain: list[Any] = [SOURCE] if source else []
    chain += [] if encoding is None else [QueryBody(encoding=encoding, payload=b"body")]
    chain += [] if value is None else [QueryAttachment(payload=value)]
    querier, queryable = asked_of(scene)

    asked = querier.asks("k", query_exts=chain, consolidation=mode)

    got = queryable.expect_request(asked).body
    for kind, name, requirement in WITH_A_QUERY:
        same = got.exts.get(kind) == asked.request.body.exts.get(kind)
        with queryable.us.about(requirement):
            queryable.us.require(same, expected=f"{name} as it was said", got="another", step="the query")
    same = (got.consolidation or 0) == (mode or 0)
    with queryable.us.about("query/query-consolidation"):
        queryable.us.require(same, expected="the mode as it was said", got="another", step="the query")


@case("reply/reply-carries-put-semantics", needs=ROUTES, control=a_query_reaches_a_queryable, parameters=FIELDS)
def an_answer_comes_with_all_its_fields(
    scene: Scene, *, stamped: bool, encoding: str, attachment: str, source: bool, payload: bytes
) -> None:
    """
    A REPLY's value comes as it was said: payload, encoding, timestamp, SourceInfo, attachment.

        queryable  RESPONSE (REPLY, PUT with these fields)
        target     to the querier: RESPONSE (REPLY, PUT with the same)
    """
    chain: list[Any] = [SOURCE] if source else []
    chain += [] if OPAQUE[attachment] is None else [PutAttachment(payload=OPAQUE[attachment] or b"")]
    put = Put(timestamp=STAMP if stamped else None, encoding=ENCODINGS[encoding], exts=Exts(chain), payload=payload)

    querier, response = answered(scene, Reply(body=put))

    is_value = isinstance(response.body, Reply)
    querier.us.require(is_value, expected="REPLY", got=type(response.body).__name__.upper(), step="the answer")
    same_put(querier, put, response.body.body)


@case(
    "reply/reply-carries-put-semantics",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(stamped=(False, True)),
)
def the_answer_that_it_is_deleted_comes_as_one(scene: Scene, *, stamped: bool) -> None:
    """
    A REPLY with a DEL comes as a DEL.

        queryable  RESPONSE (REPLY, DEL)
        target     to the querier: RESPONSE (REPLY, DEL)
    """
    gone = Del(timestamp=STAMP if stamped else None, exts=Exts((SOURCE,)))

    querier, response = answered(scene, Reply(body=gone))

    body = response.body.body if isinstance(response.body, Reply) else response.body
    querier.us.require(isinstance(body, Del), expected="DEL", got=type(body).__name__.upper(), step="the answer")
    same = body.exts.get(SourceInfo) == SOURCE and (not stamped or body.timestamp == STAMP)
    querier.us.require(same, expected="DEL as it was said", got="another", step="the answer")


@case(
    "reply/err-reaches-querier",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(encoding=tuple(ENCODINGS), payload=(b"", b"no such thing")),
)
def an_error_comes_as_one(scene: Scene, *, encoding: str, payload: bytes) -> None:
    """
    An ERR comes as an ERR, with its payload and encoding, and not as a value.

        queryable  RESPONSE (ERR)
        target     to the querier: RESPONSE (ERR, the same)
    """
    querier, response = answered(scene, Err(encoding=ENCODINGS[encoding], payload=payload))

    got = response.body
    querier.us.require(isinstance(got, Err), expected="ERR", got=type(got).__name__.upper(), step="the error")
    querier.us.require(got.payload == payload, expected="the payload as it was said", got="another", step="the error")
    same = (got.encoding or Encoding(0)) == (ENCODINGS[encoding] or Encoding(0))
    querier.us.require(same, expected="the encoding as it was said", got="another", step="the error")


@case("reply/err-may-be-structured", needs=ROUTES, control=an_error_comes_as_one)
def an_error_may_be_structured(scene: Scene) -> None:
    """
    An ERR may have a payload with an encoding of its own; other answers may stand beside it.

        queryable  RESPONSE (REPLY), RESPONSE (ERR, JSON), RESPONSE_FINAL
        target     to the querier: both
    """
    querier, queryable, asked = pair(scene, consolidation=1)
    queryable.replies(asked, b"1")
    queryable.fails(asked, b'{"why": 1}', encoding=Encoding(5))
    queryable.finishes(asked)

    querier.expect_answers(asked, [b"1", b'{"why": 1}'])


@case(
    "reply/responder-id-names-replier",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(of=("reply", "err")),
)
def the_responder_passes_unchanged(scene: Scene, *, of: str) -> None:
    """
    ResponderId comes as it was said: it names who answered, not who passes on.

        queryable  RESPONSE (ResponderId)
        target     to the querier: RESPONSE, the same ResponderId
    """
    body = Reply(body=Put(payload=b"1")) if of == "reply" else Err(payload=b"1")
    querier, response = answered(scene, body, WHO)

    same = response.exts.get(ResponderId) == WHO
    querier.us.require(same, expected="ResponderId as it was said", got="another", step="the responder")


@case(
    "reply/response-key-of-value",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(key=("k", "k/a", "k/a/b")),
)
def an_answer_keeps_its_key(scene: Scene, *, key: str) -> None:
    """
    An answer is about a key of its own, within what was asked: it comes under that key.

        querier    REQUEST (k/**)
        queryable  RESPONSE (k/a)
        target     to the querier: RESPONSE (k/a)
    """
    querier, queryable = asked_of(scene, "k/**")
    asked = querier.asks("k/**", consolidation=1)

    answers(queryable, asked, b"1", key=key)

    querier.expect_end(asked)
    got = [heard.key for heard in querier.answers(asked)]
    querier.us.require(got == [querier.whole(key)], expected="the key as it was said", got="another", step="the key")


@case(
    "reply/response-mapping-side",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=BY_NUMBER,
)
def an_answer_may_name_its_key_by_number(scene: Scene, *, how: str) -> None:
    """
    An answer names its key by a number of its sender (M), with a suffix or without, or by one of its receiver.

        queryable  DECLARE (key expression), RESPONSE (M, that number)
        target     to the querier: RESPONSE, the whole key
    """
    querier, queryable = parties(scene, "querier", "queryable")
    wanted = InterestOptions.KEY_EXPRS | InterestOptions.SUBSCRIBERS
    queryable.asks_interest(wanted, InterestMode.CURRENT_FUTURE, "k/b")
    queryable.settles()
    querier.declares_subscriber("k/b")
    queryable.now()
    named = by_number(queryable, how)
    if named is None:
        return
    key, whole = named
    queryable.declares_queryable("k/**")
    asked = querier.asks("k/**", consolidation=1)

    answers(queryable, asked, b"1", key=key)

    querier.expect_end(asked)
    got = [heard.key for heard in querier.answers(asked)]
    querier.us.require(got == [querier.whole(whole)], expected="the key that was meant", got="another", step="the key")


@case("reply/response-many", needs=ROUTES, control=a_query_reaches_a_queryable)
def both_answer_several_times(scene: Scene) -> None:
    """
    Two queryables answer in turn, several times each: all answers come, those of one in its order.

        one, other  RESPONSE, three times each, in turn; RESPONSE_FINAL
        target      to the querier: all six, RESPONSE_FINAL
    """
    querier, one, other = parties(scene, "querier", "one", "other")
    for each in (one, other):
        each.declares_queryable("k/**")
    asked = querier.asks("k/**", target=Target.ALL, consolidation=1)

    for number in range(3):
        for each, name in ((one, b"a"), (other, b"b")):
            each.replies(asked, name + bytes([number]), key=f"k/{number}")
    for each in (one, other):
        each.finishes(asked)

    querier.expect_end(asked)
    got = [payload_of(heard.message) or b"" for heard in querier.answers(asked)]
    for name in (b"a", b"b"):
        mine = [each for each in got if each[:1] == name]
        wanted = [name + bytes([number]) for number in range(3)]
        querier.us.require(mine == wanted, expected=told(wanted), got=told(mine), step="the answers of each")


def stamp(at: int) -> Timestamp:
    """One of several moments."""
    return Timestamp(time=STAMP.time + (at << 32), zid=STAMP.zid)


THINNED: dict[int | None, list[list[bytes]]] = {
    ConsolidationMode.NONE: [[b"a2", b"b1", b"a1", b"a3"]],
    ConsolidationMode.MONOTONIC: [[b"a2", b"b1", b"a1", b"a3"], [b"a2", b"b1", b"a3"]],
    ConsolidationMode.LATEST: [[b"a2", b"b1", b"a1", b"a3"], [b"a3", b"b1"], [b"b1", b"a3"]],
}
"""Mode to what may come of the answers a2, b1, a1, a3 (key and moment): all of them, where the querier is to thin, or what is left."""


def thinned(scene: Scene, mode: int | None, allowed: list[list[bytes]]) -> None:
    """Answer four times with other moments, and compare what comes."""
    querier, queryable = asked_of(scene, "k/**")
    asked = querier.asks("k/**", consolidation=mode)

    for key, at in (("a", 2), ("b", 1), ("a", 1), ("a", 3)):
        queryable.replies(asked, f"{key}{at}".encode(), key=f"k/{key}", timestamp=stamp(at))
    queryable.finishes(asked)

    querier.expect_end(asked)
    got = [payload_of(heard.message) or b"" for heard in querier.answers(asked)]
    querier.us.require(
        got in allowed, expected="the answers that the mode lets through", got=told(got), step="thinned out"
    )
    if len(allowed) > 1:
        scene.follows("consolidation-by-querier" if len(got) == 4 else None)


@case("query/consolidation-none-forwards-all", needs=ROUTES, control=a_query_reaches_a_queryable)
def none_lets_all_through(scene: Scene) -> None:
    """
    Consolidation None: every answer comes as it was given, older ones too.

        queryable  RESPONSE (a at 2, b at 1, a at 1, a at 3)
        target     to the querier: all four
    """
    thinned(scene, ConsolidationMode.NONE, THINNED[ConsolidationMode.NONE])


@case("query/consolidation-monotonic-drops-older", needs=ROUTES, control=none_lets_all_through)
def monotonic_loses_nothing_newer(scene: Scene) -> None:
    """
    Consolidation Monotonic: a router drops what is older than what it sent for that key, or leaves that to the querier.

        queryable  RESPONSE (a at 2, b at 1, a at 1, a at 3)
        target     to the querier: all four, or all but a at 1
    """
    thinned(scene, ConsolidationMode.MONOTONIC, THINNED[ConsolidationMode.MONOTONIC])


@case("query/consolidation-latest-one-per-key", needs=ROUTES, control=none_lets_all_through)
def latest_loses_no_newest(scene: Scene) -> None:
    """
    Consolidation Latest: a router sends the newest of each key, or leaves that to the querier.

        queryable  RESPONSE (a at 2, b at 1, a at 1, a at 3)
        target     to the querier: all four, or a at 3 and b at 1
    """
    thinned(scene, ConsolidationMode.LATEST, THINNED[ConsolidationMode.LATEST])


@case("query/consolidation-default", needs=ROUTES, control=none_lets_all_through, parameters=grid(mode=(None, 0)))
def auto_loses_no_newest(scene: Scene, *, mode: int | None) -> None:
    """
    Without a mode, or with Auto, the newest of each key comes in any case, and the order of moments is kept or left to the querier.

        queryable  RESPONSE (a at 2, b at 1, a at 1, a at 3)
        target     to the querier: all four, or fewer as Monotonic or Latest have it
    """
    every = THINNED[ConsolidationMode.LATEST] + THINNED[ConsolidationMode.MONOTONIC]
    thinned(scene, mode, every)
