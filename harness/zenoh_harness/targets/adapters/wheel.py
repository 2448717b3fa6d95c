"""`wheel:VERSION`: zenoh-rust as its Python package ships it, a node in a subprocess with an agent."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from zenoh_conformance.conversation import Side
from zenoh_harness.errors import AgentError, CannotStart
from zenoh_harness.identity import Identity
from zenoh_harness.links.links import Listener
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, PROFILES, Profile
from zenoh_harness.programs import processes
from zenoh_harness.programs.environments import python_with
from zenoh_harness.targets.adapters.launched import READY, LaunchedNode
from zenoh_harness.targets.agent import Agent
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import TARGET_ZID, Role, profile_of
from zenoh_harness.targets.through import listener_for, put_through

_LISTEN_ANYWHERE: Final = "tcp/127.0.0.1:0"


def open_target(reach: Reach) -> WheelTarget:
    """The adapter's door."""
    return WheelTarget(reach)


@cache
def settings() -> Mapping[str, Any]:
    """The file about zenoh-rust: versions, and the configuration of each profile."""
    return MappingProxyType(
        tomllib.loads((files("zenoh_harness") / "targets" / "known" / "zenoh-rust.toml").read_text())
    )


def configuration(profile: Profile, side: Side, *, version: str = "", dictionary: Path | None = None) -> dict[str, Any]:
    """zenoh-rust's configuration for a profile, path -> value; `dictionary` is the file of users, if any."""
    about = settings()
    values = {**about["base"], **about["profiles"][profile.name]}
    if side is Side.INITIATOR:
        values |= about["initiator"]
        for special in about["initiator-of"]:
            if version and _is(version, special["versions"]):
                values |= {path: value for path, value in special.items() if path != "versions"}
    user, password = profile.credentials or ("", "")
    given = {"{user}": user, "{password}": password, "{dictionary}": str(dictionary)}
    return {path: given.get(value, value) if isinstance(value, str) else value for path, value in values.items()}


def patience_of(version: str) -> float:
    """Seconds that a link of an initiator of that release may wait for us: half of its attempt, where that is as short as its pause."""
    pauses = (
        one["connect/retry"]["period_init_ms"] for one in settings()["initiator-of"] if _is(version, one["versions"])
    )
    return next((pause / 2000 for pause in pauses), math.inf)


def claims_of(version: str) -> frozenset[str]:
    """The capabilities that a release must have."""
    about = settings()
    since = about["since"]
    return frozenset(claim for claim in about["target"]["claims"] if _is(version, f">={since.get(claim, '0')}"))


def _is(version: str, versions: str) -> bool:
    try:
        return Version(version) in SpecifierSet(versions, prereleases=True)
    except InvalidVersion:
        return False


class WheelTarget:
    """A node of one version: a router listens, a peer or client connects to us, unless `as=` differs."""

    restartable = True
    apart = True
    embargo = "upstream"

    def __init__(self, reach: Reach) -> None:
        about = settings()
        self.reach = reach
        self.version = reach.rest or about["wheel"]["default"]
        self.identity = Identity(name=about["target"]["name"], version=self.version, kind="wheel", language="Rust")
        self.role = cast(Role, reach.options.get("role", "router"))
        self.side = Side(reach.options.get("as", "responder" if self.role == "router" else "initiator"))
        self.profiles: Mapping[str, Profile] = {name: PROFILES[name] for name in about["profiles"]}
        self.claims = claims_of(self.version)

    def start(self, profile: str = DEFAULT) -> LaunchedNode:
        """Start a node in `profile` and wait for its first handshake."""
        chosen = profile_of(self, profile)
        python = python_with(settings()["wheel"]["package"], self.version, known=tuple(settings()["wheel"]["versions"]))
        deadline = Deadline.after(READY)
        listener = listener_for(self.reach) if self.side is Side.INITIATOR else None
        try:
            program = self._launch(python, chosen, listener)
        except BaseException:
            if listener is not None:
                listener.close()
            raise
        return self._ready(program, chosen, listener, deadline)

    def _launch(self, python: Path, profile: Profile, listener: Listener | None) -> processes.Program:
        folder = processes.work_folder()
        dictionary = folder / "users"
        if profile.credentials:
            dictionary.write_text(":".join(profile.credentials) + "\n")
        config = configuration(profile, self.side, version=self.version, dictionary=dictionary)
        config |= {"mode": self.role, "id": self.zid}
        config |= {
            "listen/endpoints": [] if listener else [_LISTEN_ANYWHERE],
            "connect/endpoints": [str(listener.locator)] if listener else [],
        }
        script = files("zenoh_harness") / "targets" / "nodes" / "wheel_node.py"
        command = [str(python), "-I", "-u", str(script), json.dumps(config)]
        return processes.start(
            command, env={"RUST_LOG": os.environ.get("RUST_LOG", "warn")}, cwd=folder, folder=folder, interactive=True
        )

    @property
    def zid(self) -> str:
        """The ZenohID that its nodes get."""
        return self.reach.options.get("zid", TARGET_ZID)

    def _ready(
        self, program: processes.Program, profile: Profile, listener: Listener | None, deadline: Deadline
    ) -> LaunchedNode:
        agent = Agent.over(program)
        node = LaunchedNode(
            program, profile, self.role, zid=self.zid, listener=listener, agent=agent,
            locator=listener.locator if listener else Locator.tcp("127.0.0.1", 0),
        )  # fmt: skip
        if listener is not None:
            node.patience = patience_of(self.version)
        try:
            self._greeted(agent, node, deadline)
            if listener is None:
                node.locator = _where(program)
            node.wait_until_ready(deadline)
        except BaseException:
            node.stop()
            raise
        return put_through(node, self.reach)

    def _greeted(self, agent: Agent, node: LaunchedNode, deadline: Deadline) -> None:
        """The node script's first line tells that the session is open, or why it is not."""
        try:
            identity = agent.introduction(deadline)
        except AgentError as why:
            raise CannotStart(f"{self.reach} did not start", step="start", seen=[str(why), *node.state()]) from why
        self.identity = Identity(
            name=self.identity.name, version=identity.get("version", self.version), kind="wheel", language="Rust"
        )


def _where(program: processes.Program) -> Locator:
    """Where the kernel let it listen."""
    for host, port in program.listening():
        return Locator.tcp(host, port)
    raise CannotStart("the node runs and listens nowhere", step="start", seen=list(program.last_lines()))
