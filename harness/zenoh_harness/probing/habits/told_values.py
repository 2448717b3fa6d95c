"""The largest value of which the application above a node is told: the specification sets no limit."""

from __future__ import annotations

import time
from itertools import takewhile
from typing import Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.talking import Dialogue
from zenoh_harness.errors import AgentError
from zenoh_harness.targets.agent import AgentClient
from zenoh_harness.targets.target import NodeInstance

SIZES: Final = (4_000, 30_000, 60_000, 200_000)
"""Sizes of values that are tried, in bytes."""

LOOKS: Final = 2
"""Number of attempts before a value counts as lost."""


def tells(node: NodeInstance) -> bool:
    """Whether its agent says of what its application is told."""
    return node.agent is not None and "declare_subscriber" in node.agent.capabilities


def largest_told(us: Dialogue, node: NodeInstance, within: float) -> int | None:
    """Return the largest of the tried values of which the application is told; None if that is all of them, none, or not known."""
    agent, key = node.agent, f"zconform/habits/told/{us.zid.hex()}"
    if agent is None:
        return None
    try:
        agent.ask("declare_subscriber", id=key, key=key)
        told = list(takewhile(lambda size: _is_told(us, agent, key, size, within), SIZES))
        if "undeclare" in agent.capabilities:
            agent.ask("undeclare", id=key)
    except (AgentError, Deviation):
        return None
    return told[-1] if 0 < len(told) < len(SIZES) else None


def _is_told(us: Dialogue, agent: AgentClient, key: str, size: int, within: float) -> bool:
    for _ in range(0 if us.is_over else LOOKS):
        us.publish(key, bytes(size), block=True)
        deadline = time.monotonic() + within
        while (left := deadline - time.monotonic()) > 0:
            told = agent.events(1, left)
            if any(each.get("id") == key and len(each.get("payload") or "") == 2 * size for each in told):
                return True
    return False
