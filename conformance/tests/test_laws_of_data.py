"""Each law of the data level: red on a conversation that breaks it, charged to who broke it; silent on one beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from zenoh_conformance.judging.talks import THEY, WE, Talk, findings, subjects, told
from zenoh_conformance.messages import (
    Declare,
    DFinal,
    DKeyExpr,
    DToken,
    Interest,
    Push,
    Put,
    Query,
    Reply,
    Request,
    Response,
    ResponseFinal,
    UKeyExpr,
    UToken,
)
from zenoh_conformance.messages.data import Shm, SourceInfo
from zenoh_conformance.messages.declarations import WireExprExt
from zenoh_conformance.messages.interest import InterestMode
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.messages.request import Budget
from zenoh_conformance.primitives import Timestamp, WireExpr, ZenohID
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.names import plain
from zenoh_conformance.wire.extensions import exts

Steps = Sequence[tuple[Any, ...]]
KEY = plain("a/b")
VALUE = Reply(body=Put(payload=b"1"))
TOKENS = 0x08


def ask(number: int, *more: Any, **query: Any) -> tuple[Side, Request]:
    return WE, Request(id=number, key=KEY, exts=exts(*more), body=Query(**query))


def answer(number: int) -> tuple[Side, Response]:
    return THEY, Response(id=number, key=KEY, body=VALUE)


def final(number: int) -> tuple[Side, ResponseFinal]:
    return THEY, ResponseFinal(id=number)


def wish(number: int, mode: int) -> tuple[Side, Interest]:
    return WE, Interest(id=number, mode=InterestMode(mode), options=TOKENS if mode else None)


def tell(body: Any, interest: int | None = None) -> tuple[Side, Declare]:
    return THEY, Declare(interest_id=interest, body=body)


def token(number: int, key: str = "t/1") -> DToken:
    return DToken(id=number, key=plain(key))


def name(number: int, key: str) -> tuple[Side, Declare]:
    return tell(DKeyExpr(expr_id=number, key=WireExpr(suffix=key)))


def put(key: WireExpr = KEY, *more: Any, side: Side = THEY, body: Any = None) -> tuple[Side, Push]:
    return side, Push(key=key, exts=exts(*more), body=body or Put(payload=b"1"))


def numbered(sn: int) -> tuple[Side, Push]:
    source = SourceInfo(zid=ZenohID(b"\x05"), eid=1, sn=sn)
    return put(side=WE, body=Put(exts=exts(source), payload=b""))


def ours(scope: int) -> WireExpr:
    return WireExpr(scope=scope, mapping=True)


STAMPED = Put(timestamp=Timestamp(time=1 << 32, zid=ZenohID(b"\x05")), payload=b"")
MARKED = Put(exts=exts(Shm()), payload=b"\x01\x00\x01x")
NAMED = exts(WireExprExt(flags=3, scope=0, suffix="t/1"))
REDS: dict[str, tuple[Side, Steps, Steps]] = {
    "request-id-not-in-use": (WE, [ask(1), ask(1)], [ask(1), final(1), ask(1)]),
    "budget-not-zero": (WE, [ask(1, Budget(value=0))], [ask(1, Budget(value=1))]),
    "consolidation-is-known": (WE, [ask(1, consolidation=4)], [ask(1, consolidation=3)]),
    "responses-answer-requests": (THEY, [answer(7)], [ask(7), answer(7)]),
    "nothing-after-final": (THEY, [ask(1), final(1), answer(1)], [ask(1), answer(1), final(1)]),
    "finals-end-requests": (THEY, [final(7)], [ask(7), final(7)]),
    "one-final": (THEY, [ask(1), final(1), final(1)], [ask(1), final(1), ask(1), final(1)]),
    "budget-is-kept": (
        THEY,
        [ask(1, Budget(value=1)), answer(1), answer(1)],
        [ask(1, Budget(value=1)), answer(1), final(1), ask(1), answer(1), answer(1)],
    ),
    "expr-id-not-reused": (
        THEY,
        [name(1, "a"), name(1, "b")],
        [name(1, "a"), name(1, "a"), tell(UKeyExpr(expr_id=1)), name(1, "b")],
    ),
    "scope-is-declared": (THEY, [put(ours(5))], [name(5, "a/b"), put(ours(5))]),
    "entity-sent-once": (
        THEY,
        [tell(token(1)), tell(token(1))],
        [tell(token(1)), tell(UToken(id=1)), tell(token(1)), wish(4, 1), tell(token(1), 4), tell(DFinal(), 4)],
    ),
    "undeclared-was-declared": (
        THEY, [tell(token(1)), tell(UToken(id=2))], [tell(token(1)), tell(UToken(id=1)), tell(UToken(id=9, exts=NAMED))]
    ),
    "undeclared-token-names-key": (THEY, [tell(UToken(id=1))], [tell(UToken(id=1, exts=NAMED))]),
    "interest-id-is-known": (THEY, [tell(token(1), 4)], [wish(4, 3), tell(token(1), 4)]),
    "interest-id-only-in-snapshots": (
        THEY,
        [wish(4, 3), tell(DFinal(), 4), tell(token(1), 4)],
        [wish(4, 3), tell(DFinal(), 4), tell(token(1)), wish(4, 3), tell(token(1), 4)],
    ),
    "future-has-no-final": (THEY, [wish(4, 2), tell(DFinal(), 4)], [wish(4, 2), wish(5, 1), tell(DFinal(), 5)]),
    "one-final-for-a-snapshot": (
        THEY, [wish(4, 1), tell(DFinal(), 4), tell(DFinal(), 4)], [wish(4, 1), wish(4, 0), tell(DFinal(), 4)]
    ),
    "frame-carries-priority": (THEY, [put(KEY, QoS(value=2))], [(*put(KEY, QoS(value=0x1A)), 2), put()]),
    "keys-follow-the-grammar": (THEY, [put(plain("a//b"))], [put(plain("a/*/**"))]),
    "source-numbers-rise": (WE, [numbered(5), numbered(5)], [numbered(0xFFFF_FFFF), numbered(0), numbered(2)]),
    "publications-are-stamped": (WE, [put(side=WE)], [put(side=WE, body=STAMPED)]),
    "shared-memory-is-agreed": (THEY, [put(body=MARKED)], [put()]),
    "what-is-said-decodes": (THEY, [(THEY, b"\x25\x00\x1d")], [put()]),
}  # fmt: skip
"""Law to who is at fault, steps that break it, and steps beside them that do not."""


@pytest.mark.parametrize("law", REDS)
def test_a_conversation_that_breaks_it_is_red(law: str) -> None:
    guilty, red, _ = REDS[law]
    found = findings(f"law/{law}", told(red))
    assert [finding.sender for finding in found] == [guilty]
    assert subjects(f"law/{law}", told(red)) > 0


@pytest.mark.parametrize("law", REDS)
def test_one_beside_it_is_not(law: str) -> None:
    assert findings(f"law/{law}", told(REDS[law][2])) == []


@pytest.mark.parametrize(("ours", "theirs", "red"), [(1, 1, False), (1, 0, False), (2, 0, False), (2, 2, True)])
def test_a_peer_or_router_ends_what_none_asked(ours: int, theirs: int, red: bool) -> None:
    talk = told([tell(DFinal(), 0)], init={"whatami": ours}, answer={"whatami": theirs})
    assert bool(findings("law/interest-id-is-known", talk)) is red
    talk.say(*tell(token(1), 0))
    assert findings("law/interest-id-is-known", talk)


@pytest.mark.parametrize("law", [law for law in REDS if law not in ("what-is-said-decodes", "keys-follow-the-grammar")])
def test_what_began_before_we_looked_is_not_judged_by_what_we_missed(law: str) -> None:
    """Laws that need the beginning say nothing without it; the others see the same."""
    guilty, red, _ = REDS[law]
    needs_the_beginning = {
        "request-id-not-in-use", "responses-answer-requests", "finals-end-requests", "expr-id-not-reused",
        "scope-is-declared", "undeclared-was-declared", "interest-id-is-known", "interest-id-only-in-snapshots",
        "future-has-no-final", "one-final-for-a-snapshot", "frame-carries-priority", "source-numbers-rise",
        "publications-are-stamped", "shared-memory-is-agreed",
    }  # fmt: skip
    found = findings(f"law/{law}", told(red, handshake=False))
    assert found == [] if law in needs_the_beginning else len(found) == 1 and found[0].sender is guilty


def test_the_resolution_of_request_ids_is_the_settled_one() -> None:
    """Eight bits: 255 is the last; beyond is the querier's fault."""
    small = {"init": {"resolution": 0x02}}
    assert findings("law/request-id-in-range", told([ask(255)], **small)) == []
    assert [one.sender for one in findings("law/request-id-in-range", told([ask(256)], **small))] == [WE]
    assert findings("law/request-id-in-range", told([ask(256)])) == []


