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
from zenoh_harness.profiles import Profile
from zenoh_harness.targets.adapters.started import StartedTarget
from zenoh_harness.targets.reach import Reach


def open_target(reach: Reach) -> InProcessTarget:
    """Return the target of a target string. Raises UsageError for a name that does not exist."""
    return InProcessTarget(reach)


class InProcessTarget(StartedTarget):
    """A callable that starts a node which listens."""

    language = "Python"

    def __init__(self, reach: Reach) -> None:
        super().__init__(reach)
        self.make = _import_callable(reach.rest)

    def begin(self, profile: Profile, locator: Locator) -> Callable[[], object]:
        """Call it. Raises CannotStart if what it returns has no `close`."""
        server = self.make(str(locator))
        close = getattr(server, "close", None)
        if not callable(close):
            raise CannotStart(f"the object that {self.reach} returned has no close()", step="start", seen=repr(server))
        return cast(Callable[[], object], close)


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
