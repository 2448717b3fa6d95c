"""What a node says and hears for its own application: it connected to us, and its agent tells what it is told."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.messages import (
    ConsolidationMode,
    Del,
    Err,
    Put,
    Reply,
    Request,
    ResponderId,
    Response,
    ResponseFinal,
    SourceInfo,
)
from zenoh_conformance.primitives import Timestamp, ZenohID
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Party, Scene, Told, named, payload_of, router
from zenoh_conformance.talking.application import told

AREA = "application"

LONG_MS = 60_000
"""A timeout that does not come."""
LATE = 3.0
"""Units for which the end of a get is waited that ends by its timeout: no page says how precise that is."""
STAMP = 0x6500_0000_8000_0000
GET, PUT, DELETE, SUBSCRIBES, SERVES = (
    ("agent.get",), ("agent.put",), ("agent.delete",), ("agent.declare_subscriber",), ("agent.declare_queryable",),
)  # fmt: skip


def subscribed(scene: Scene) -> Party:
    """The same, where we subscribe: without one who wants it, what an application puts need not leave its node."""
    us = router(scene)
    us.declares_subscriber("k/**")
    return us


def asked_by(scene: Scene, us: Party, **how: Any) -> Request:
    """The application asks for `k`, which we serve; the query, as it comes to us."""
    us.declares_queryable("k/**", complete=True)
    scene.agent.ask("get", id=named(us), key=us.whole("k/**"), **({"timeout_ms": LONG_MS} | how))
    found: Request = us.expect(
        Request, lambda heard: heard.key == us.whole("k/**"), step="not reached: the query"
    ).message
    return found


def answer(us: Party, request: Request, payload: bytes, *, key: str = "k/a", at: int = 0) -> None:
    """A value for a query of the application."""
    stamp = Timestamp(time=STAMP + (at << 32), zid=ZenohID(b"\x11"))
    us.says(Response(id=request.id, key=us.key(key), body=Reply(body=Put(timestamp=stamp, payload=payload))))


def told_until_end(
    scene: Scene, us: Party, *, most: int = 50, within: float = 1.0, step: str = "the application"
) -> list[Told]:
    """What the application is told of its query, to its end. Deviates when there is none. `within`: units that each event may take."""
    events: list[Told] = []
    while len(events) < most and not (events and events[-1]["event"] == "end"):
        event = told(scene, us, within * scene.unit)
        if event is None:
            us.us.deviate(expected="the end of the get", got="silence", step=step)
        else:
            events.append(event)
    return events


def replies(events: Sequence[Told]) -> list[str]:
    """The payloads of values among them."""
    return [str(each.get("payload", "")) for each in events if each["event"] == "reply"]


@case("query/query-complete-on-finals", role=Side.INITIATOR, needs=GET)
def a_get_ends_at_its_final(scene: Scene) -> None:
    """
    The application asks; its query is over for it when the final has come, with all that came before.

        us           DECLARE (D_QUERYABLE)
        target       REQUEST
        us           RESPONSE, RESPONSE_FINAL
        application  a reply, the end
    """
    us = router(scene)
    request = asked_by(scene, us)
    answer(us, request, b"\x01")
    us.says(ResponseFinal(id=request.id))

    events = told_until_end(scene, us)

    us.us.require(
        replies(events) == ["01"], expected="one reply", got=f"{len(replies(events))}", step="the application"
    )


@case("reply/not-complete-before-finals", role=Side.INITIATOR, needs=GET, control=a_get_ends_at_its_final)
def a_get_does_not_end_before_its_final(scene: Scene) -> None:
    """
    An answer is not the end: what comes after it still comes to the application.

        target       REQUEST
        us           RESPONSE
        application  a reply, and no end
        us           RESPONSE, RESPONSE_FINAL
        application  a reply, the end
    """
    us = router(scene)
    request = asked_by(scene, us, consolidation="none")
    answer(us, request, b"\x01")
    us.settles("not reached: the session works")

    first, early = told(scene, us, scene.unit), told(scene, us, scene.unit / 4)
    us.us.require(first is not None, expected="a reply", got="silence", step="not reached: the first reply")
    us.us.require(
        early is None, expected="a get that goes on", got=str(early and early["event"]), step="before the final"
    )
    answer(us, request, b"\x02", key="k/b")
    us.says(ResponseFinal(id=request.id))
    rest = told_until_end(scene, us)

    us.us.require("02" in replies(rest), expected="the second reply", got="none", step="before the final")


@case("query/timeout-ends-waiting", role=Side.INITIATOR, needs=GET, control=a_get_ends_at_its_final)
def a_get_ends_at_its_timeout(scene: Scene) -> None:
    """
    Nobody answers: when the timeout has run out, the application is told the end; an error may tell why.

        target       REQUEST (perhaps with Timeout)
        us           nothing
        application  the end
    """
    us = router(scene)
    asked_by(scene, us, timeout_ms=int(scene.unit * 125))

    events = told_until_end(scene, us, within=LATE)

    us.us.require(not replies(events), expected="no reply", got="a reply", step="the application")


@case("reply/complete-on-timeout", role=Side.INITIATOR, needs=GET, control=a_get_ends_at_its_final)
def what_comes_after_the_timeout_is_not_told(scene: Scene) -> None:
    """
    An answer comes after the timeout: the application, whose get has ended, is not told of it, and can ask again.

        target       REQUEST
        application  the end
        us           RESPONSE, RESPONSE_FINAL
        application  nothing
    """
    us = router(scene)
    request = asked_by(scene, us, timeout_ms=int(scene.unit * 125))
    told_until_end(scene, us, within=LATE, step="not reached: the end of the get")

    answer(us, request, b"\x07")
    us.says(ResponseFinal(id=request.id))
    us.settles("after a late answer")

    late = told(scene, us, scene.unit / 8)
    us.us.require(
        late is None, expected="nothing after the end", got=str(late and late["event"]), step="the application"
    )


def gets(scene: Scene, mode: str) -> tuple[Party, list[str]]:
    """What comes of a at 2, b at 1, a at 1, a at 3 in a mode."""
    us = router(scene)
    request = asked_by(scene, us, consolidation=mode)
    for key, at, payload in (("a", 2, b"\xa2"), ("b", 1, b"\xb1"), ("a", 1, b"\xa1"), ("a", 3, b"\xa3")):
        answer(us, request, payload, key=f"k/{key}", at=at)
    us.says(ResponseFinal(id=request.id))
    return us, replies(told_until_end(scene, us))


@case("query/consolidation-none-forwards-all", role=Side.INITIATOR, needs=GET, control=a_get_ends_at_its_final)
def an_application_that_wants_all_gets_all(scene: Scene) -> None:
    """
    Consolidation None: the application is told every answer.

        us           RESPONSE (a at 2, b at 1, a at 1, a at 3), RESPONSE_FINAL
        application  four replies
    """
    us, got = gets(scene, "none")
    us.us.require(got == ["a2", "b1", "a1", "a3"], expected="all four", got=" ".join(got), step="the application")


@case("query/consolidation-monotonic-drops-older", role=Side.INITIATOR, needs=GET, control=a_get_ends_at_its_final)
def an_application_gets_nothing_older(scene: Scene) -> None:
    """
    Consolidation Monotonic: the application is told nothing older than what it was told for that key.

        us           RESPONSE (a at 2, b at 1, a at 1, a at 3), RESPONSE_FINAL
        application  a at 2, b at 1, a at 3
    """
    us, got = gets(scene, "monotonic")
    us.us.require(
        got == ["a2", "b1", "a3"], expected="all but the older one", got=" ".join(got), step="the application"
    )


@case("query/consolidation-latest-one-per-key", role=Side.INITIATOR, needs=GET, control=a_get_ends_at_its_final)
def an_application_gets_the_newest_only(scene: Scene) -> None:
    """
    Consolidation Latest: the application is told the newest of each key, and nothing else.

        us           RESPONSE (a at 2, b at 1, a at 1, a at 3), RESPONSE_FINAL
        application  a at 3, b at 1
    """
    us, got = gets(scene, "latest")
    us.us.require(sorted(got) == ["a3", "b1"], expected="the newest of each", got=" ".join(got), step="the application")


@case("reply/err-reaches-querier", role=Side.INITIATOR, needs=GET, control=a_get_ends_at_its_final)
def an_application_is_told_of_an_error(scene: Scene) -> None:
    """
    An ERR is told to the application as an error, with its payload.

        us           RESPONSE (ERR), RESPONSE_FINAL
        application  an error, the end
    """
    us = router(scene)
    request = asked_by(scene, us)
    us.says(Response(id=request.id, key=us.key("k/a"), body=Err(payload=b"\x0e")), ResponseFinal(id=request.id))

    events = told_until_end(scene, us)

    errors = [each.get("payload") for each in events if each["event"] == "error"]
    us.us.require(errors == ["0e"], expected="an error", got=f"{len(errors)} errors", step="the application")


def served(scene: Scene, plan: list[dict[str, Any]]) -> tuple[Party, list[Any]]:
    """The application serves `k` by a plan; what it answers to a query of ours, to the final."""
    us = router(scene)
    scene.agent.ask("declare_queryable", id=named(us), key=us.whole("k/**"), plan=plan)
    us.settles("not reached: the session works")
    asked = us.asks("k/**", consolidation=ConsolidationMode.NONE)
    answered = us.us.wait_until(lambda: bool(us.finals(asked) or (plan and us.answers(asked))))
    us.us.require(
        answered, expected="Response" if plan else "ResponseFinal", got=us.us.text_of(None), step="the queryable ends"
    )
    us.expect_final(asked, step="the queryable ends")
    us.settles("not reached: the session works")
    us.us.require(
        us.finals(asked) == 1, expected="one ResponseFinal", got=str(us.finals(asked)), step="the queryable ends"
    )
    return us, us.answers(asked)


@case("reply/final-always-comes", role=Side.INITIATOR, needs=SERVES, parameters=grid(answers=(1, 0, 3)))
def a_queryable_ends_what_it_answers(scene: Scene, *, answers: int) -> None:
    """
    An application serves a query with some answers, or none: they come, and then one final.

        us      REQUEST
        target  RESPONSE, so many times, RESPONSE_FINAL
    """
    plan = [{"reply": f"0{number}"} for number in range(answers)]

    us, got = served(scene, plan)

    payloads = [payload_of(heard.message) for heard in got]
    right = payloads == [bytes([number]) for number in range(answers)]
    with us.us.about("reply/reply-delivers-value"):
        us.us.require(len(payloads) >= answers, expected=f"{answers} answers", got="fewer", step="the answers")
        us.us.require(
            right, expected=f"{answers} answers", got=f"{len(payloads)} of another choice", step="the answers"
        )


@case("reply/err-on-failure", role=Side.INITIATOR, needs=SERVES, control=a_queryable_ends_what_it_answers)
def a_queryable_that_fails_says_so(scene: Scene) -> None:
    """
    An application that cannot serve a query answers with an ERR.

        us      REQUEST
        target  RESPONSE (ERR), RESPONSE_FINAL
    """
    us, got = served(scene, [{"error": "0e"}])

    errors = [heard.message.body for heard in got if isinstance(heard.message.body, Err)]
    us.us.require(
        len(errors) == len(got) == 1, expected="one ERR", got=f"{len(errors)} of {len(got)}", step="the error"
    )
    us.us.require(errors[0].payload == b"\x0e", expected="the payload as given", got="another", step="the error")


@case("reply/response-key-of-value", role=Side.INITIATOR, needs=SERVES, control=a_queryable_ends_what_it_answers)
def a_queryable_answers_under_the_values_key(scene: Scene) -> None:
    """
    An application answers under a key of its own: the RESPONSE bears it.

        us      REQUEST (k/**)
        target  RESPONSE (k/a), RESPONSE_FINAL
    """
    us = router(scene)
    plan = [{"reply": "01", "key": us.whole("k/a")}]
    scene.agent.ask("declare_queryable", id=named(us), key=us.whole("k/**"), plan=plan)
    us.settles("not reached: the session works")
    asked = us.asks("k/**")
    us.expect_end(asked)

    got = [heard.key for heard in us.answers(asked)]

    us.us.require(got == [us.whole("k/a")], expected="the key of the value", got="another", step="the key")


@case("reply/responder-id-names-replier", role=Side.INITIATOR, needs=SERVES, control=a_queryable_ends_what_it_answers)
def a_queryable_names_itself(scene: Scene) -> None:
    """
    A ResponderId, where there is one, names the node that answers.

        us      REQUEST
        target  RESPONSE (perhaps with ResponderId: its own ZenohID), RESPONSE_FINAL
    """
    us, got = served(scene, [{"reply": "01"}])

    for heard in got:
        who = heard.message.exts.get(ResponderId)
        mine = who is None or (us.us.theirs is not None and who.zid.raw == us.us.theirs.zid.raw)
        us.us.require(mine, expected="its own ZenohID", got="another", step="ResponderId")


@case("push/put-delivers-value", role=Side.INITIATOR, needs=PUT, parameters=grid(payload=("", "00", "76616c7565")))
def an_application_publishes(scene: Scene, *, payload: str) -> None:
    """
    What an application puts is pushed with its key and its value; a SourceInfo, where there is one, names the node.

        us      DECLARE (D_SUBSCRIBER)
        target  PUSH (PUT)
    """
    us = subscribed(scene)
    scene.agent.ask("put", key=us.whole("k"), payload=payload)

    push = us.expect_push("k", step="the publication")

    is_put = isinstance(push.body, Put) and push.body.payload.hex() == payload
    us.us.require(is_put, expected="PUT with the value", got=type(push.body).__name__.upper(), step="the publication")
    source = push.body.exts.get(SourceInfo)
    mine = source is None or (us.us.theirs is not None and source.zid.raw == us.us.theirs.zid.raw)
    us.us.require(mine, expected="its own ZenohID", got="another", step="SourceInfo")


@case("push/del-signals-deletion", role=Side.INITIATOR, needs=DELETE, control=an_application_publishes)
def an_application_deletes(scene: Scene) -> None:
    """
    What an application deletes is pushed as a DEL.

        us      DECLARE (D_SUBSCRIBER)
        target  PUSH (DEL)
    """
    us = subscribed(scene)
    scene.agent.ask("delete", key=us.whole("k"))

    push = us.expect_push("k", step="the deletion")

    us.us.require(isinstance(push.body, Del), expected="DEL", got=type(push.body).__name__.upper(), step="the deletion")


@case("push/source-info-sn-monotonic", role=Side.INITIATOR, needs=PUT, control=an_application_publishes)
def an_application_counts_what_it_publishes(scene: Scene) -> None:
    """
    Several publications of one application: their source numbers, where there are any, rise.

        us      DECLARE (D_SUBSCRIBER)
        target  PUSH, three times
    """
    us = subscribed(scene)
    for number in range(3):
        scene.agent.ask("put", key=us.whole("k"), payload=f"0{number}")

    pushes = [us.expect_push("k", step="not reached: the publication") for _ in range(3)]

    numbers = [source.sn for push in pushes if (source := push.body.exts.get(SourceInfo)) is not None]
    rise = all(one < other for one, other in itertools.pairwise(numbers))
    us.us.require(rise, expected="numbers that rise", got="others", step="SourceInfo")


@case(
    "push/push-reaches-intersecting",
    role=Side.INITIATOR,
    needs=SUBSCRIBES,
    parameters=grid(declared=("k/a", "k/*", "k/**")),
)
def an_application_hears(scene: Scene, *, declared: str) -> None:
    """
    An application that subscribes is told of publications to keys that its own meets, with value and kind, and of no other.

        us           PUSH (PUT to x), PUSH (PUT to k/a), PUSH (DEL of k/a)
        application  a put, a delete
    """
    us = router(scene)
    scene.agent.ask("declare_subscriber", id=named(us), key=us.whole(declared))
    us.settles("not reached: the session works")

    us.puts("x", b"\x00")
    us.puts("k/a", b"\x01")
    us.deletes("k/a")
    us.settles("not reached: the session works")

    events = [event for _ in range(2) if (event := told(scene, us, scene.unit)) is not None]
    got = [(str(each["key"]), each["kind"], each.get("payload") or "") for each in events]
    wanted = [(us.whole("k/a"), "put", "01"), (us.whole("k/a"), "delete", "")]
    us.us.require(len(got) == len(wanted), expected="a put and a delete", got="fewer", step="the application")
    us.us.require(got == wanted, expected="a put and a delete", got=f"{len(got)} others", step="the application")
