"""Messages of a live session with optional extensions that nobody knows, and CLOSE behind other messages of its batch."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.establishing import with_unknown
from zenoh_conformance.cases.establishment.sane import a_session_does_work
from zenoh_conformance.cases.routing.plain import ROUTES, a_query_reaches_a_queryable, asked_of, heard_of
from zenoh_conformance.messages import Fragment, KeepAlive, Push, Put, Query, Request, sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.names import plain
from zenoh_conformance.talking import Dialogue, Party, Scene, live_session
from zenoh_conformance.wire import Enc, exts

from .fragments import expect_value, fits, in_pieces, pieces_are_put_together, push

ODD: dict[str, dict[str, Any]] = {
    "unit": {"id": 0xC, "enc": Enc.UNIT, "value": None},
    "z64": {"id": 0xC, "enc": Enc.Z64, "value": 300},
    "zbuf": {"id": 0xC, "enc": Enc.ZBUF, "value": b"odd"},
}
"""Optional extensions that no page names."""


@case(
    "primitives/unknown-optional-no-error",
    control=a_session_does_work,
    parameters=grid(of=("keep-alive", "frame"), enc=tuple(ODD)),
    is_of_both=True,
)
def an_unknown_extension_ends_no_session(scene: Scene, *, of: str, enc: str) -> None:
    """
    KEEP_ALIVE or FRAME has an optional extension that no page names: the session goes on.

        us      KEEP_ALIVE (an unknown extension), or FRAME (the same: PUSH)
        target  goes on
    """
    us = live_session(scene)
    us.expect_live(step="not reached: the session works")

    us.send(with_unknown(KeepAlive() if of == "keep-alive" else us.frame(to_nobody(us)), **ODD[enc]))

    us.expect_live()


@case(
    "primitives/unknown-optional-skipped",
    needs=ROUTES,
    control=pieces_are_put_together,
    parameters=grid(of=("frame", "first-fragment", "last-fragment"), enc=tuple(ODD)),
    is_heard=True,
)
def what_has_an_unknown_extension_counts(scene: Scene, *, of: str, enc: str) -> None:
    """
    A FRAME, or one of the FRAGMENTs of a message, has an optional extension that no page names: what it holds is passed on.

        publisher  FRAME (an unknown extension: PUSH), or FRAGMENT, .., FRAGMENT (one of them with such an extension)
        target     to the subscriber: PUSH
    """
    publisher, subscriber = heard_of(scene)
    value = sane.payload(1 if of == "frame" else fits(publisher, 4))
    said = push(publisher, "k/a", value)
    sent: list[Any] = [publisher.us.frame(said)] if of == "frame" else [*in_pieces(publisher, said, 4)]
    odd = -1 if of == "last-fragment" else 0
    sent[odd] = with_unknown(sent[odd], **ODD[enc])

    for each in sent:
        publisher.us.send(each)
    publisher.settles("the session works")

    expect_value(subscriber, "k/a", value, step="what it holds")


@case(
    "primitives/unknown-mandatory-rejected",
    needs=ROUTES,
    control=a_query_reaches_a_queryable,
    parameters=grid(of=("frame", "request", "fragment")),
    breaks=("law/what-is-said-decodes",),
)
def what_has_an_unknown_mandatory_extension_is_rejected(scene: Scene, *, of: str) -> None:
    """
    A REQUEST, the FRAME around it, or its only FRAGMENT, has a mandatory extension that no page names: the query is not passed on.

        queryable  DECLARE (queryable)
        querier    FRAME or FRAGMENT (an unknown mandatory extension: REQUEST), or FRAME (REQUEST, with such an extension)
        target     to the queryable: nothing; the querier's session may end
    """
    querier, queryable = asked_of(scene)
    plain_one = querier.asks("k")
    queryable.finishes(plain_one)
    querier.expect_end(plain_one)
    request = Request(id=querier.us.new_id(), key=querier.key("k"), body=Query(parameters="odd"))
    if of == "request":
        request = with_unknown(request, **ODD["unit"], mandatory=True)
    carrier = querier.us.frame(request) if of != "fragment" else whole_in_a_fragment(querier, request)

    querier.us.send(carrier if of == "request" else with_unknown(carrier, **ODD["unit"], mandatory=True))
    querier.settles_or_ends()

    came = [heard for heard in queryable.now(Request) if heard.message.body.parameters == "odd"]
    queryable.us.require(not came, expected="no Request", got="Request", step="what it holds")


@case(
    "primitives/unknown-optional-skipped", control=a_session_does_work, parameters=grid(enc=tuple(ODD)), is_of_both=True
)
def a_close_with_an_unknown_extension_counts(scene: Scene, *, enc: str) -> None:
    """
    CLOSE has an optional extension that no page names: it ends the session all the same.

        us      Close (an unknown extension)
        target  the link's end
    """
    us = live_session(scene)
    us.expect_live(step="not reached: the session works")

    us.send(with_unknown(sane.close(), **ODD[enc]))

    us.expect_end(step="after Close")


@case("close/close-ends-the-link", control=a_session_does_work, parameters=({}, {"before": "frame"}), is_of_both=True)
def a_close_behind_another_message_counts(scene: Scene, *, before: str = "keep-alive") -> None:
    """
    A batch holds a message and, behind it, CLOSE (erratum several-messages-per-batch): the session ends.

        us      KEEP_ALIVE or FRAME (PUSH), and Close, in one batch
        target  the link's end
    """
    us = live_session(scene)
    us.expect_live(step="not reached: the session works")

    us.send(us.frame(to_nobody(us)) if before == "frame" else KeepAlive(), sane.close())

    us.expect_end(step="after Close")


def whole_in_a_fragment(who: Party, message: Request) -> Fragment:
    """The only fragment of a message."""
    marks = [sane.first()] if who.us.patch > 0 else []
    return Fragment(more=False, sn=who.us.next_sn(), exts=exts(*marks), payload=encode(message))


def to_nobody(us: Dialogue) -> Push:
    """A publication that nobody wants."""
    return Push(key=plain(f"zconform/nobody/{us.zid.hex()}"), body=Put(payload=b"1"))
