"""One container of ours: started bounded, its log read as standard error, its end told apart, and always removed.

It offers what `zenoh_harness.programs.processes.Program` offers, so that health is judged in one way.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from zenoh_harness.errors import CannotStart
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.programs.processes import GRACE, Usage
from zenoh_harness.programs.signs import Sign

from . import owner
from .endings import ContainerEnded, Kind, ended
from .engine import is_local, refusals
from .images import Image
from .log import Log, plain
from .measure import is_stopped, usage_here, usage_told

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container as Handle

LOOPBACK: Final = "127.0.0.1"
SCRATCH: Final = "/tmp"  # noqa: S108  inside the container, and its own
"""What a program may write to, besides the volumes that its image declares."""
LOOK: Final = 0.02
"""Seconds between two looks at what no event tells."""
ENDING: Final = 2.0
"""Seconds within which the daemon tells how a container ended."""
SETTLED: Final = 0.1
"""Seconds that an accepted connection must stay open: the daemon's proxy accepts for those who do not listen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run, and within which bounds."""

    image: Image
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int | None = 7447
    """The TCP port to publish to 127.0.0.1; None shares the host's network, for a node that connects to us."""
    files: Mapping[Path, str] = field(default_factory=dict)
    """File of ours -> where it is mounted inside, read-only."""
    memory: int = 512 << 20
    """Bytes, swap included."""
    pids: int = 256
    """Processes and threads together."""
    disk: int = 16 << 20
    """Bytes in each writable place: /tmp and the image's volumes, all in memory."""
    log: int = 32 << 20
    """Bytes of log that the daemon keeps."""
    folder: Path | None = None
    """A temporary folder that goes with the container."""


_HELD: Final[set[Container]] = set()


@atexit.register
def stop_all() -> None:
    """End every container that is still held."""
    for container in tuple(_HELD):
        container.stop()


