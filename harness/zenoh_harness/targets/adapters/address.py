"""`tcp/HOST:PORT` and the like: a node that already runs, which we neither start nor stop."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TypeVar, cast

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.identity import Identity
from zenoh_harness.links.links import Observer, RecordedLink
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import connect
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, Profile
from zenoh_harness.programs.processes import Running
from zenoh_harness.targets.agent import AgentClient
from zenoh_harness.targets.greeting import greet
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import NodeBase, Role, Vitals, known_profile, profile_of, stop_on_error
from zenoh_harness.targets.through import add_tap

READY = 5.0
"""Seconds in which a node must answer its first InitSyn."""


def open_target(reach: Reach) -> AddressTarget:
    """Return the target of a target string."""
    return AddressTarget(reach, f"{reach.kind}/{reach.rest}")


class ListeningNode(NodeBase):
    """A node that listens, and is no process of ours."""

    program: Running | None = None
    agent: AgentClient | None = None
    side = Side.RESPONDER
    zid: str | None = None

    def __init__(self, locator: Locator, profile: Profile, role: Role) -> None:
        self.locator, self.profile, self.role = locator, profile, role

    def link(self, deadline: Deadline, observer: Observer | None = None) -> RecordedLink:
        """Open a link to it."""
        return connect(self.locator, deadline, observer)

    def vitals(self) -> Vitals:
        """Report it as running: nothing can be seen of it without talking to it."""
        return Vitals(running=True)

    def attach(self) -> str:
        """Return where it listens."""
        return f"it listens at {self.locator}"


Node = TypeVar("Node", bound=ListeningNode)


class ListeningTarget:
    """A node that listens, in the one profile that the target string names (else default)."""

    can_run_beside = False
    claims: frozenset[str] = frozenset()
    side = Side.RESPONDER

    def __init__(self, reach: Reach, name: str, language: str = "") -> None:
        """`name` is reported unless the target string gives another one."""
        self.reach = reach
        self.role = cast(Role, reach.options.get("role", "router"))
        name, version = reach.options.get("name", name), reach.options.get("version", "")
        self.identity = Identity(name=name, version=version, kind=reach.kind, language=language)
        only = known_profile(reach.options.get("profile", DEFAULT))
        self.profiles: Mapping[str, Profile] = {only.name: only}

    def greet(self, node: Node) -> Node:
        """Return the node once it has answered an InitSyn; otherwise stop it. Raises CannotConnect, NotZenoh."""
        deadline = Deadline.after(READY)
        with stop_on_error(node), contextlib.closing(node.link(deadline)) as link:
            node.greeting = greet(link, deadline)
        return add_tap(node, self.reach)


class AddressTarget(ListeningTarget):
    """A node that others started; `stop` leaves it running."""

    restartable = False

    def start(self, profile: str = DEFAULT) -> ListeningNode:
        """Check that the node is there and speaks Zenoh. Raises CannotConnect, NotZenoh."""
        locator = Locator.parse(f"{self.reach.kind}/{self.reach.rest}")
        return self.greet(ListeningNode(locator, profile_of(self, profile), self.role))
