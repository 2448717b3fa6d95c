"""What one session makes the reference remember is limited; beyond the limit its link is closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from zenoh_conformance.messages import (
    Declare,
    DKeyExpr,
    DQueryable,
    DSubscriber,
    DToken,
    Interest,
    InterestMode,
    Query,
    Request,
)
from zenoh_conformance.primitives import WireExpr
from zenoh_conformance.talking import Dialogue
from zenoh_harness.reference import GENERIC, router
from zenoh_harness.reference.memory import MemoryScene

MOST = 100


def key(text: str, scope: int = 0) -> WireExpr:
    return WireExpr(scope=scope, suffix=text, mapping=True)


SAID: dict[str, Callable[[int], Any]] = {
    "keys": lambda at: Declare(body=DKeyExpr(expr_id=at, key=WireExpr(scope=0, suffix=f"a/{at}"))),
    "subscribers": lambda at: Declare(body=DSubscriber(id=at, key=key("a"))),
    "queryables": lambda at: Declare(body=DQueryable(id=at, key=key("a"))),
    "tokens": lambda at: Declare(body=DToken(id=at, key=key("a"))),
    "interests": lambda at: Interest(id=at, mode=InterestMode.FUTURE, options=2),
    "queries": lambda at: Request(id=at, key=key("served"), body=Query()),
}


def sessions() -> tuple[MemoryScene, Dialogue, Dialogue]:
    scene = MemoryScene("declarations/stored-until-undeclared")
    serving, us = scene.session("serving"), scene.session("us")
    serving.say(Declare(body=DQueryable(id=1, key=key("served"))))
    serving.fence()
    return scene, serving, us


@pytest.mark.parametrize("what", SAID)
def test_a_session_that_declares_without_an_end_is_closed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "MOST_ENTRIES", MOST)
    _, serving, us = sessions()
    for at in range(1, MOST + 1):
        us.say(SAID[what](at))
    us.listen(0.1)
    assert us.closed != GENERIC
    us.say(SAID[what](MOST + 1))
    us.listen(0.1)
    assert us.closed == GENERIC
    serving.fence()


def test_queries_that_are_answered_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "MOST_ENTRIES", 10)
    _, _, us = sessions()
    for at in range(1, 50):
        us.say(Request(id=at, key=key("nobody"), body=Query()))
    us.fence()


def test_long_key_expressions_are_limited_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "MOST_KEY_BYTES", 1 << 20)
    scene, _, us = sessions()
    held = []
    for at in range(1, 200):
        us.say(Declare(body=DSubscriber(id=at, key=key(f"{'a' * 30_000}/{at}"))))
        held.append(sum(link.key_bytes for link in scene.world.node.links.values()))
    us.listen(0.1)
    assert us.closed == GENERIC
    assert max(held) < (1 << 20) + router.SOME_ENTRIES * 31_000


def test_a_key_expression_that_no_message_can_carry_is_not_stored() -> None:
    _, serving, us = sessions()
    serving.say(Interest(id=7, mode=InterestMode.FUTURE, options=2))
    serving.fence()
    us.say(Declare(body=DKeyExpr(expr_id=1, key=WireExpr(scope=0, suffix="a" * 40_000))))
    us.say(Declare(body=DSubscriber(id=1, key=key("b" * 40_000, scope=1))))
    us.fence()
    serving.fence()
