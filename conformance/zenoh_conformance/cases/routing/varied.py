"""Publications, queries and declarations in generated circumstances. Toward a node that routes between its clients.

What comes is compared in full with what was said, as by the laws in `laws/forwarding.py`. Beside each message goes one with a key next
to its own, which nobody declared: it must come to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from zenoh_conformance.cases.case import case
from zenoh_conformance.cases.establishing import takes
from zenoh_conformance.cases.interest.telling import tells_who_asks_nothing
from zenoh_conformance.judging.variation import Variation
from zenoh_conformance.laws.forwarding import expectation
from zenoh_conformance.laws.origins import Hop, differing, origin_of
from zenoh_conformance.messages import (
    Declare,
    Del,
    DelAttachment,
    DQueryable,
    DSubscriber,
    DToken,
    Err,
    InterestMode,
    InterestOptions,
    Push,
    Put,
    PutAttachment,
    Query,
    QueryAttachment,
    QueryBody,
    Reply,
    Request,
    Response,
    ResponseFinal,
)
from zenoh_conformance.primitives import Encoding
from zenoh_conformance.reading.names import plain, undeclared_key
from zenoh_conformance.talking import Asked, Heard, Party, Scene
from zenoh_conformance.wire import Exts

from .circumstances import (
    ANSWER,
    DECLARED,
    DONE,
    ENTITY,
    FOLLOWED,
    LIMITED,
    ODD,
    ODD_AS,
    PAST,
    PUT_OR_DEL,
    RECEIVERS,
    ROUTING,
    SAID,
    SIZE,
    TARGETED,
    TERMS,
    Surroundings,
    say,
    with_odd,
)
from .pasts import REUSED, REUSED_INTEREST, REUSED_QUERY, TAKES_BACK, declares
from .plain import ROUTES, a_publication_reaches_a_subscriber, a_query_reaches_a_queryable


def difference(kind: str, said: Any, key: str, heard: Heard) -> tuple[Any, str, str] | None:
    """The first row of the table that does not hold of a message, what it wants and what it got; None where all hold."""
    origin, copy = (
        origin_of(Hop(heard.seen, b"", b"", name), kind, message)
        for name, message in ((key, said), (heard.key or "", heard.message))
    )
    rows = ((row, *expectation(row, origin, copy)) for row in differing(origin, copy) if row.is_judged)
    return next(rows, None)


def same(who: Party, kind: str, said: Any, key: str, heard: Heard) -> None:
    """Deviate where a message differs from what was said, in the first row of the table that does not hold."""
    found = difference(kind, said, key, heard)
    if found is not None:
        row, expected, got = found
        with who.us.about(row.sentence.requirement):
            who.us.deviate(expected=expected, got=got, step=row.path if "." in row.path else f"{row.chain}.{row.path}")


def answer_among(came: Sequence[Heard], who: Party, answer: Response) -> Heard:
    """The answer that came as it was said, whichever came first; deviates in the first one where there is none."""
    key = answer.key.suffix or ""
    like = [one for one in came if difference("response", answer, key, one) is None]
    same(who, "response", answer, key, (like or came)[0])
    return like[0]


def arrives(who: Party, kind: type[Any], key: str, *, step: str) -> Heard:
    """The message that is to come, and nothing with another key before it or beside it."""
    whole = who.whole(key)
    heard = who.expect(kind, lambda one: one.key in (whole, None), step=step)
    who.us.require(heard.key == whole, expected="the key", got="a number of nothing", step=step)
    return heard


def nothing_beside(who: Party, kind: type[Any], key: str) -> None:
    """Deviate where a message came whose key nobody declared."""
    came = [heard for heard in who.heard(kind) if heard.key == who.whole(key)]
    who.us.require(not came, expected=f"no {kind.__name__}", got=kind.__name__, step=f"beside, to {who.name}")


@case(
    "push/push-reaches-intersecting",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    varies=(PUT_OR_DEL, *ROUTING, FOLLOWED),
)
def a_publication_comes_in_any_circumstances(scene: Scene, v: Variation) -> None:
    """
    A publication reaches each subscriber whole, once, and nobody else, whatever the lane, the channel, the size, the way in which keys
    are named, the number of subscribers, the terms of the sessions and what they did before.

        subscribers  DECLARE (subscriber)
        publisher    PUSH (to a key beside it), PUSH
        target       to each subscriber: the second PUSH, as it was said
    """
    takes(scene, v.number(SIZE))
    around = Surroundings.of(scene, v, "subscriber")
    for each in around.receivers:
        around.declare_at(each, "subscriber", REUSED)
    around.let_pass("subscriber")
    key = around.spelt()

    def push(payload: bytes) -> Push:
        return Push(key=key, exts=Exts(around.exts), body=value_of(around, str(v[PUT_OR_DEL]), payload))

    said = with_odd(v, push(around.payload(push)))
    around.says(Push(key=plain(around.sender.whole(around.beside)), exts=said.exts, body=Put(payload=b"beside")), said)
    values: list[Push] = [said]
    if v[FOLLOWED] != FOLLOWED.default:
        values.append(replace(said, body=Put(payload=b"newer")))
        around.says(values[-1])

    for each, value in product(around.receivers, values):
        heard = arrives(each, Push, around.key, step=f"to {each.name}")
        same(each, "push", value, around.sender.whole(around.key), heard)
    around.sender.settles()
    for each in (around.sender, *around.receivers):
        with each.us.about("push/push-only-intersecting"):
            nothing_beside(each, Push, around.beside)
        each.settles("not reached: the sessions work")
        came = sum(heard.key == each.whole(around.key) for heard in each.heard(Push))
        wanted = len(values) if each is not around.sender else 0
        each.us.require(came == wanted, expected=f"{wanted} Push", got=f"{came} Push", step=f"once to {each.name}")


@case(
    "query/query-reaches-intersecting",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    varies=(ANSWER, *ROUTING, TARGETED, LIMITED, DONE),
)
def a_query_is_answered_in_any_circumstances(scene: Scene, v: Variation) -> None:
    """
    A query reaches each queryable whole, and nobody else, and each answer reaches the querier whole, and then one final.

        queryables  DECLARE (queryable)
        querier     REQUEST (a key beside it), REQUEST (All, None)
        target      to each queryable: the second REQUEST, as it was said
        queryables  RESPONSE, RESPONSE_FINAL
        target      to the querier: each RESPONSE, as it was said, and one RESPONSE_FINAL
    """
    takes(scene, v.number(SIZE))
    around = Surroundings.of(scene, v, "queryable")
    querier = around.sender
    for each in around.receivers:
        around.declare_at(each, "queryable", REUSED)
    around.let_pass("queryable")
    key = around.spelt()
    exts: Exts[Any] = Exts(around.query_exts)

    def request(payload: bytes) -> Request:
        carrier: Any = QueryAttachment if around.in_attachment else partial(QueryBody, encoding=Encoding(0))
        body = Query(consolidation=1, exts=Exts((carrier(payload=payload),)))
        return Request(id=number, key=key, exts=exts, body=body)

    beside, number = querier.us.new_id(), REUSED_QUERY
    said = with_odd(v, request(around.payload(request)))
    whole = querier.whole(around.key)
    around.says(
        Request(id=beside, key=plain(querier.whole(around.beside)), exts=exts, body=Query(consolidation=1)), said
    )
    asked, taken = Asked(number, whole, said, querier), list[tuple[Party, int, Any]]()

    for each in around.receivers:
        heard = arrives(each, Request, around.key, step=f"to {each.name}")
        same(each, "request", said, whole, heard)
        with each.us.about("query/query-only-intersecting"):
            nothing_beside(each, Request, around.beside)
        taken.append((each, heard.message.id, answer_of(around, heard.message.id)))
        say(each, v, taken[-1][-1])
        # A final that leaves in a more urgent lane would overtake it.
        querier.us.wait_until(lambda: len(querier.answers(asked)) >= len(taken))
    querier.expect_end(Asked(beside, querier.whole(around.beside), said, querier))
    with querier.us.about("query/query-complete-on-finals"):
        querier.us.require(not querier.finals(asked), expected="no final yet", got="ResponseFinal", step="the end")
    for each, ident, _ in taken[: len(taken) - (v[DONE] != DONE.default)]:
        say(each, v, with_odd(v, ResponseFinal(id=ident, exts=Exts(around.exts))))
    if v[DONE] != DONE.default:
        around.receivers[-1].leaves()
    querier.expect_end(asked)
    came = list(querier.answers(asked))
    for each, _, answer in taken:
        with querier.us.about("reply/err-reaches-querier" if v[ANSWER] == "err" else "reply/reply-delivers-value"):
            querier.us.require(bool(came), expected="Response", got="silence", step=f"the answer of {each.name}")
        came.remove(answer_among(came, querier, answer))
    querier.settles("not reached: the sessions work")
    with querier.us.about("reply/exactly-one-final"):
        finals = querier.finals(asked)
        querier.us.require(finals == 1, expected="one ResponseFinal", got=str(finals), step="the end")


def value_of(around: Surroundings, kind: str, payload: bytes) -> Put | Del:
    """A value or a deletion with these bytes; a deletion has room for them in its attachment alone."""
    if kind == "del":
        return Del(exts=Exts((DelAttachment(payload=payload),)))
    if around.in_attachment:
        return Put(exts=Exts((PutAttachment(payload=payload),)), payload=b"short")
    return Put(payload=payload)


def answer_of(around: Surroundings, number: int) -> Any:
    """What a queryable answers."""
    v, key = around.v, plain(around.sender.whole("k/a" if around.v[SAID] == "wildcard" else around.key))

    def response(payload: bytes) -> Any:
        kind = str(v[ANSWER])
        body = Err(payload=payload) if kind == "err" else Reply(body=value_of(around, kind, payload))
        return with_odd(v, Response(id=number, key=key, exts=Exts(around.exts), body=body))

    return response(around.payload(response))


DECLARES = {"subscriber": DSubscriber, "queryable": DQueryable, "token": DToken}
OPTIONS = {
    "subscriber": InterestOptions.SUBSCRIBERS,
    "queryable": InterestOptions.QUERYABLES,
    "token": InterestOptions.TOKENS,
}


@case(
    "declarations/forwarded-on-interest",
    needs=ROUTES,
    control=a_publication_reaches_a_subscriber,
    varies=(ENTITY, SAID, DECLARED, RECEIVERS, PAST, TERMS, ODD, ODD_AS),
)
def a_declaration_is_told_in_any_circumstances(scene: Scene, v: Variation) -> None:
    """
    A declaration is told to each session with a matching interest, and so is its end; one beside it is told to nobody,
    unless the target tells all declarations to sessions without any interest, too.

        watchers  INTEREST (CurrentFuture, a restricted key)
        other     DECLARE (a key beside it), DECLARE
        target    to each watcher: the second DECLARE
        other     DECLARE (undeclare)
        target    to each watcher: DECLARE (undeclare, the id that it told)
    """
    kind = str(v[ENTITY])
    around = Surroundings.of(scene, v, kind)
    key = around.spelt()
    for each in around.receivers:
        each.asks_interest(OPTIONS[kind], InterestMode.CURRENT_FUTURE, around.named_at(each), REUSED_INTEREST)
        each.settles()

    declares(around.sender, kind, around.beside)
    around.sender.declares(DECLARES[kind](id=REUSED, key=key))

    told = [(each, arrives_told(each, DECLARES[kind], around.key)) for each in around.receivers]
    around.sender.declares(TAKES_BACK[kind](id=REUSED, exts=undeclared_key(key)))
    for each, ident in told:
        takes_back(each, TAKES_BACK[kind], ident)
        beside = any(one.key == each.whole(around.beside) for one in each.heard(Declare))
        right = not beside or tells_who_asks_nothing(scene, each)
        with each.us.about("interests/restricted-to-key"):
            each.us.require(right, expected="nothing of another key", got="Declare", step=f"beside, to {each.name}")


def takes_back(who: Party, kind: type[Any], ident: int) -> None:
    """What a watcher was told under an id is taken back; another declaration of the key may be, too."""
    who.expect(
        Declare,
        lambda one: isinstance(one.message.body, kind) and one.message.body.id == ident,
        step=f"taken back, to {who.name}",
        what=kind.__name__,
    )


def arrives_told(who: Party, kind: type[Any], key: str) -> int:
    """What a watcher is told of a key: its id."""
    whole = who.whole(key)
    heard = who.expect(
        Declare,
        lambda one: isinstance(one.message.body, kind) and one.key == whole,
        step=f"declared, to {who.name}",
        what=kind.__name__,
    )
    return int(heard.message.body.id)
