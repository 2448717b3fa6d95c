"""What is known of a node before its cases begin, so that they can say whether they apply."""

from __future__ import annotations

from typing import Any

from zenoh_harness.scenes import Facts
from zenoh_harness.target import NodeInstance, NodeTarget


def facts_of(target: NodeTarget, node: NodeInstance) -> Facts:
    """Capabilities: what the target's file claims, what the profile adds, the agent; and what a case may ask for."""
    agent = node.agent
    has = {"agent", *(f"agent.{command}" for command in agent.capabilities)} if agent is not None else set()
    known: dict[str, Any] = {
        "role": node.role,
        "zid": node.zid,
        "max_sessions": node.profile.sessions,
        "credentials": node.profile.credentials,
        **dict(getattr(target, "facts", {})),
        **dict(getattr(node, "facts", {})),
    }
    capabilities = target.claims | node.profile.offers | has | {node.side.value}
    return Facts(frozenset(capabilities), {name: value for name, value in known.items() if value is not None})
