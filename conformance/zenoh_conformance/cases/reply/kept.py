"""What an answer keeps on its way besides its value, and that an error among answers ends nothing. Toward a node that routes."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.push.values import OPAQUE
from zenoh_conformance.cases.routing.plain import ROUTES, a_query_reaches_a_queryable
from zenoh_conformance.messages import ConsolidationMode, Del, DelAttachment, Put, Reply
from zenoh_conformance.talking import Scene
from zenoh_conformance.wire import Exts

from .values import an_error_comes_as_one, answered, pair, the_answer_that_it_is_deleted_comes_as_one


@case(
    "query/consolidation-none-forwards-all",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(mode=(None, *ConsolidationMode), kind=("value", "deletion")),
)
def an_answer_keeps_its_mode(scene: Scene, *, mode: int | None, kind: str) -> None:
    """
    To a query with consolidation None an answer is passed on as it is, with the mode that it names itself; none is Auto.

        querier    REQUEST (QUERY, None)
        queryable  RESPONSE (REPLY of that mode)
        target     to the querier: RESPONSE (REPLY of the same)
    """
    body: Any = Put(payload=b"1") if kind == "value" else Del()

    querier, response = answered(scene, Reply(consolidation=mode, body=body))

    is_reply = isinstance(response.body, Reply)
    querier.us.require(is_reply, expected="REPLY", got=type(response.body).__name__.upper(), step="the answer")
    same = (response.body.consolidation or 0) == (mode or 0)
    querier.us.require(same, expected="the mode as it was said", got="another", step="the answer")


@case(
    "reply/reply-carries-put-semantics",
    needs=ROUTES,
    control=the_answer_that_it_is_deleted_comes_as_one,
    parameters=grid(value=tuple(OPAQUE)[1:]),
)
def a_deletion_that_answers_keeps_its_attachment(scene: Scene, *, value: str) -> None:
    """
    A REPLY with a DEL that has an attachment comes with it.

        queryable  RESPONSE (REPLY, DEL with an attachment)
        target     to the querier: RESPONSE (REPLY, DEL with the same)
    """
    attachment = DelAttachment(payload=OPAQUE[value] or b"")

    querier, response = answered(scene, Reply(body=Del(exts=Exts((attachment,)))))

    body = response.body.body if isinstance(response.body, Reply) else response.body
    querier.us.require(isinstance(body, Del), expected="DEL", got=type(body).__name__.upper(), step="the answer")
    same = body.exts.get(DelAttachment) == attachment
    querier.us.require(same, expected="the attachment as it was said", got="another", step="the answer")


@case("query/consolidation-none-forwards-all", needs=ROUTES, control=an_error_comes_as_one)
def answers_may_follow_an_error(scene: Scene) -> None:
    """
    An error is one answer among others, and so is a deletion: those after it come as those before it.

        queryable  RESPONSE (REPLY), RESPONSE (ERR), RESPONSE (REPLY, DEL), the same again, RESPONSE_FINAL
        target     to the querier: all six, RESPONSE_FINAL
    """
    querier, queryable, asked = pair(scene, consolidation=1)
    for number in (b"1", b"2"):
        queryable.replies(asked, number)
        queryable.fails(asked, b"no " + number)
        queryable.replies_deleted(asked)
    queryable.finishes(asked)

    querier.expect_answers(asked, [b"1", b"no 1", None, b"2", b"no 2", None])
