"""`exec:COMMAND`: any program that listens at a given address (`{port}`), or connects to us (`?as=initiator`).

`{port}`, `{host}`, `{locator}`, `{zid}` and `{profile}` are filled in; a command with `{profile}` can be started in
every profile, any other in the one that the target string names.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from zenoh_conformance.reading.conversation import Framing, Side
from zenoh_harness.errors import CannotConnect, CannotStart, TargetError, UsageError, unknown
from zenoh_harness.identity import Identity
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import LinkListener, connect
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, GROUPS, PROFILES, Profile
from zenoh_harness.programs import processes
from zenoh_harness.programs.ports import reserved_port
from zenoh_harness.targets.adapters.launched import READY, LaunchedNode, LaunchedTarget
from zenoh_harness.targets.agent import AgentClient
from zenoh_harness.targets.endpoints import endpoint_of, groups_in, link_protocol
from zenoh_harness.targets.reach import Reach, split_command
from zenoh_harness.targets.target import known_profile, profile_of, stop_on_error
from zenoh_harness.targets.through import add_tap

_PLACES: Final = ("port", "host", "locator", "zid", "profile", *GROUPS)
NO_GROUPS: Final[Mapping[str, Locator]] = MappingProxyType({})
_PORT_CHECK: Final = 0.5
"""Seconds in which an occupied port accepts a link."""
_BLANK: Final = re.compile(r"\{([a-z_]+)\}")


def open_target(reach: Reach) -> CommandTarget:
    """Return the target of a target string."""
    return CommandTarget(reach)


class CommandTarget(LaunchedTarget):
    """A program given by its command."""

    claims: frozenset[str] = frozenset()
    panics: tuple[str, ...] = ()
    """Patterns of panic lines that its file names."""

    def __init__(self, reach: Reach) -> None:
        super().__init__(reach)
        self.words = split_command(reach.rest)
        blanks = {name for word in self.words for name in _BLANK.findall(word)}
        for name in blanks - set(_PLACES):
            raise unknown("blank", "{" + name + "}", ["{" + place + "}" for place in _PLACES])
        if not blanks & {"port", "locator"} and "listen" not in reach.options:
            raise UsageError(
                f"{reach} names no address",
                step="target string",
                hint="put {port} or {locator} into the command, or ?listen=HOST:PORT after it",
            )
        self.with_agent = reach.options.get("agent") == "stdio"
        self._identity: Identity | None = None
        pinned = known_profile(reach.options.get("profile", DEFAULT))
        reached = {name: profile for name, profile in PROFILES.items() if blanks.issuperset(profile.groups)}
        self.profiles: Mapping[str, Profile] = reached if "profile" in blanks else {pinned.name: pinned}

    @property
    def identity(self) -> Identity:
        """The identity from the target string, else from the agent, which is asked once by starting an instance."""
        if self._identity is None:
            self._identity = self._identity_from({})
            if self.with_agent:
                self._ask_identity()
        return self._identity

    @identity.setter
    def identity(self, known: Identity) -> None:
        self._identity = known

    def _identity_from(self, said: Mapping[str, object]) -> Identity:
        given = self.reach.options
        return Identity(
            name=given.get("name") or str(said.get("name") or Path(self.words[0]).name),
            version=given.get("version") or str(said.get("version", "")),
            kind="exec",
            language=str(said.get("language", "")),
        )

    def _ask_identity(self) -> None:
        """Ask the agent for its identity; without an answer the program's name counts, and its start reports the reason."""
        with contextlib.suppress(TargetError), LinkListener.open() as unused:
            listener = unused if self.side is Side.INITIATOR else None
            with self._endpoint(listener) as (where, _), self._launch(profile_of(self, DEFAULT), where) as program:
                self._identity = self._identity_from(AgentClient.over(program).introduction(Deadline.after(READY)))

    def start(self, profile: str = DEFAULT) -> LaunchedNode:
        """Start the command in `profile` and wait for its first handshake."""
        chosen = profile_of(self, profile)
        deadline = Deadline.after(READY)
        with self.listener() as listener, self._endpoint(listener) as (where, locator):
            return self._start(chosen, where, locator, listener, deadline)

    def _start(
        self, profile: Profile, where: Locator, locator: Locator, listener: LinkListener | None, deadline: Deadline
    ) -> LaunchedNode:
        began = time.monotonic()
        if listener is None and locator.framing is Framing.STREAM:  # without a handshake nobody is seen on a UDP port
            _check_port_is_free(locator)
        groups = groups_in(profile)
        program = self._launch(profile, where, groups)
        node = LaunchedNode(
            program,
            profile,
            self.role,
            locator=locator,
            zid=self.zid if any("{zid}" in word for word in self.words) else None,
            listener=listener,
            agent=AgentClient.over(program) if self.with_agent else None,
        )
        node.again = lambda: self._launch_again(node, where, groups)
        node.groups = groups
        with stop_on_error(node):
            self._read_introduction(node, deadline)
            node.wait_until_ready(deadline)
        node.started_in = time.monotonic() - began
        return add_tap(node, self.reach)

    def _launch_again(self, node: LaunchedNode, where: Locator, groups: Mapping[str, Locator]) -> processes.Program:
        """Start the command once more, and give the new program to the client of the node's agent."""
        program = self._launch(node.profile, where, groups)
        if node.agent is not None:
            try:
                node.agent.move_to(program, Deadline.after(READY))
            except BaseException:
                program.stop()
                raise
        return program

    def _launch(
        self, profile: Profile, locator: Locator, groups: Mapping[str, Locator] = NO_GROUPS
    ) -> processes.Program:
        values = {
            "port": str(locator.port) if locator.has_port else "",
            "host": locator.host if locator.has_port else "",
            "locator": str(locator),
            "zid": self.zid,
            "profile": profile.name,
            **{name: str(groups.get(name, "")) for name in GROUPS},
        }
        command = [_BLANK.sub(lambda match: values[match.group(1)], word) for word in self.words]
        return processes.start(command, interactive=self.with_agent, panics=self.panics)

    def _read_introduction(self, node: LaunchedNode, deadline: Deadline) -> None:
        if node.agent is None:
            return
        self._identity = self._identity_from(node.agent.introduction(deadline))
        node.zid = node.agent.zid or node.zid

    @contextlib.contextmanager
    def _endpoint(self, listener: LinkListener | None) -> Iterator[tuple[Locator, Locator]]:
        """Where the node is told to connect to or to listen, and where we reach it.

        A port of our choice is held while the block starts the program.
        """
        chosen = self.reach.options.get("listen")
        if listener is not None:
            yield listener.locator, listener.locator
        elif chosen:
            where = Locator.parse(chosen if "/" in chosen else f"{link_protocol(self.reach)}/{chosen}")
            yield where, where
        else:
            endpoint = endpoint_of(self.reach)
            with reserved_port() as port:
                where = endpoint.on_port(port)
                yield where, endpoint.locator_at(where)


def _check_port_is_free(locator: Locator) -> None:
    """Raise CannotStart if a program listens there before ours starts: it would be judged under our target's name."""
    try:
        connect(locator, Deadline.after(_PORT_CHECK)).close()
    except CannotConnect:
        return
    raise CannotStart(
        f"another program already listens at {locator}",
        step="start",
        seen="a link before the program was started",
        hint="end it, or leave out ?listen: then a free port is chosen",
    )
