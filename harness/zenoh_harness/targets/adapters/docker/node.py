"""A node in a container: its image, its start in a profile, and the errors of containers that are no Zenoh node."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import CannotConnect, CannotStart, HarnessError, NotZenoh, UsageError
from zenoh_harness.identity import Identity
from zenoh_harness.links.links import Observer, RecordedLink
from zenoh_harness.links.locators import Locator
from zenoh_harness.links.opening import LinkListener
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import DEFAULT, PROFILES, ROOM, Profile
from zenoh_harness.programs import processes
from zenoh_harness.programs.ports import free_port
from zenoh_harness.targets.adapters.launched import READY, LaunchedNode, LaunchedTarget
from zenoh_harness.targets.adapters.wheel import claims_of, patience_of, settings
from zenoh_harness.targets.build import builder
from zenoh_harness.targets.endpoints import endpoint_of, groups_in, link_protocol
from zenoh_harness.targets.reach import Reach
from zenoh_harness.targets.target import Role, profile_of, stop_on_error
from zenoh_harness.targets.through import add_tap

from . import owner
from .arguments import LISTEN, NOT_TAKEN, PORT, Instructions, instructions, is_router
from .container import SETTLED, SURELY_SETTLED, Container, ContainerPlan
from .endings import EndKind
from .engine import is_local
from .images import OURS, Image, Pull, obtain_image

MEMORY: Final = 512
"""MiB of memory for a container unless `memory=` says otherwise."""


class DockerTarget(LaunchedTarget):
    """A node in a container: `zenohd` in every profile, another program in the default one."""

    def __init__(self, reach: Reach) -> None:
        about = settings()
        super().__init__(reach)
        router = is_router(reach)
        self._name = about["target"]["name"] if router else reach.rest
        self._language = about["target"]["language"] if router else ""
        self.profiles: Mapping[str, Profile] = {
            name: PROFILES[name]
            for name in (about["profiles"] if router else (DEFAULT,))
            if is_local() or not PROFILES[name].groups
        }
        tagged = _release(_version(reach.rest, {})) or about["wheel"]["default"]
        stock = not reach.options.keys() & {"args", "config", "env"}  # a configuration may limit sessions and links
        self.claims: frozenset[str] = (claims_of(tagged) - (frozenset() if stock else ROOM)) if router else frozenset()
        self._router = router
        self.embargo = "upstream" if router else ""
        self.memory = _mebibytes(reach.options.get("memory", str(MEMORY)))

    @cached_property
    def identity(self) -> Identity:
        """Identity from the image; without a digest if the image cannot be had, which `start` reports."""
        with contextlib.suppress(HarnessError):
            return self._identity(self.image.digest or self.image.id, self.image.labels)
        return self._identity("", {})

    def _identity(self, digest: str, labels: Mapping[str, str]) -> Identity:
        version = _version(self.reach.rest, labels)
        return Identity(name=self._name, version=version, kind="docker", language=self._language, digest=digest)

    @cached_property
    def image(self) -> Image:
        """The image, looked up once: all starts of a target run the same one."""
        if "build" in self.reach.options:
            self._build()
        return obtain_image(owner.daemon(), self.reach.rest, Pull(self.reach.options.get("pull", "missing")))

    def _build(self) -> None:
        name, _, version = self.reach.rest.removeprefix(OURS).partition(":")
        if not self.reach.rest.startswith(OURS) or not version:
            raise UsageError(f"only {OURS}NAME:VERSION can be built, not {self.reach.rest}", step="image")
        builder(name).make(version, self.reach.options["build"], _ignore_progress)

    def start(self, profile: str = DEFAULT) -> LaunchedNode:
        """Start a container in `profile` and wait for its first handshake."""
        chosen = profile_of(self, profile)
        image = self.image
        is_published = self.side is Side.RESPONDER and link_protocol(self.reach) == "tcp" and not chosen.groups
        if not is_published and not is_local():
            raise UsageError(
                "a container on another machine cannot share our network",
                step="start",
                hint="use a local daemon for as=initiator and link=",
            )
        endpoint, groups = endpoint_of(self.reach), groups_in(chosen)
        listen = LISTEN if is_published else endpoint.on_port(free_port())
        folder = processes.work_folder()
        with self.listener() as listener, contextlib.ExitStack() as undo:
            undo.callback(processes.remove_folder, folder)
            instructed = instructions(
                self.reach,
                chosen,
                role=self.role,
                zid=self.zid,
                ours=listener.locator if listener else None,
                folder=folder,
                version=_release(self.identity.version),
                listen=listen,
                groups=groups,
            )
            plan = _plan(image, instructed, self.memory, folder, is_published=is_published)
            container = Container(owner.daemon(), plan)
            undo.pop_all()
        node = ContainedNode(container, chosen, self.role, self.zid, listener, endpoint.locator_at(listen))
        node.groups = groups
        return self._ready(node)

    def _ready(self, node: ContainedNode) -> LaunchedNode:
        """Wait until it is ready; the time that the daemon took to start it does not count."""
        if node.side is Side.INITIATOR:
            node.patience = patience_of(_release(self.identity.version))
        with stop_on_error(node):
            node.wait_until_ready(Deadline.after(READY))
        return add_tap(node, self.reach)


class ContainedNode(LaunchedNode):
    """A running container that listens at a published port, or is in the host's network."""

    def __init__(
        self,
        container: Container,
        profile: Profile,
        role: Role,
        zid: str,
        listener: LinkListener | None,
        listens_at: Locator,
    ) -> None:
        locator = listener.locator if listener else listens_at
        super().__init__(container, profile, role, locator=locator, zid=zid, listener=listener)
        self.container = container
        self._is_published = container.plan.port is not None
        self._looked_again = False

    def link(self, deadline: Deadline, observer: Observer | None = None) -> RecordedLink:
        """Open or accept a link; the proxy of a published port ends its side by its own rules."""
        link = super().link(deadline, observer)
        link.proxied = self._is_published
        return link

    def wait_until_ready(self, deadline: Deadline) -> None:
        """Wait until it answers an InitSyn, and check that it accepted every part of the profile.

        Raises CannotStart if it exited, CannotConnect if it does not listen, NotZenoh if another program answers.
        """
        if self._is_published:
            self._wait_listening(deadline)
            self.locator = Locator.tcp(*self.container.address)
        super().wait_until_ready(deadline)
        refused = [line for line in self.container.printed().splitlines() if NOT_TAKEN in line]
        if refused:
            raise CannotStart(
                f"the container refused a setting of the profile {self.profile.name}",
                step="start",
                seen=refused[:5],
                hint="is its version too old for it?",
            )

    def _answers(self, deadline: Deadline) -> bool:
        """Look once more, and for longer, whether anything listens if the link ended: a proxy on a busy machine hangs up late."""
        try:
            return super()._answers(deadline)
        except NotZenoh as why:
            if not (self._is_published and why.said_nothing) or self._looked_again:
                raise
        self._looked_again = True
        self._wait_listening(Deadline.after(READY), SURELY_SETTLED)
        return False

    def _wait_listening(self, deadline: Deadline, settled: float = SETTLED) -> None:
        if self.container.wait_listening(deadline, settled):
            return
        name, ended = self.container.plan.image.name, self.container.stop() if self.container.poll() else None
        if ended is None:
            raise CannotConnect(
                f"nothing listens at port {PORT} in {name}", step="connect", seen=self.state(), hint=_LISTEN
            )
        hint = "raise memory=MIB" if ended.kind is EndKind.OUT_OF_MEMORY else f"run it by hand: docker run --rm {name}"
        if self.container.disk_full:
            hint = f"it filled its disk: {self.container.plan.disk >> 20} MiB in /tmp, nothing else is writable"
        raise CannotStart(f"{name} ended before it was ready", step="start", seen=self.state(), hint=hint)

    def attach(self) -> str:
        """Return a line that tells a person how to reach it while it is kept running."""
        where = "connects to" if self.side is Side.INITIATOR else "listens at"
        return f"container {self.container.name} {where} {self.locator} (docker logs {self.container.name})"