@pytest.mark.parametrize(("priority", "lane", "red"), [(2, 2, False), (5, None, False), (2, None, True), (5, 2, True)])
def test_what_comes_in_fragments_comes_in_its_lane(priority: int, lane: int | None, red: bool) -> None:
    side, message = put(KEY, QoS(value=priority))
    talk = told([]).in_pieces(side, message, lane=lane)

    assert subjects("law/frame-carries-priority", talk) == 1
    assert [one.path for one in findings("law/frame-carries-priority", talk)] == ["fragment.exts.qos"] * red


def test_a_query_in_fragments_counts() -> None:
    """Its answer answers something; without it, nothing."""
    talk = Talk().in_pieces(*ask(7, consolidation=1, parameters="x" * 40))
    talk.say(*answer(7))
    assert findings("law/responses-answer-requests", talk) == []
    assert subjects("law/responses-answer-requests", talk) == 1


def test_after_something_unreadable_nobody_is_charged_with_what_it_may_have_been() -> None:
    talk = told([(WE, b"\x25\x00\x1c\x07"), answer(7), final(7), put(WireExpr(scope=5, mapping=False))])
    for law in ("responses-answer-requests", "finals-end-requests", "scope-is-declared"):
        assert findings(f"law/{law}", talk) == []


def test_who_uses_an_id_of_ours_may_not_have_heard_that_it_is_released() -> None:
    mine = WE, Declare(body=DKeyExpr(expr_id=5, key=WireExpr(suffix="a/b")))
    gone = WE, Declare(body=UKeyExpr(expr_id=5))
    theirs = put(WireExpr(scope=5, mapping=False))
    assert findings("law/scope-is-declared", told([mine, gone, theirs])) == []
    assert [one.sender for one in findings("law/scope-is-declared", told([theirs]))] == [THEY]
    released = [name(6, "a"), tell(UKeyExpr(expr_id=6)), put(ours(6))]
    assert [one.sender for one in findings("law/scope-is-declared", told(released))] == [THEY]


