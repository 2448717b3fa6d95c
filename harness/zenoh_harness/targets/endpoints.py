"""Where a node that we start listens, or we listen for it, over each link protocol (`?link=udp`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from zenoh_harness.links.certificates import Authority
from zenoh_harness.links.groups import free_group
from zenoh_harness.links.locators import Locator
from zenoh_harness.profiles import Profile
from zenoh_harness.programs.ports import free_port
from zenoh_harness.programs.processes import work_folder
from zenoh_harness.targets.reach import Reach

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address at which one side listens and the other connects."""

    listen: Locator
    """For the side that listens; with port 0 the kernel chooses one."""
    trust: str = ""
    """The metadata of the locator for the side that connects."""

    def locator_at(self, at: Locator) -> Locator:
        """Return the locator for the side that connects to a listener at `at`."""
        return Locator(at.protocol, at.address, self.trust)

    def on_port(self, port: int) -> Locator:
        """Return where to listen if the port is chosen beforehand."""
        if not self.listen.has_port:
            return self.listen
        return Locator.of(self.listen.protocol, HOST, port, self.listen.metadata)


def endpoint_of(reach: Reach) -> Endpoint:
    """Return a new endpoint over the link protocol that a target string names, TCP by default."""
    return _MADE[link_protocol(reach)]()


def groups_in(profile: Profile) -> dict[str, Locator]:
    """Return new groups for a node in a profile, by name."""
    return {name: free_group() for name in profile.groups}


def link_protocol(reach: Reach) -> str:
    """Return the link protocol over which a target is reached."""
    return reach.locator.protocol if reach.locator is not None else reach.options.get("link", "tcp")


@cache
def run_authority() -> Authority:
    """Return the certificate authority of this process's TLS links; its files are removed with the harness."""
    return Authority(work_folder())


def _over_tls() -> Endpoint:
    authority = run_authority()
    return Endpoint(Locator.of("tls", HOST, 0, authority.listens()), authority.trust)


def _over_unix() -> Endpoint:
    return Endpoint(Locator("unixsock-stream", str(Path(work_folder(), "node.sock"))))


_MADE: dict[str, Callable[[], Endpoint]] = {
    "tcp": lambda: Endpoint(Locator.tcp(HOST, 0)),
    "udp": lambda: Endpoint(Locator.of("udp", HOST, free_port())),
    "tls": _over_tls,
    "unixsock-stream": _over_unix,
}
"""Link protocol to what makes an endpoint. A node has UDP sockets that do not listen, so its port is chosen for it."""
