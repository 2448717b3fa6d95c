"""The largest value of which an application is told is measured; larger ones are not judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from zenoh_harness.errors import AgentError
from zenoh_harness.probing.habits.told_values import SIZES, largest_told, tells


class Application:
    """A node, its session, and its agent, which is told of values up to a size; each value ends the session past another."""

    def __init__(self, most: int, ends: int = max(SIZES), *commands: str) -> None:
        self.most, self.ends, self.capabilities = most, ends, frozenset(commands or ("declare_subscriber",))
        self.zid, self.is_over, self.agent = b"\x01", False, self
        self.waiting: list[Mapping[str, Any]] = []

    def ask(self, command: str, **_: Any) -> None:
        if command not in self.capabilities:
            raise AgentError("refused", step="agent", seen=command)

    def publish(self, key: str, payload: bytes, *, block: bool) -> None:
        assert block
        self.is_over |= len(payload) > self.ends
        if len(payload) <= self.most and not self.is_over:
            self.waiting = [
                {"event": "sample", "id": "another", "payload": "00"},
                {"id": key, "payload": payload.hex()},
            ]

    def events(self, count: int, within: float) -> Sequence[Mapping[str, Any]]:
        return [self.waiting.pop(0) for _ in range(min(count, len(self.waiting)))]


@pytest.mark.parametrize(
    ("most", "ends", "largest"),
    [(4096, 10**6, 4_000), (10**6, 10**6, None), (10, 10**6, None), (10**6, 60_000, 60_000)],
)
def test_the_largest_value(most: int, ends: int, largest: int | None) -> None:
    node: Any = Application(most, ends)

    assert largest_told(node, node, 0.001) == largest


def test_without_a_subscriber_nothing_is_told() -> None:
    node: Any = Application(10**6, 10**6, "put")

    assert (tells(node), largest_told(node, node, 0.001)) == (False, None)
