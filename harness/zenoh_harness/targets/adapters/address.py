"""`tcp/HOST:PORT` and its like: a node that runs already, which we neither start nor stop."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import cast

from zenoh_conformance.conversation import Side
from zenoh_harness.identity import Identity
from zenoh_harness.links.links import Link, Observer, connect
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, Profile
from zenoh_harness.programs.processes import Running
from zenoh_harness.targets.agent import Agent
from zenoh_harness.targets.greeting import greet
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import NodeBase, Role, Vitals, known_profile, profile_of
from zenoh_harness.targets.through import put_through

READY = 5.0
"""Seconds in which a node that runs must answer its first InitSyn."""


def open_target(reach: Reach) -> AddressTarget:
    """The adapter's door."""
    return AddressTarget(reach)


class AddressTarget:
    """Somebody else's node, in the one profile that the target string names (else default)."""

    restartable = False
    apart = False
    claims: frozenset[str] = frozenset()
    side = Side.RESPONDER

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.locator = Locator.parse(f"{reach.kind}/{reach.rest}")
        self.role = cast(Role, reach.options.get("role", "router"))
        name, version = reach.options.get("name", str(self.locator)), reach.options.get("version", "")
        self.identity = Identity(name=name, version=version, kind=reach.kind)
        only = known_profile(reach.options.get("profile", DEFAULT))
        self.profiles: Mapping[str, Profile] = {only.name: only}

    def start(self, profile: str = DEFAULT) -> FoundNode:
        """See that it is there and speaks Zenoh; CannotConnect or NotZenoh when not."""
        node = FoundNode(self, profile_of(self, profile))
        deadline = Deadline.after(READY)
        with contextlib.closing(node.link(deadline)) as link:
            greet(link, deadline)
        return put_through(node, self.reach)


class FoundNode(NodeBase):
    """A node that was there before us."""

    program: Running | None = None
    agent: Agent | None = None
    side = Side.RESPONDER
    zid: str | None = None

    def __init__(self, target: AddressTarget, profile: Profile) -> None:
        self.locator = target.locator
        self.role = target.role
        self.profile = profile

    def link(self, deadline: Deadline, observer: Observer | None = None) -> Link:
        """A fresh link to it."""
        return connect(self.locator, deadline, observer)

    def vitals(self) -> Vitals:
        """Nothing can be seen of it without talking to it."""
        return Vitals(running=True)

    def attach(self) -> str:
        """Where it is."""
        return f"it listens at {self.locator}"

    def stop(self) -> None:
        """The node is not ours to stop; what stands before it is."""
        super().stop()