class Container:
    """A container that runs, ran, or has been removed; use as a context manager or call `stop`."""

    def __init__(self, client: DockerClient, plan: Plan) -> None:
        """Create and start it. Raises CannotGoOn or CannotStart, with nothing left behind."""
        self.plan = plan
        self.ended: ContainerEnded | None = None
        self.pid = 0
        """Its first process as the daemon's machine counts; 0 where that is not this machine."""
        self._log = Log()
        self._over = threading.Event()
        """Set when it has ended, or when nobody can tell any more."""
        self._stopped = False
        self._handle = _create(client, plan)
        _HELD.add(self)
        try:
            self._start()
        except BaseException:
            self._remove()
            raise

    def _start(self) -> None:
        with refusals(f"start a container of {self.plan.image.name}"):
            self._handle.start()
            self._handle.reload()
        if is_local():
            self.pid = int(self._handle.attrs["State"].get("Pid") or 0)
        self._pump = threading.Thread(target=self._follow, name=f"follow {self.name}", daemon=True)
        self._pump.start()

    @property
    def name(self) -> str:
        return str(self._handle.name)

    @property
    def address(self) -> tuple[str, int]:
        """Where the published port is reached. Raises CannotStart when none is published (any more)."""
        if (address := self._published()) is None:
            over = self.wait(Deadline.after(ENDING))
            raise CannotStart(f"{self.plan.image.name} has no published port", step="start", seen=str(over or ""))
        return address

    def _published(self) -> tuple[str, int] | None:
        """Where the port is reached. One that has ended loses it some moments before the daemon tells how it ended."""
        bound = (self._handle.attrs["NetworkSettings"].get("Ports") or {}).get(f"{self.plan.port}/tcp")
        return (LOOPBACK, int(bound[0]["HostPort"])) if bound else None

    def poll(self) -> ContainerEnded | None:
        """How it ended, or None while it runs; asks the daemon only when there is something to learn."""
        if self.ended is None and self._over.is_set():
            self.ended = ended(self._state(), self.plan.memory)
        return self.ended

    def wait(self, deadline: Deadline) -> ContainerEnded | None:
        """How it ended, or None when the deadline passes first."""
        self._over.wait(deadline.remaining())
        return self.poll()

    def wait_listening(self, deadline: Deadline) -> bool:
        """Whether something inside listens on the published port before the deadline passes or it ends."""
        while not deadline.passed and not self._over.wait(LOOK):
            if (address := self._published()) is None:
                self.wait(deadline.or_sooner(ENDING))
            elif _holds_a_connection(address):
                return True
        return False

    def terminate(self) -> None:
        """Send SIGTERM to its first process."""
        self._signal("SIGTERM")

    def kill(self) -> None:
        """Send SIGKILL to its first process, which takes the others along."""
        self._signal("SIGKILL")

    def stop(self, grace: float = GRACE) -> ContainerEnded:
        """End it: SIGTERM, after `grace` seconds SIGKILL; keep its log and its end; remove it and its volumes."""
        if not self._stopped:
            self._stopped = True
            try:
                self._end(grace)
            finally:
                self._remove()
                self._pump.join(scaled(GRACE))
                self._log.close()
        self.ended = self.ended or ContainerEnded(-9, 0, Kind.SIGNALLED, "ended by the harness")
        return self.ended

    def _end(self, grace: float) -> None:
        if self.poll() is None and not self.suspended():
            self.terminate()
            self.wait(Deadline.after(grace))
        if self.poll() is None:
            self.kill()
            self.wait(Deadline.after(10 * GRACE))
        self._pump.join(scaled(GRACE))

    def _remove(self) -> None:
        owner.remove(self._handle)
        if self.plan.folder is not None:
            shutil.rmtree(self.plan.folder, ignore_errors=True)
        _HELD.discard(self)

    def suspended(self) -> bool:
        """Whether it is paused, or its first process stopped by a signal."""
        return bool(self._state().get("Paused")) or is_stopped(self.pid)

    def usage(self) -> Usage | None:
        """What it holds now; None when it is gone. The daemon of another machine counts no descriptors."""
        if self.pid:
            return usage_here(self.pid)
        from docker.errors import NotFound

        with refusals(f"measure container {self.name}"):
            try:
                return usage_told(cast(dict[str, Any], self._handle.stats(stream=False, one_shot=True)))
            except NotFound:
                return None

    def listening(self) -> tuple[tuple[str, int], ...]:
        """The published address, whether or not anybody listens behind it; none when none is published."""
        return () if self.plan.port is None else (self.address,)

    def printed(self) -> str:
        """All that the daemon keeps of its log at this moment, not only what has reached us."""
        with refusals(f"read the log of container {self.name}"):
            return plain(self._handle.logs(stdout=True, stderr=True))

    def output(self, stream: str = "stderr") -> str:
        """What it printed, on either stream, bounded: the beginning and the end."""
        return self._log.text() if stream == "stderr" else ""

    def last_lines(self, count: int = 5, stream: str = "stderr") -> tuple[str, ...]:
        """The last lines that it printed, each cut at 300 characters."""
        return tuple(line[:300] for line in self.output(stream).splitlines()[-count:])

    def signs(self) -> tuple[Sign, ...]:
        """Lines of its log that speak of death, in order."""
        return self._log.signs

    @property
    def disk_full(self) -> bool:
        """Whether it complained that its disk is full."""
        return self._log.disk_full

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _state(self) -> Mapping[str, Any]:
        from docker.errors import NotFound

        with refusals(f"look at container {self.name}"):
            try:
                self._handle.reload()
            except NotFound:
                return {}
        state: Mapping[str, Any] = self._handle.attrs["State"]
        return state

    def _signal(self, name: str) -> None:
        from docker.errors import APIError

        with refusals(f"signal container {self.name}"):
            try:
                self._handle.kill(name)
            except APIError:
                if self._state().get("Running"):  # each engine has words of its own for one that has ended meanwhile
                    raise

    def _follow(self) -> None:
        """Read both streams, which end with the container or break off with its removal; then wait for its end."""
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        with contextlib.suppress(DockerException, RequestException, OSError):
            for piece in self._handle.logs(stream=True, follow=True, stdout=True, stderr=True):
                self._log.take(piece)
        with contextlib.suppress(DockerException, RequestException, OSError):
            self._handle.wait()
        self._over.set()


def _create(client: DockerClient, plan: Plan) -> Handle:
    with refusals(f"create a container of {plan.image.name}"):
        return client.containers.create(plan.image.id, list(plan.arguments), **settings(plan))


def settings(plan: Plan) -> dict[str, Any]:
    """The daemon's arguments for a plan: no capability, no new privilege, nothing writable without a bound."""
    writable = f"rw,noexec,nosuid,nodev,size={plan.disk},mode=1777"
    shared = plan.port is None
    return {
        "name": f"zconform-{os.getpid()}-{secrets.token_hex(4)}",
        "labels": owner.labels(plan.folder),
        "environment": dict(plan.environment),
        "network_mode": "host" if shared else "bridge",
        "ports": {} if shared else {f"{plan.port}/tcp": (LOOPBACK, None)},
        "mem_limit": plan.memory,
        "memswap_limit": plan.memory,
        "pids_limit": plan.pids,
        "read_only": True,
        "tmpfs": dict.fromkeys((SCRATCH, *plan.image.volumes), writable),
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "init": True,
        "log_config": {"Type": "json-file", "Config": {"max-size": str(plan.log)}},
        "volumes": {str(path): {"bind": inside, "mode": "ro"} for path, inside in plan.files.items()},
    }


def _holds_a_connection(address: tuple[str, int]) -> bool:
    """Whether a connection is accepted and stays: a node waits for us to speak, a proxy without a node hangs up."""
    try:
        with socket.create_connection(address, timeout=scaled(SETTLED)) as link:
            return bool(link.recv(1))
    except TimeoutError:
        return True
    except OSError:
        return False