def test_a_marker_that_somebody_else_set_may_be_passed_on() -> None:
    assert findings("law/shared-memory-is-agreed", told([put(side=WE, body=MARKED)])) != []
    talk = Talk()
    talk.say(*put(side=WE, body=MARKED)).say(*put(body=MARKED))
    assert {one.sender for one in findings("law/shared-memory-is-agreed", talk)} == {WE}


def test_a_link_cut_inside_a_batch_is_nobodys_garbage() -> None:
    from zenoh_conformance.reading.conversation import Event, Happened

    talk = Talk()
    talk.conversation.events += [
        Event(9.0, "a", THEY, Happened.BYTES, b"\x09\x00\x25"), Event(9.1, "a", THEY, Happened.EOF),
    ]  # fmt: skip
    assert findings("law/what-is-said-decodes", talk) == []


def test_fragments_that_make_no_message_are_a_finding() -> None:
    from zenoh_conformance.reading.codec import encode
    from zenoh_conformance.reading.fragments import fragment

    talk = Talk()
    for piece in fragment(b"\x1f\xff\xff\xff", sn=0, size=2):
        talk.batch(THEY, encode(piece))
    assert [one.sender for one in findings("law/what-is-said-decodes", talk)] == [THEY]


@pytest.mark.parametrize(
    ("rest", "path", "why"),
    [
        ("610000", "frame.messages[1]", "0x61 begins no network message; it may be the rest of frame.messages[0]"),
        ("1337", "frame.messages[1]", "0x13 begins no network message"),
        ("65", "frame.sn", "it may be the rest of frame.messages[0]"),
    ],
)
def test_the_rest_of_a_short_network_message_is_named_after_its_frame(rest: str, path: str, why: str) -> None:
    """The letter a spells INIT, whose ZenohID is then missing; e spells FRAME."""
    from zenoh_conformance.messages import Frame
    from zenoh_conformance.reading.codec import encode

    talk = Talk()
    talk.batch(THEY, encode(Frame(sn=0, reliable=True, messages=(put()[1],))) + bytes.fromhex(rest))
    [finding] = findings("law/what-is-said-decodes", talk)
    assert finding.path == path
    assert why in str(finding.cause)
