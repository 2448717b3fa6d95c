"""`python:MODULE:NAME`: a node in our own process, for implementations in Python and for tests beside them.

`NAME(locator)` is called for each start, returns once it listens there, and what it returns has a `close`. It cannot be protected from:
one that ends the process ends the run.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from zenoh_conformance.conversation import Side
from zenoh_harness.errors import CannotStart, UsageError, nearest
from zenoh_harness.identity import Identity
from zenoh_harness.links.links import Link, Observer, connect
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, Profile
from zenoh_harness.programs.processes import Running, free_port
from zenoh_harness.targets.agent import Agent
from zenoh_harness.targets.greeting import greet
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import NodeBase, Role, Vitals, known_profile, profile_of
from zenoh_harness.targets.through import put_through

READY: Final = 5.0
"""Seconds in which it must answer its first InitSyn."""


def open_target(reach: Reach) -> InProcessTarget:
    """The adapter's door; UsageError for a name that is not there."""
    return InProcessTarget(reach)


class InProcessTarget:
    """Something callable that makes a node which listens."""

    restartable = True
    apart = False
    claims: frozenset[str] = frozenset()
    side = Side.RESPONDER

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.role = cast(Role, reach.options.get("role", "router"))
        self.make = _found(reach.rest)
        name, version = reach.options.get("name", reach.rest), reach.options.get("version", "")
        self.identity = Identity(name=name, version=version, kind=reach.kind, language="Python")
        only = known_profile(reach.options.get("profile", DEFAULT))
        self.profiles: Mapping[str, Profile] = {only.name: only}

    def start(self, profile: str = DEFAULT) -> InProcessNode:
        """Make one, and see that it speaks Zenoh. Raises CannotStart, CannotConnect, NotZenoh."""
        chosen, locator = profile_of(self, profile), Locator.tcp("127.0.0.1", free_port())
        try:
            server = self.make(str(locator))
        except Exception as why:
            raise CannotStart(f"{self.reach} did not start", step="start", seen=f"{type(why).__name__}: {why}") from why
        if not callable(getattr(server, "close", None)):
            raise CannotStart(f"what {self.reach} returned has no close()", step="start", seen=repr(server))
        node, deadline = InProcessNode(server, locator, chosen, self.role), Deadline.after(READY)
        try:
            with contextlib.closing(node.link(deadline)) as link:
                greet(link, deadline)
        except BaseException:
            node.stop()
            raise
        return put_through(node, self.reach)


class InProcessNode(NodeBase):
    """What was made."""

    program: Running | None = None
    agent: Agent | None = None
    side = Side.RESPONDER
    zid: str | None = None

    def __init__(self, server: Any, locator: Locator, profile: Profile, role: Role) -> None:
        self.locator, self.profile, self.role = locator, profile, role
        self._server: Any = server

    def link(self, deadline: Deadline, observer: Observer | None = None) -> Link:
        """A fresh link to it."""
        return connect(self.locator, deadline, observer)

    def vitals(self) -> Vitals:
        """It lives as long as we do."""
        return Vitals(running=True)

    def attach(self) -> str:
        """Where it is."""
        return f"in this process, listens at {self.locator}"

    def stop(self) -> None:
        """Close it, once."""
        super().stop()
        server, self._server = self._server, None
        if server is not None:
            server.close()


def _found(rest: str) -> Callable[[str], Any]:
    module, border, name = rest.rpartition(":")
    if not border or not module or not name:
        raise UsageError(f"{rest!r} names nothing callable", step="target string", hint="python:MODULE:NAME")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # as `python -m` does
    try:
        there = importlib.import_module(module)
    except ImportError as why:
        raise UsageError(f"no module {module!r}", step="target string", seen=str(why)) from why
    found = getattr(there, name, None)
    if not callable(found):
        hint = nearest(name, [word for word, value in vars(there).items() if callable(value)])
        raise UsageError(f"{module} has nothing callable that is called {name!r}", step="target string", hint=hint)
    return cast(Callable[[str], Any], found)