_LISTEN: Final = "does its program listen at 0.0.0.0:7447? args= tells it ({port} is filled in)"


def _ignore_progress(line: str) -> None:
    """Ignore the progress of a build that a start needs."""


def _plan(image: Image, instructed: Instructions, memory: int, folder: Path, *, is_published: bool) -> ContainerPlan:
    return ContainerPlan(
        image=image,
        arguments=instructed.arguments,
        environment=instructed.environment,
        files=instructed.files,
        folders=instructed.folders,
        user="" if is_published else f"{os.getuid()}:{os.getgid()}",
        port=PORT if is_published else None,
        memory=memory << 20,
        folder=folder,
    )


def _version(image: str, labels: Mapping[str, str]) -> str:
    """Return the tag if it looks like a version, else the version in the image's label."""
    tag = re.search(r":v?(\d+\.[\w.+-]*)(@.*)?$", image)
    return tag.group(1) if tag else labels.get("org.opencontainers.image.version", "")


def _release(version: str) -> str:
    """Return the release in a version, as 1.10.2 in 1.10.2-alpine; empty if there is none."""
    found = re.match(r"\d+(\.\d+)+", version)
    return found.group() if found else ""


def _mebibytes(text: str) -> int:
    if not text.isdigit() or int(text) < 8:
        raise UsageError(f"memory={text} is no number of MiB from 8 on", step="target string")
    return int(text)
