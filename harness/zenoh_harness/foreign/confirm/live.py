"""A live zenoh-rust node as a witness: what its trace log says it received.

Before a session stands, the acceptor logs whatever message it reads first on a link, in Debug form, and only then
finds that it is no InitSyn.  So each vector goes on a link of its own, network messages inside a FRAME, integers as
the body of an OAM; scouting messages go to its UDP socket.  What the log must say is taken from zenoh-codec of the
same release, whose own reading has been held against the vector.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from zenoh_harness.errors import CannotGoOn
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.programs import processes
from zenoh_harness.programs.environments import python_with
from zenoh_harness.targets.agent import AgentClient

PACKAGE: Final = "eclipse-zenoh"
LOG: Final = "zenoh_transport::unicast::establishment=trace,zenoh::net::runtime::orchestrator=trace"
GROUP: Final = "224.0.0.224"
"""Where nodes scout."""

MOST_LINKS: Final = 1000
"""Probes of one node.  Each comes from a loopback address of its own, 127.1.X.Y, by which the log names it."""

LOG_LIMIT: Final = 1 << 28
_PATIENCE: Final = 10.0
_FENCE: Final = bytes.fromhex("010907")
"""A SCOUT for everybody: its HELLO says that all before it was read."""

_STREAM: Final = re.compile(r"Accept InitSyn: \S+ => \w+/(?P<who>[\d.]+):\d+\. Received: (?P<what>.*)$")
_SCOUTED: Final = re.compile(r"orchestrator: Received (?P<what>.*) from (?P<who>[\d.]+):\d+$")


@dataclass(frozen=True, slots=True)
class Probe:
    """Bytes for a live node."""

    data: bytes
    scouting: bool = False
    """On its UDP socket; else as the first batch of a link."""


class LiveNode:
    """A router of one release with its log open."""

    def __init__(self, release: str) -> None:
        python = python_with(PACKAGE, release)
        self._scout_port = _free_udp_port()
        config = {
            "mode": "router", "listen/endpoints": ["tcp/127.0.0.1:0"], "scouting/gossip/enabled": False,
            "scouting/multicast/enabled": True, "scouting/multicast/interface": "127.0.0.1",
            "scouting/multicast/address": f"{GROUP}:{self._scout_port}",
        }  # fmt: skip
        script = files("zenoh_harness") / "targets" / "nodes" / "wheel_node.py"
        self._program = processes.start(
            [str(python), "-I", "-u", str(script), json.dumps(config)],
            env={"RUST_LOG": LOG, "NO_COLOR": "1"}, interactive=True, limit=LOG_LIMIT,
        )  # fmt: skip
        try:
            AgentClient.over(self._program).introduction(Deadline.after(_PATIENCE))
            self._address = self._program.listening()[0]
        except BaseException:
            self._program.stop()
            raise

    def read_probes(self, probes: Sequence[Probe]) -> list[str]:
        """Return what its log says that it read in each probe; empty for a probe that it did not read. Ends the node."""
        with self._program:
            for number, probe in enumerate(probes):
                (self._scout if probe.scouting else self._connect)(probe.data, _source(number))
        found = _read(self._program.output())
        return [found.get(_source(number), "") for number in range(len(probes))]

    def _connect(self, data: bytes, source: str) -> None:
        """Send one batch on a link of its own and wait for what comes back, be it only the end."""
        with socket.create_connection(self._address, scaled(_PATIENCE), (source, 0)) as link:
            link.sendall(len(data).to_bytes(2, "little") + data)
            with contextlib.suppress(ConnectionError):
                link.recv(4096)

    def _scout(self, data: bytes, source: str) -> None:
        """Send one datagram, then a SCOUT, whose HELLO proves that the datagram was read."""
        with self._datagrams(source) as link, self._datagrams("127.0.0.1") as fence:
            link.sendto(data, (GROUP, self._scout_port))
            fence.sendto(_FENCE, (GROUP, self._scout_port))
            try:
                fence.recv(4096)
            except TimeoutError as why:
                raise CannotGoOn("the node answers no SCOUT", step="scouting", hint="is multicast on?") from why

    def _datagrams(self, source: str) -> socket.socket:
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.bind((source, 0))
        link.settimeout(scaled(_PATIENCE))
        link.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        return link


def read_by_nodes(release: str, probes: Sequence[Probe]) -> Iterator[str]:
    """Yield what nodes of a release read in each probe; a new node is started for every thousand."""
    for begin in range(0, len(probes), MOST_LINKS):
        yield from LiveNode(release).read_probes(probes[begin : begin + MOST_LINKS])


def _source(number: int) -> str:
    """The address from which a probe comes."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


def _read(log: str) -> dict[str, str]:
    """What was received, by the address from which it came."""
    matches = (_STREAM.search(line) or _SCOUTED.search(line) for line in log.splitlines())
    return {match["who"]: match["what"] for match in matches if match}


def _free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(("127.0.0.1", 0))
        return int(link.getsockname()[1])
