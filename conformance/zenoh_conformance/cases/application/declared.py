"""Several queries of and to an application, and what it declares; it connected to us, and its agent tells what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zenoh_conformance.cases.case import case, grid
from zenoh_conformance.cases.interest.telling import DECLARED, OPTION, TAKEN_BACK, is_final
from zenoh_conformance.messages import Declare, InterestMode, Query, Request, ResponseFinal
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking import Asked, Party, Scene, Told, named, router

from .exchange import (
    GET,
    LONG_MS,
    SERVES,
    SUBSCRIBES,
    a_get_ends_at_its_final,
    a_queryable_ends_what_it_answers,
    answer,
)

AREA = "application-declared"

IDS = (0, 127, 128, 0x3FFF, 0x4000, 0xFFFF, 0x1_0001, 0xFFFF_FFFE)
"""Request ids on both sides of the edges of VLE, and of what fits into 16 bits."""

KINDS = ("subscriber", "queryable")
"""What an application declares."""

COMMANDS = (*SUBSCRIBES, *SERVES, "agent.undeclare", "interests")
"""What its agent does for that, and its node: who says nothing of what it has declared has no snapshot to end."""


@case("query/query-complete-on-finals", role=Side.INITIATOR, needs=GET, control=a_get_ends_at_its_final)
def each_of_two_gets_ends_at_its_own_final(scene: Scene) -> None:
    """
    The application asks twice; the second query comes to its end first, and the first one goes on. Each is told in order.

        us           DECLARE (D_QUERYABLE)
        target       REQUEST, REQUEST
        us           RESPONSE_FINAL (of the second), RESPONSE, RESPONSE_FINAL (of the first)
        application  the end of the second; a reply of the first, its end
    """
    us = router(scene)
    us.declares_queryable("k/**", complete=True)
    first, second = (asks(scene, us, key) for key in ("k/one", "k/two"))

    us.says(ResponseFinal(id=second.id))
    answer(us, first, b"\x01", key="k/one")
    us.says(ResponseFinal(id=first.id))

    got: dict[str, list[str]] = {"one": [], "two": []}
    for each in told_of_both(scene, us):
        got[each["id"].rpartition("/")[2]].append(each["event"])
    right = got == {"one": ["reply", "end"], "two": ["end"]}
    us.us.require(right, expected="a reply and the end of one, the end of the other", got=text(got), step="the ends")


def asks(scene: Scene, us: Party, key: str) -> Request:
    """One query of the application, by the name of its key; as it comes to us."""
    name = us.whole(key)
    scene.agent.ask("get", id=f"{named(us)}/{key}", key=name, timeout_ms=LONG_MS, consolidation="none")
    return us.expect(Request, lambda heard: heard.key == name, step="not reached: the query").message  # type: ignore[no-any-return]


def told_of_both(scene: Scene, us: Party) -> list[Told]:
    """What the application is told of its two queries, to the end of both."""
    events: list[Told] = []
    deadline = us.us.wire.now() + us.us.unit
    while sum(each["event"] == "end" for each in events) < 2 and (left := deadline - us.us.wire.now()) > 0:
        events += [each for each in scene.agent.events(1, left) if str(each.get("id")).startswith(named(us))]
    return events


def text(events: Mapping[str, list[str]]) -> str:
    """What was told of each, in a line."""
    return ", ".join(f"{' and '.join(told) or 'nothing'} of {name}" for name, told in events.items())


@case(
    "reply/final-always-comes",
    role=Side.INITIATOR,
    needs=SERVES,
    control=a_queryable_ends_what_it_answers,
    parameters=grid(number=IDS),
)
def a_queryable_ends_queries_of_any_id(scene: Scene, *, number: int) -> None:
    """
    A query of any id that the resolution has, or of its last but one, is answered and ended; so is the next one, which has the same id.

        us      REQUEST (the id)
        target  RESPONSE, RESPONSE_FINAL
        us      REQUEST (the same id)
        target  RESPONSE, RESPONSE_FINAL
    """
    us = router(scene)
    key = us.whole("k")
    scene.agent.ask("declare_queryable", id=named(us), key=key, plan=[{"reply": "01"}])
    us.settles("not reached: the session works")

    for step in ("the query", "a query of the same id"):
        request = Request(id=min(number, us.us.request_mask - 1), key=us.key("k"), body=Query())
        us.says(request)
        us.expect_final(Asked(request.id, key, request, us), step=f"{step} ends")
        us.counts_anew(request.id)


@case(
    "interests/snapshot-ends-with-final",
    role=Side.INITIATOR,
    needs=COMMANDS,
    parameters=grid(kind=KINDS, mode=("current", "current-future")),
)
def what_an_application_declares_is_told(scene: Scene, *, kind: str, mode: str) -> None:
    """
    We ask a node that has declared something for its application: the snapshot has its end, as the next one has, in which nothing is.

        application  declares
        us           INTEREST (of its key)
        target       DECLARE (..), DECLARE (D_FINAL)
        us           INTEREST (of another key)
        target       DECLARE (D_FINAL)
        application  declares more, and takes the first back
        target       DECLARE (..), DECLARE (undeclare), where the future was asked for
    """
    us, wanted = router(scene), {"current": InterestMode.CURRENT, "current-future": InterestMode.CURRENT_FUTURE}[mode]
    serves(scene, us, kind, "k/a")

    ends(us, us.asks_interest(OPTION[kind], wanted, "k/**").id, step="a snapshot")
    told = [heard.key for heard in us.heard(Declare) if isinstance(heard.message.body, DECLARED[kind])]
    with us.us.about("interests/mode-current"):
        us.us.require(us.whole("k/a") in told, expected=DECLARED[kind].__name__, got="none", step="what was declared")
    ends(us, us.asks_interest(OPTION[kind], wanted, "beside/**").id, step="an empty snapshot")

    serves(scene, us, kind, "k/b")
    scene.agent.ask("undeclare", id=f"{named(us)}/k/a")
    if wanted & InterestMode.FUTURE:
        gone = TAKEN_BACK[kind]
        us.expect(Declare, lambda heard: isinstance(heard.message.body, gone), step="not reached: taken back")
    us.settles("not reached: the session works")


def serves(scene: Scene, us: Party, kind: str, key: str) -> None:
    """The application declares that, by the name of its key."""
    plan: dict[str, Any] = {"plan": []} if kind == "queryable" else {}
    scene.agent.ask(f"declare_{kind}", id=f"{named(us)}/{key}", key=us.whole(key), **plan)
    us.settles("not reached: the session works")


def ends(us: Party, number: int, *, step: str) -> None:
    """Deviate unless the snapshot of an interest comes to its end."""
    us.expect(Declare, lambda heard: is_final(heard, number), step=step, what="D_FINAL")
