"""`wheel:VERSION`: zenoh-rust as shipped in its Python package, a node with an agent in a subprocess."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import AgentError, CannotStart
from zenoh_harness.identity import Identity
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import LinkListener
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, PROFILES, Profile
from zenoh_harness.programs import processes
from zenoh_harness.programs.environments import python_with
from zenoh_harness.targets.adapters.launched import READY, LaunchedNode, LaunchedTarget
from zenoh_harness.targets.agent import AgentClient
from zenoh_harness.targets.endpoints import Endpoint, endpoint_of, groups_in
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import profile_of, stop_on_error
from zenoh_harness.targets.through import add_tap


def open_target(reach: Reach) -> WheelTarget:
    """Return the target of a target string."""
    return WheelTarget(reach)


@cache
def settings() -> Mapping[str, Any]:
    """Return the file about zenoh-rust: versions, and the configuration of each profile."""
    return MappingProxyType(
        tomllib.loads((files("zenoh_harness") / "targets" / "known" / "zenoh-rust.toml").read_text())
    )


def configuration(
    profile: Profile, side: Side, *, version: str = "", dictionary: Path | None = None, scouting: Locator | None = None
) -> dict[str, Any]:
    """Return zenoh-rust's configuration for a profile, path to value.

    `dictionary` is the file of users, and `scouting` the group of SCOUT, if the profile has one.
    """
    about = settings()
    values = {**about["base"], **about["profiles"][profile.name]}
    if side is Side.INITIATOR:
        values |= about["initiator"]
        for special in about["initiator-of"]:
            if version and _matches(version, special["versions"]):
                values |= {path: value for path, value in special.items() if path != "versions"}
    user, password = profile.credentials or ("", "")
    given = {"{user}": user, "{password}": password, "{dictionary}": str(dictionary)}
    given["{scouting}"] = scouting.address if scouting else ""
    return {path: given.get(value, value) if isinstance(value, str) else value for path, value in values.items()}


def endpoints(listen: Locator, ours: Locator | None, groups: Mapping[str, Locator]) -> dict[str, list[str]]:
    """Return where zenoh-rust listens, or connects if `ours` is given, and the group that it joins."""
    joined = [f"{group}#iface=lo" for name, group in groups.items() if name == "multicast"]
    return {
        "listen/endpoints": [*([] if ours else [str(listen)]), *joined],
        "connect/endpoints": [str(ours)] if ours else [],
    }


def patience_of(version: str) -> float:
    """Return the seconds that a link of an initiator may wait for us: half of an attempt, if that is as short as its pause."""
    releases = (release for release in settings()["initiator-of"] if _matches(version, release["versions"]))
    pauses = (release["connect/retry"]["period_init_ms"] for release in releases)
    return next((pause / 2000 for pause in pauses), math.inf)


def claims_of(version: str) -> frozenset[str]:
    """Return the capabilities that a release must have."""
    about = settings()
    since = about["since"]
    return frozenset(claim for claim in about["target"]["claims"] if _matches(version, f">={since.get(claim, '0')}"))


def release_of(version: str) -> str:
    """Return the release that a version names: `1.10` is 1.10.0, as the package index reads it."""
    with suppress(InvalidVersion):
        asked = Version(version)
        return next((each for each in settings()["wheel"]["versions"] if Version(each) == asked), version)
    return version


def _matches(version: str, versions: str) -> bool:
    try:
        return Version(version) in SpecifierSet(versions, prereleases=True)
    except InvalidVersion:
        return False


class WheelTarget(LaunchedTarget):
    """A node of one version: a router listens, a peer or client connects to us, unless `as=` says otherwise."""

    can_run_beside = True
    embargo = "upstream"

    def __init__(self, reach: Reach) -> None:
        about = settings()
        super().__init__(reach)
        self.version = release_of(reach.rest or about["wheel"]["default"])
        self.identity = Identity(name=about["target"]["name"], version=self.version, kind="wheel", language="Rust")
        self.profiles: Mapping[str, Profile] = {name: PROFILES[name] for name in about["profiles"]}
        self.claims = claims_of(self.version)

    def start(self, profile: str = DEFAULT) -> LaunchedNode:
        """Start a node in `profile` and wait for its first handshake."""
        chosen = profile_of(self, profile)
        python = python_with(settings()["wheel"]["package"], self.version, known=tuple(settings()["wheel"]["versions"]))
        deadline = Deadline.after(READY)
        endpoint, groups = endpoint_of(self.reach), groups_in(chosen)
        with self.listener() as listener:
            program = self._launch(python, chosen, listener, endpoint, groups)
        node = self._ready(program, chosen, listener, endpoint, deadline)
        node.groups = groups
        return node

    def _launch(
        self,
        python: Path,
        profile: Profile,
        listener: LinkListener | None,
        endpoint: Endpoint,
        groups: Mapping[str, Locator],
    ) -> processes.Program:
        folder = processes.work_folder()
        dictionary = folder / "users"
        if profile.credentials:
            dictionary.write_text(":".join(profile.credentials) + "\n")
        config = configuration(
            profile, self.side, version=self.version, dictionary=dictionary, scouting=groups.get("scouting")
        )
        config |= {"mode": self.role, "id": self.zid}
        config |= endpoints(endpoint.listen, listener.locator if listener else None, groups)
        script = files("zenoh_harness") / "targets" / "nodes" / "wheel_node.py"
        command = [str(python), "-I", "-u", str(script), json.dumps(config)]
        return processes.start(
            command, env={"RUST_LOG": os.environ.get("RUST_LOG", "warn")}, cwd=folder, folder=folder, interactive=True
        )

    def _ready(
        self,
        program: processes.Program,
        profile: Profile,
        listener: LinkListener | None,
        endpoint: Endpoint,
        deadline: Deadline,
    ) -> LaunchedNode:
        agent = AgentClient.over(program)
        node = LaunchedNode(
            program,
            profile,
            self.role,
            zid=self.zid,
            listener=listener,
            agent=agent,
            locator=listener.locator if listener else endpoint.listen,
        )
        if listener is not None:
            node.patience = patience_of(self.version)
        with stop_on_error(node):
            self._read_introduction(agent, node, deadline)
            if listener is None:
                node.locator = endpoint.locator_at(_listening_at(program, endpoint.listen))
            node.wait_until_ready(deadline)
        return add_tap(node, self.reach)

    def _read_introduction(self, agent: AgentClient, node: LaunchedNode, deadline: Deadline) -> None:
        """Read the node script's first line: the session is open, or why it is not."""
        try:
            identity = agent.introduction(deadline)
        except AgentError as why:
            raise CannotStart(f"{self.reach} did not start", step="start", seen=[str(why), *node.state()]) from why
        self.identity = Identity(
            name=self.identity.name, version=identity.get("version", self.version), kind="wheel", language="Rust"
        )


def _listening_at(program: processes.Program, told: Locator) -> Locator:
    """Return the address at which it listens, where it was told to choose a port."""
    if not told.has_port or told.port:
        return told
    for host, port in program.listening(told.protocol):
        return Locator.of(told.protocol, host, port)
    raise CannotStart("the node runs without a listening socket", step="start", seen=list(program.last_lines()))
