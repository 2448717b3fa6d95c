"""`exec:COMMAND`: any program that listens where it is told (`{port}`), or connects to us (`?as=initiator`).

`{port}`, `{host}`, `{locator}`, `{zid}` and `{profile}` are filled in; a command with `{profile}` can be started in
every profile, any other in the one that the target string names.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from zenoh_conformance.conversation import Side
from zenoh_harness.errors import CannotConnect, CannotStart, TargetError, UsageError, unknown
from zenoh_harness.identity import Identity
from zenoh_harness.links.links import Listener, connect
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, PROFILES, Profile
from zenoh_harness.programs import processes
from zenoh_harness.targets.adapters.launched import READY, LaunchedNode
from zenoh_harness.targets.agent import Agent
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import TARGET_ZID, Role, known_profile, profile_of
from zenoh_harness.targets.through import listener_for, put_through

_PLACES: Final = ("port", "host", "locator", "zid", "profile")
_LOOK: Final = 0.5
"""Seconds in which a port where somebody listens takes a link."""
_BLANK: Final = re.compile(r"\{([a-z_]+)\}")


def open_target(reach: Reach) -> CommandTarget:
    """The adapter's door."""
    return CommandTarget(reach)


class CommandTarget:
    """A program of somebody's, started by us."""

    restartable = True
    apart = False
    claims: frozenset[str] = frozenset()
    panics: tuple[str, ...] = ()
    """Forms of a panic that its own file names."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.words = _words(reach.rest)
        blanks = {name for word in self.words for name in _BLANK.findall(word)}
        for name in blanks - set(_PLACES):
            raise unknown("blank", "{" + name + "}", ["{" + place + "}" for place in _PLACES])
        self.role = cast(Role, reach.options.get("role", "router"))
        self.side = Side(reach.options.get("as", "responder" if self.role == "router" else "initiator"))
        if not blanks & {"port", "locator"} and "listen" not in reach.options:
            raise UsageError(
                f"{reach} does not say where it listens or connects",
                step="target string",
                hint="put {port} or {locator} into the command, or ?listen=HOST:PORT after it",
            )
        self.with_agent = reach.options.get("agent") == "stdio"
        self._identity: Identity | None = None
        pinned = known_profile(reach.options.get("profile", DEFAULT))
        self.profiles: Mapping[str, Profile] = PROFILES if "profile" in blanks else {pinned.name: pinned}

    @property
    def identity(self) -> Identity:
        """Who the target string says it is, else its agent: an instance is started to ask it, unless one was already."""
        if self._identity is None:
            self._identity = self._named({})
            if self.with_agent:
                self._ask_who()
        return self._identity

    @identity.setter
    def identity(self, known: Identity) -> None:
        self._identity = known

    def _named(self, said: Mapping[str, object]) -> Identity:
        given = self.reach.options
        return Identity(
            name=given.get("name") or str(said.get("name") or Path(self.words[0]).name),
            version=given.get("version") or str(said.get("version", "")),
            kind="exec",
            language=str(said.get("language", "")),
        )

    def _ask_who(self) -> None:
        """One that does not say so is judged under the name of its program; why it does not, its start tells."""
        with contextlib.suppress(TargetError), Listener.open() as nobody:
            where = nobody.locator if self.side is Side.INITIATOR else self._where()
            with self._launch(profile_of(self, DEFAULT), where) as program:
                self._identity = self._named(Agent.over(program).introduction(Deadline.after(READY)))

    def start(self, profile: str = DEFAULT) -> LaunchedNode:
        """Start the command in `profile` and wait for its first handshake."""
        chosen = profile_of(self, profile)
        deadline = Deadline.after(READY)
        listener = listener_for(self.reach) if self.side is Side.INITIATOR else None
        try:
            return self._start(chosen, listener, deadline)
        except BaseException:
            if listener is not None:
                listener.close()
            raise

    def _start(self, profile: Profile, listener: Listener | None, deadline: Deadline) -> LaunchedNode:
        locator, began = listener.locator if listener else self._where(), time.monotonic()
        if listener is None:
            _nobody_is_at(locator)
        program = self._launch(profile, locator)
        node = LaunchedNode(
            program,
            profile,
            self.role,
            locator=locator,
            zid=self._zid if any("{zid}" in word for word in self.words) else None,
            listener=listener,
            agent=Agent.over(program) if self.with_agent else None,
        )
        if not self.with_agent:
            node.again = lambda: self._launch(profile, locator)
        try:
            self._introduced(node, deadline)
            node.wait_until_ready(deadline)
        except BaseException:
            node.stop()
            raise
        node.started_in = time.monotonic() - began
        return put_through(node, self.reach)

    @property
    def _zid(self) -> str:
        return self.reach.options.get("zid", TARGET_ZID)

    def _launch(self, profile: Profile, locator: Locator) -> processes.Program:
        values = {
            "port": str(locator.port),
            "host": locator.host,
            "locator": str(locator),
            "zid": self._zid,
            "profile": profile.name,
        }
        command = [_BLANK.sub(lambda match: values[match.group(1)], word) for word in self.words]
        return processes.start(command, interactive=self.with_agent, panics=self.panics)

    def _introduced(self, node: LaunchedNode, deadline: Deadline) -> None:
        if node.agent is None:
            return
        self._identity = self._named(node.agent.introduction(deadline))
        node.zid = node.agent.zid or node.zid

    def _where(self) -> Locator:
        chosen = self.reach.options.get("listen")
        if chosen:
            return Locator.parse(chosen if "/" in chosen else f"tcp/{chosen}")
        return Locator.tcp("127.0.0.1", processes.free_port())


def _nobody_is_at(locator: Locator) -> None:
    """Raise CannotStart where somebody listens before the program does: he would be judged under its name."""
    try:
        connect(locator, Deadline.after(_LOOK)).close()
    except CannotConnect:
        return
    raise CannotStart(
        f"somebody listens at {locator} already", step="start", seen="a link before the program was started",
        hint="end it, or leave out ?listen: then a free port is chosen",
    )  # fmt: skip


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as why:
        raise UsageError(f"cannot read the command {command!r}", step="target string", seen=str(why)) from why
