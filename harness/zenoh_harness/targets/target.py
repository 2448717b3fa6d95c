"""The interface of every target, and the functions that open one from a target string.

An adapter is a module `zenoh_harness.targets.adapters.X` with `open_target(reach) -> NodeTarget` (nodes) or
`open_codec(reach)` (codecs). Nothing else in the harness knows how a target is made.
"""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, Protocol, Self, cast, runtime_checkable

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError, unknown
from zenoh_harness.identity import Identity
from zenoh_harness.links.links import Observer, RecordedLink
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, PROFILES, Profile
from zenoh_harness.programs.processes import ProcessEnd, Running
from zenoh_harness.programs.signs import Sign
from zenoh_harness.targets.agent import AgentClient
from zenoh_harness.targets.habits import UNKNOWN, TargetHabits
from zenoh_harness.targets.reach import KINDS, Face, Reach, reachable

Role = Literal["router", "peer", "client"]

TARGET_ZID: Final = "7a726566"
"""ZenohID of a started target unless `zid=` says otherwise (lowercase hex as printed, no leading zero)."""


class Grade(enum.IntEnum):
    """How far a node was seen to work; each grade includes those below it."""

    GONE = 0
    """The process that we started has ended (never the grade of a node that we did not start)."""
    PROCESS = 1
    """Its process runs."""
    SOCKET = 2
    """It accepts a link, or connected to us."""
    HANDSHAKE = 3
    """It answers an InitSyn, or sends its own."""
    FUNCTIONAL = 4
    """New sessions carry data: declare, push, receive; query, reply, final."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """The state of a node as seen without talking to it."""

    running: bool
    suspended: bool = False
    """Stopped by a signal."""
    ended: ProcessEnd | None = None
    signs: tuple[Sign, ...] = ()
    """Lines of its output that report a crash."""

    @property
    def in_order(self) -> bool:
        """Whether its program exited by itself, without a fatal signal and without reporting a crash."""
        return self.ended is not None and self.ended.in_order and not self.signs


class NodeInstance(Protocol):
    """One started (or found) node, in one profile."""

    profile: Profile
    side: Side
    """The node's side of a handshake: RESPONDER listens, INITIATOR connects to us."""
    role: Role
    """Its role in a Zenoh network."""
    locator: Locator
    """Where it listens; for an initiator, where we listen."""
    zid: str | None
    """Its ZenohID as printed, if we chose it or it reported it."""
    program: Running | None
    """Its process, if we started it."""
    agent: AgentClient | None
    """The application on top of it, if there is one."""
    habits: TargetHabits
    """Its habits, as studied so far."""
    groups: Mapping[str, Locator]
    """The multicast groups that it is in: `multicast`, `scouting`."""

    def link(self, deadline: Deadline, observer: Observer | None = None) -> RecordedLink:
        """Open or accept a link; CannotConnect if there is none before the deadline."""

    def vitals(self) -> Vitals:
        """Return what can be seen without talking to it; cheap."""

    def attach(self) -> str:
        """Return a line that tells a person how to reach it while it is kept running."""

    def stop(self) -> None:
        """End everything that `start` began; idempotent."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class NodeTarget(Protocol):
    """A node that can be started, in one or several profiles."""

    reach: Reach
    side: Side
    role: Role
    profiles: Mapping[str, Profile]
    """The profiles in which it can be started, by name."""
    claims: frozenset[str]
    """Capabilities that its file claims; a probe that misses one is a failure."""
    restartable: bool
    """Whether `start` can start it again after it died."""
    can_run_beside: bool
    """Whether instances in several profiles can run at once: they share no port, folder or multicast group."""

    @property
    def identity(self) -> Identity:
        """Its identity, as far as it is known before a start."""

    def start(self, profile: str = DEFAULT) -> NodeInstance:
        """Start it in `profile` and wait until it is ready. Raises CannotStart, CannotConnect, NotZenoh, UsageError."""


class LinkProxy(Protocol):
    """A proxy in front of a node."""

    locator: Locator
    """Where it listens."""

    def close(self) -> None:
        """Stop it; idempotent."""


class NodeBase:
    """Base class of instances, usable as context managers."""

    habits: TargetHabits = UNKNOWN
    """Its habits, as studied so far."""
    groups: Mapping[str, Locator] = MappingProxyType({})
    """The multicast groups that it is in: `multicast`, `scouting`."""
    greeting: bytes = b""
    """The batch with which a responder answered our first InitSyn; empty where there was none."""
    side: Side
    locator: Locator
    _proxy: LinkProxy | None = None
    """The proxy in front of it, if any."""

    def go_through(self, proxy: LinkProxy) -> None:
        """Open all later links to `proxy`, which is ended with the node."""
        self._proxy, self.locator = proxy, proxy.locator

    def stop(self) -> None:
        """End everything that was started."""
        if self._proxy is not None:
            self._proxy.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextmanager
def stop_on_error(node: NodeInstance) -> Iterator[None]:
    """Stop the node if the block raises."""
    try:
        yield
    except BaseException:
        node.stop()
        raise


def open_target(reach: Reach) -> NodeTarget:
    """Return the node target of `reach`, not started yet. Raises UsageError if it is no node."""
    target = cast(NodeTarget, _adapter(reach, Face.NODE, "open_target")(reach))
    if reach.options.keys() & {"before", "after"}:
        from zenoh_harness.targets.start_commands import TargetWithCommands

        target = cast(NodeTarget, TargetWithCommands(target))
    return cast(NodeTarget, reach.dress(target))


def open_codec(reach: Reach) -> object:
    """Return the codec target of `reach`. Raises UsageError if it is no codec."""
    return _adapter(reach, Face.CODEC, "open_codec")(reach)


def _adapter(reach: Reach, face: Face, function: str) -> Callable[[Reach], object]:
    if face not in reach.faces:
        raise UsageError(
            f"{reach} is not a {face.value} target",
            step="target string",
            hint="it is a " + " or ".join(sorted(face.value for face in reach.faces)),
        )
    adapter = KINDS[reach.kind].adapter
    if not adapter:
        raise UsageError(
            f"targets of kind {reach.kind} have no adapter yet",
            step="target string",
            hint=f"use {', '.join(KINDS[name].beginning for name in reachable())}",
        )
    module = importlib.import_module(f"zenoh_harness.targets.adapters.{adapter}")
    return cast(Callable[[Reach], object], getattr(module, function))


def known_profile(name: str) -> Profile:
    """Return a profile by its name. Raises UsageError with the nearest name."""
    if name not in PROFILES:
        raise unknown("profile", name, PROFILES, step="profile")
    return PROFILES[name]


def profile_of(target: NodeTarget, name: str) -> Profile:
    """Return the target's profile of that name, or its pinned one instead of the default. Raises UsageError."""
    if name == DEFAULT:
        name = target.reach.options.get("profile", DEFAULT)
    if known_profile(name).name not in target.profiles:
        raise unknown(f"profile of {target.reach}", name, target.profiles, step="start")
    return target.profiles[name]
