"""What every target is to the rest of the harness, and the one way to get one from a target string.

An adapter is a module `zenoh_harness.targets.adapters.X` with `open_target(reach) -> NodeTarget` (nodes) or
`open_codec(reach)` (codecs). Nothing else in the harness knows how a target is made.
"""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, Self, cast, runtime_checkable

from zenoh_conformance.conversation import Side
from zenoh_harness.errors import UsageError, unknown
from zenoh_harness.identity import Identity
from zenoh_harness.links.links import Link, Observer
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, PROFILES, Profile
from zenoh_harness.programs.processes import Ended, Running
from zenoh_harness.programs.signs import Sign
from zenoh_harness.targets.agent import Agent
from zenoh_harness.targets.habits import UNKNOWN, Habits
from zenoh_harness.targets.reach import Face, Reach

Role = Literal["router", "peer", "client"]

TARGET_ZID: Final = "7a726566"
"""The ZenohID that a started target gets unless `zid=` says otherwise (lowercase hex as printed, no leading zero)."""


class Grade(enum.IntEnum):
    """How alive a node was seen to be; each grade includes those below it."""

    GONE = 0
    """No process of ours runs (a node that we did not start never has this grade)."""
    PROCESS = 1
    """Its process runs."""
    SOCKET = 2
    """It accepts a link, or came to ours."""
    HANDSHAKE = 3
    """It answers an InitSyn, or sends its own."""
    FUNCTIONAL = 4
    """New sessions carry data: declare, push, receive; query, reply, final."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """What can be seen of a node without talking to it."""

    running: bool
    suspended: bool = False
    """Stopped by a signal."""
    ended: Ended | None = None
    signs: tuple[Sign, ...] = ()
    """Lines of its output that speak of death."""

    @property
    def in_order(self) -> bool:
        """Whether its program ended as programs end: by itself, by no signal of death, without a sign of one."""
        return self.ended is not None and self.ended.in_order and not self.signs


class NodeInstance(Protocol):
    """One started (or found) node, in one profile."""

    profile: Profile
    side: Side
    """What the target is in a handshake: RESPONDER listens, INITIATOR connects to us."""
    role: Role
    """What it is in a Zenoh network."""
    locator: Locator
    """Where it listens; for an initiator, where we listen for it."""
    zid: str | None
    """Its ZenohID as printed, where we chose it or it told us."""
    program: Running | None
    """Its process, where we started it."""
    agent: Agent | None
    """The application above it, where there is one."""
    habits: Habits
    """What was learnt of its kind."""

    def link(self, deadline: Deadline, observer: Observer | None = None) -> Link:
        """A fresh link to it, opened or accepted; CannotConnect when there is none before the deadline."""

    def vitals(self) -> Vitals:
        """What can be seen without talking to it; cheap."""

    def attach(self) -> str:
        """One line that tells a person how to reach it while it is kept up."""

    def stop(self) -> None:
        """End all that `start` began; idempotent."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@runtime_checkable
class NodeTarget(Protocol):
    """A node that can be had, in one or several profiles."""

    reach: Reach
    side: Side
    role: Role
    profiles: Mapping[str, Profile]
    """The profiles that it can be started in, by name."""
    claims: frozenset[str]
    """Capabilities that its own file claims: a probe that misses one is a failure."""
    restartable: bool
    """Whether `start` can make it again after it died."""
    apart: bool
    """Whether an instance in another profile may be up beside it: it takes nothing (a port, a folder, multicast) that the other has."""

    @property
    def identity(self) -> Identity:
        """Who it says it is, as far as that is known before it is started."""

    def start(self, profile: str = DEFAULT) -> NodeInstance:
        """Start it in `profile` and wait until it is ready; CannotStart, CannotConnect, NotZenoh, UsageError."""


class Standing(Protocol):
    """Something that stands before a node, and passes on."""

    locator: Locator
    """Where it listens."""

    def close(self) -> None:
        """End it; idempotent."""


class NodeBase:
    """What instances share: use as a context manager."""

    habits: Habits = UNKNOWN
    """What was learnt of its kind."""
    side: Side
    locator: Locator
    _before: Standing | None = None
    """What stands before it."""

    def go_through(self, before: Standing) -> None:
        """From now on links are opened to `before`, which passes them on, and is ended with the node."""
        self._before, self.locator = before, before.locator

    def stop(self) -> None:
        """End all that was started."""
        if self._before is not None:
            self._before.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


_ADAPTERS: Final[Mapping[str, str]] = {
    "wheel": "wheel",
    "exec": "command",
    "tcp": "address",
    "unixsock-stream": "address",
    "reference": "reference",
    "faulty": "reference",
    "variant": "reference",
    "python": "inprocess",
    "stdio": "stdio",
    "lib": "library",
    "docker": "docker",
}
"""Reach kind -> module below `zenoh_harness.targets.adapters`; a module that is not there yet is told as such."""


def open_target(reach: Reach) -> NodeTarget:
    """The node target behind `reach`, not started yet; UsageError when it has no such face or no adapter yet."""
    target = cast(NodeTarget, _adapter(reach, Face.NODE, "open_target")(reach))
    if reach.options.keys() & {"before", "after"}:
        from zenoh_harness.targets.attended import Attended

        target = cast(NodeTarget, Attended(target))
    return cast(NodeTarget, reach.dress(target))


def open_codec(reach: Reach) -> object:
    """The codec target behind `reach`; UsageError when it has no such face or no adapter yet."""
    return _adapter(reach, Face.CODEC, "open_codec")(reach)


def _adapter(reach: Reach, face: Face, function: str) -> Callable[[Reach], object]:
    if face not in reach.faces:
        raise UsageError(
            f"{reach} is no {face.value} target",
            step="target string",
            hint="it is a " + " or ".join(sorted(one.value for one in reach.faces)),
        )
    name = _ADAPTERS.get(reach.kind)
    full = f"zenoh_harness.targets.adapters.{name}"
    try:
        module = importlib.import_module(full)
    except ModuleNotFoundError as why:
        if why.name not in (full, "zenoh_harness.targets.adapters.None"):
            raise
        raise UsageError(
            f"{reach.kind} targets cannot be reached yet",
            step="target string",
            hint="wheel, docker:, exec:, stdio:, tcp/, unixsock-stream/, reference and faulty: can",
        ) from why
    return cast(Callable[[Reach], object], getattr(module, function))


def known_profile(name: str) -> Profile:
    """A profile by its name; UsageError offers the nearest."""
    if name not in PROFILES:
        raise unknown("profile", name, PROFILES, step="profile")
    return PROFILES[name]


def profile_of(target: NodeTarget, name: str) -> Profile:
    """The profile called `name` (a pinned one instead of the default); UsageError when the target has it not."""
    if name == DEFAULT:
        name = target.reach.options.get("profile", DEFAULT)
    if known_profile(name).name not in target.profiles:
        raise unknown(f"profile of {target.reach}", name, target.profiles, step="start")
    return target.profiles[name]
