"""`python:MODULE:NAME`: a node in our own process, for implementations in Python and for tests next to them.

The harness calls `NAME(locator)` for each start; it returns an object with `close` once the node listens there. The harness
is not protected from it: a node that exits the process ends the run.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from zenoh_harness.errors import CannotStart, UsageError, nearest
from zenoh_harness.links.locators import Locator
from zenoh_harness.profiles import DEFAULT, Profile
from zenoh_harness.programs.ports import free_port
from zenoh_harness.targets.adapters.address import ListeningNode, ListeningTarget
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import Role, profile_of


def open_target(reach: Reach) -> InProcessTarget:
    """Return the target of a target string. Raises UsageError for a name that does not exist."""
    return InProcessTarget(reach)


class InProcessTarget(ListeningTarget):
    """A callable that starts a node which listens."""

    restartable = True

    def __init__(self, reach: Reach) -> None:
        super().__init__(reach, reach.rest, "Python")
        self.make = _import_callable(reach.rest)

    def start(self, profile: str = DEFAULT) -> InProcessNode:
        """Start a node and check that it speaks Zenoh. Raises CannotStart, CannotConnect, NotZenoh."""
        chosen, locator = profile_of(self, profile), Locator.tcp("127.0.0.1", free_port())
        try:
            server = self.make(str(locator))
        except Exception as why:
            raise CannotStart(f"{self.reach} did not start", step="start", seen=f"{type(why).__name__}: {why}") from why
        if not callable(getattr(server, "close", None)):
            raise CannotStart(f"the object that {self.reach} returned has no close()", step="start", seen=repr(server))
        return self.greet(InProcessNode(server, locator, chosen, self.role))


class InProcessNode(ListeningNode):
    """A node in this process, closed with its server."""

    def __init__(self, server: Any, locator: Locator, profile: Profile, role: Role) -> None:
        super().__init__(locator, profile, role)
        self._server: Any = server

    def attach(self) -> str:
        """Return where it listens."""
        return f"in this process, listens at {self.locator}"

    def stop(self) -> None:
        """Close it, once."""
        super().stop()
        server, self._server = self._server, None
        if server is not None:
            server.close()


def _import_callable(rest: str) -> Callable[[str], Any]:
    module, border, name = rest.rpartition(":")
    if not border or not module or not name:
        raise UsageError(f"{rest!r} is not MODULE:NAME", step="target string", hint="write python:MODULE:NAME")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # as `python -m` does
    try:
        imported = importlib.import_module(module)
    except ImportError as why:
        raise UsageError(f"no module {module!r}", step="target string", seen=str(why)) from why
    function = getattr(imported, name, None)
    if not callable(function):
        hint = nearest(name, [word for word, value in vars(imported).items() if callable(value)])
        raise UsageError(f"{module} has no callable {name!r}", step="target string", hint=hint)
    return cast(Callable[[str], Any], function)
