"""The base class of adapters that start a node which listens: one method says how it starts, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from zenoh_harness.errors import CannotStart, HarnessError
from zenoh_harness.links.locators import Locator
from zenoh_harness.profiles import DEFAULT, Profile
from zenoh_harness.programs.ports import reserved_port
from zenoh_harness.targets.adapters.address import ListeningNode, ListeningTarget
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import Role, profile_of


class StartedTarget(ListeningTarget):
    """A node that a subclass starts; what `begin` returns ends it."""

    restartable = True
    language: ClassVar[str] = ""
    """The language of the implementation, for reports."""

    def __init__(self, reach: Reach) -> None:
        super().__init__(reach, reach.rest or reach.kind, self.language)

    def begin(self, profile: Profile, locator: Locator) -> Callable[[], object]:
        """Start a node in `profile` that listens at `locator` when this returns; return the function that ends it."""
        raise NotImplementedError

    def start(self, profile: str = DEFAULT) -> StartedNode:
        """Start a node and check that it speaks Zenoh. Raises CannotStart, CannotConnect, NotZenoh."""
        chosen = profile_of(self, profile)
        with reserved_port() as port:
            locator = Locator.tcp("127.0.0.1", port)
            return self.greet(StartedNode(self._begin(chosen, locator), locator, chosen, self.role))

    def _begin(self, profile: Profile, locator: Locator) -> Callable[[], object]:
        try:
            return self.begin(profile, locator)
        except HarnessError:
            raise
        except Exception as why:
            raise CannotStart(f"{self.reach} did not start", step="start", seen=f"{type(why).__name__}: {why}") from why


class StartedNode(ListeningNode):
    """A node that was started by `begin`, and is ended once."""

    def __init__(self, end: Callable[[], object], locator: Locator, profile: Profile, role: Role) -> None:
        super().__init__(locator, profile, role)
        self._end: Callable[[], object] | None = end

    def attach(self) -> str:
        """Return where it listens."""
        return f"in this process, listens at {self.locator}"

    def stop(self) -> None:
        """End it, once."""
        super().stop()
        end, self._end = self._end, None
        if end is not None:
            end()
