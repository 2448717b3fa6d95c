"""What is known of a node before its cases begin, so that they can say whether they apply."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from zenoh_conformance.reading.conversation import Framing, Side
from zenoh_harness.links.timing import strain
from zenoh_harness.probing import probe as probing
from zenoh_harness.probing.habits.capacity import measure_capacity
from zenoh_harness.probing.habits.study import OF_FENCE, forwards_value, missing_capacity
from zenoh_harness.probing.probe.asker import ProbeFacts as Probed
from zenoh_harness.profiles import ASSUMED, ROOM
from zenoh_harness.run.attempt.scenes import Facts
from zenoh_harness.targets.habits import habits_of
from zenoh_harness.targets.target import NodeInstance, NodeTarget

Ask = Callable[[NodeInstance], Probed]
"""A look at what a node can do."""


def ask(node: NodeInstance) -> Probed:
    """The probe, without its measurements."""
    return probing.probe(node, rates=False)


STARTED_AS = frozenset({"wheel", "docker"})
"""Kinds that are started in the role that we name; of any other it is known only where the target string says it."""


@dataclass(frozen=True, slots=True)
class Ability:
    """What a node can do in a profile, as far as that matters to its cases."""

    facts: Facts
    broken: frozenset[str] = frozenset()
    """Capabilities that the target's own file claims and that were looked for and not seen."""


def ability(target: NodeTarget, node: NodeInstance, look: Ask | None, needs: Collection[str] = frozenset()) -> Ability:
    """What the node can do: as it was seen to, with `look`, which is taken twice where one of `needs` is missed; else as it claims."""
    agent, habits = node.agent, habits_of(node)
    refuted = claimed_in_vain(target, node)
    on_datagrams = node.locator.framing is Framing.DATAGRAM
    assumed = (ASSUMED - {"stream"}) | {"datagram"} if on_datagrams else ASSUMED
    late = habits.impatient and strain() > 1.0
    """Whether what it was not seen to do may be for want of our answers."""
    has = {"agent", *(f"agent.{command}" for command in agent.capabilities)} if agent is not None else set()
    known: dict[str, Any] = {
        "role": node.role, "zid": node.zid, "max_sessions": node.profile.sessions, "credentials": node.profile.credentials,
        "stated_role": node.role if target.reach.kind in STARTED_AS or "role" in target.reach.options else None,
        "half_open": habits.half_open,
        "message_size": habits.message,
        "waits_s": habits.waits_at_least,
    }  # fmt: skip
    if look is None:
        capabilities = target.claims | node.profile.offers | has | {node.side.value} | assumed
        return Ability(
            Facts(frozenset(capabilities) - habits.lacks, _without_none(known)), refuted if not late else frozenset()
        )
    shown = probing.probed_capabilities(node.side, node.profile.name)
    seen = probing.probe_twice(look(node), set(needs).intersection(shown), partial(look, node))
    claimed = target.claims | node.profile.offers
    stated = (
        claimed if target.claims else frozenset()
    )  # a target without a file claims nothing: what it does not do does not apply
    broken = frozenset(probing.missing_claims(stated, node.side, {node.profile.name: seen}))
    known |= {"lease_ms": seen.seen.get("lease ms"), "batch_size": seen.seen.get("batch size")}
    unasked = claimed - broken - frozenset(shown)
    return Ability(
        Facts(
            frozenset(seen.capabilities | unasked | has | {node.side.value} | assumed) - habits.lacks,
            _without_none(known),
        ),
        broken | refuted if not late else frozenset(),
    )


def claimed_in_vain(target: NodeTarget, node: NodeInstance) -> frozenset[str]:
    """What the target's file claims and two looks missed: answers to queries and interests, and of a responder room and routing."""
    habits = habits_of(node)
    claimed = target.claims & habits.lacks
    vain = claimed & frozenset(OF_FENCE.values())  # the study asked for each of them twice
    if not claimed & ROOM or node.side is not Side.RESPONDER or node.profile.sessions is not None:
        return vain
    half_open, sessions, _ = measure_capacity(node, habits.answer, habits.offers, habits.impatient)
    missing = missing_capacity(half_open, sessions)
    if "routing" in claimed - missing and not forwards_value(node, habits):
        missing |= {"routing"}
    return vain | (claimed & missing)


def _without_none(known: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if value is not None}
