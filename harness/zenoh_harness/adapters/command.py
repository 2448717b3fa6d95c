"""`exec:COMMAND`: any program that listens where it is told (`{port}`), or connects to us (`?as=initiator`).

`{port}`, `{host}`, `{locator}`, `{zid}` and `{profile}` are filled in; a command with `{profile}` can be started in
every profile, any other in the one that the reach string names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final, cast

from zenoh_conformance.conversation import Side
from zenoh_harness import processes
from zenoh_harness.adapters.launched import READY, LaunchedNode
from zenoh_harness.agent import Agent
from zenoh_harness.errors import UsageError, unknown
from zenoh_harness.links import Listener
from zenoh_harness.locators import Locator
from zenoh_harness.profiles import DEFAULT, PROFILES, Profile
from zenoh_harness.reach import Reach
from zenoh_harness.target import TARGET_ZID, Identity, Role, known_profile, profile_of
from zenoh_harness.timing import Deadline

_PLACES: Final = ("port", "host", "locator", "zid", "profile")
_BLANK: Final = re.compile(r"\{([a-z_]+)\}")


def open_target(reach: Reach) -> CommandTarget:
    """The adapter's door."""
    return CommandTarget(reach)


class CommandTarget:
    """A program of somebody's, started by us."""

    restartable = True
    claims: frozenset[str] = frozenset()

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
                step="reach string",
                hint="put {port} or {locator} into the command, or ?listen=HOST:PORT after it",
            )
        self.identity = Identity(name=reach.options.get("name", self.words[0]), version="", kind="exec")
        pinned = known_profile(reach.options.get("profile", DEFAULT))
        self.profiles: Mapping[str, Profile] = PROFILES if "profile" in blanks else {pinned.name: pinned}

    def start(self, profile: str = DEFAULT) -> LaunchedNode:
        """Start the command in `profile` and wait for its first handshake."""
        chosen = profile_of(self, profile)
        deadline = Deadline.after(READY)
        listener = Listener.open() if self.side is Side.INITIATOR else None
        try:
            return self._start(chosen, listener, deadline)
        except BaseException:
            if listener is not None:
                listener.close()
            raise

    def _start(self, profile: Profile, listener: Listener | None, deadline: Deadline) -> LaunchedNode:
        locator = listener.locator if listener else self._where()
        zid = self.reach.options.get("zid", TARGET_ZID)
        values = {
            "port": str(locator.port),
            "host": locator.host,
            "locator": str(locator),
            "zid": zid,
            "profile": profile.name,
        }
        command = [_BLANK.sub(lambda match: values[match.group(1)], word) for word in self.words]
        with_agent = self.reach.options.get("agent") == "stdio"
        program = processes.start(command, interactive=with_agent)
        node = LaunchedNode(
            program,
            profile,
            self.role,
            locator=locator,
            zid=zid if any("{zid}" in word for word in self.words) else None,
            listener=listener,
            agent=Agent.over(program) if with_agent else None,
        )
        try:
            self._introduced(node, deadline)
            node.wait_until_ready(deadline)
        except BaseException:
            node.stop()
            raise
        return node

    def _introduced(self, node: LaunchedNode, deadline: Deadline) -> None:
        if node.agent is None:
            return
        said = node.agent.introduction(deadline)
        self.identity = Identity(
            name=self.reach.options.get("name", str(said.get("name", self.identity.name))),
            version=str(said.get("version", "")),
            kind="exec",
            language=str(said.get("language", "")),
        )
        node.zid = node.agent.zid or node.zid

    def _where(self) -> Locator:
        chosen = self.reach.options.get("listen")
        if chosen:
            return Locator.parse(chosen if "/" in chosen else f"tcp/{chosen}")
        return Locator.tcp("127.0.0.1", processes.free_port())


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as why:
        raise UsageError(f"cannot read the command {command!r}", step="reach string", seen=str(why)) from why
