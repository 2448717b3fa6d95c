"""One container: started with limits, its log read as standard error, its end classified, and always removed.

It has the interface of `zenoh_harness.programs.processes.Program`, so that health is judged the same way.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast

from zenoh_harness.errors import CannotStart
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.programs.processes import GRACE, Usage, listening_at, remove_folder, usage_of
from zenoh_harness.programs.signs import Sign

from . import owner
from .endings import ContainerEnded, EndKind, is_unexplained_kill, read_end
from .engine import is_local, refusals
from .images import Image
from .log import ContainerLog, plain
from .measure import daemon_usage, is_stopped

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container as Handle

LOOPBACK: Final = "127.0.0.1"
SCRATCH: Final = "/tmp"  # noqa: S108  inside the container, and its own
"""Writable folder of a program, besides the volumes of its image."""
LOOK: Final = 0.02
"""Seconds between two polls."""
OOM_NOTE: Final = 3.0
"""Seconds within which the daemon notes that the kernel killed a container for its memory."""
ENDING: Final = 2.0
"""Seconds within which the daemon reports how a container ended."""
SETTLED: Final = 0.1
"""Seconds that an accepted connection must stay open: the daemon's proxy accepts before the node listens."""
SURELY_SETTLED: Final = 2.0
"""The same, of a proxy that is slow on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlan:
    """What to run, and its limits."""

    image: Image
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int | None = 7447
    """The TCP port to publish to 127.0.0.1; None shares the host's network."""
    files: Mapping[Path, str] = field(default_factory=dict)
    """File on our side to its path inside, read-only."""
    folders: Sequence[Path] = ()
    """Folders of ours that it may write to, at the same path inside."""
    user: str = ""
    """User and group ids that it runs as; by default those of its image."""
    memory: int = 512 << 20
    """Bytes, swap included."""
    pids: int = 256
    """Processes and threads together."""
    disk: int = 16 << 20
    """Bytes in each writable folder: /tmp and the image's volumes, all in memory."""
    log: int = 32 << 20
    """Bytes of log that the daemon keeps."""
    folder: Path | None = None
    """A temporary folder that is removed with the container."""


_RUNNING: Final[set[Container]] = set()


@atexit.register
def stop_all() -> None:
    """Stop every container that was not stopped yet."""
    for container in tuple(_RUNNING):
        container.stop()


class Container:
    """A container that runs, ran, or was removed; use it as a context manager or call `stop`."""

    def __init__(self, client: DockerClient, plan: ContainerPlan) -> None:
        """Create and start it. Raises CannotGoOn or CannotStart, and leaves nothing behind."""
        self.plan = plan
        self.ended: ContainerEnded | None = None
        self.pid = 0
        """Process id of its first process on the daemon's machine; 0 if that is not this machine."""
        self._log = ContainerLog()
        self._over = threading.Event()
        """Set when it has ended, or when that can no longer be found out."""
        self._stopped = False
        self._handle = _create(client, plan)
        _RUNNING.add(self)
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
        self._reader = threading.Thread(target=self._follow, name=f"follow {self.name}", daemon=True)
        self._reader.start()

    @property
    def name(self) -> str:
        return str(self._handle.name)

    @property
    def address(self) -> tuple[str, int]:
        """The address of the published port. Raises CannotStart if none is published any more."""
        if (address := self._published_address()) is None:
            over = self.wait(Deadline.after(ENDING))
            raise CannotStart(f"{self.plan.image.name} has no published port", step="start", seen=str(over or ""))
        return address

    def _published_address(self) -> tuple[str, int] | None:
        """Return the address of the published port; an ended container loses it just before the daemon reports the end."""
        bound = (self._handle.attrs["NetworkSettings"].get("Ports") or {}).get(f"{self.plan.port}/tcp")
        return (LOOPBACK, int(bound[0]["HostPort"])) if bound else None

    def poll(self) -> ContainerEnded | None:
        """Return how it ended, or None while it runs; the daemon is asked only once it has ended."""
        if self.ended is None and self._over.is_set():
            self.ended = read_end(self._state(), self.plan.memory)
        return self.ended

    def wait(self, deadline: Deadline) -> ContainerEnded | None:
        """Return how it ended, or None if the deadline passes first."""
        self._over.wait(deadline.remaining())
        return self.poll()

    def wait_listening(self, deadline: Deadline, settled: float = SETTLED) -> bool:
        """Wait until a program inside listens on the published port; False if the deadline passes or it ends first.

        `settled`: the seconds that a connection stays open.
        """
        while not deadline.passed and not self._over.wait(LOOK):
            if (address := self._published_address()) is None:
                self.wait(deadline.or_sooner(ENDING))
            elif _holds_a_connection(address, settled):
                return True
        return False

    def terminate(self) -> None:
        """Send SIGTERM to its first process."""
        self._signal("SIGTERM")

    def kill(self) -> None:
        """Send SIGKILL to its first process, which ends the others too."""
        self._signal("SIGKILL")

    def stop(self, grace: float = GRACE) -> ContainerEnded:
        """Stop it by SIGTERM, after `grace` seconds by SIGKILL; keep its log and its end; remove it and its volumes."""
        if not self._stopped:
            self._stopped = True
            try:
                self._end(grace)
            finally:
                self._remove()
                self._reader.join(scaled(GRACE))
                self._log.close()
        self.ended = self.ended or ContainerEnded(-9, 0, EndKind.SIGNALLED, "ended by the harness")
        return self.ended

    def _end(self, grace: float) -> None:
        if self.poll() is None and not self.suspended():
            self.terminate()
            self.wait(Deadline.after(grace))
        if self.poll() is None:
            self.kill()
            self.wait(Deadline.after(10 * GRACE))
        self._reader.join(scaled(GRACE))

    def _remove(self) -> None:
        owner.remove(self._handle)
        if self.plan.folder is not None:
            remove_folder(self.plan.folder)
        _RUNNING.discard(self)

    def suspended(self) -> bool:
        """Whether it is paused, or its first process stopped by a signal."""
        return bool(self._state().get("Paused")) or is_stopped(self.pid)

    def held_up(self, _since: float) -> float:
        """Infinite: the engine may be on another machine."""
        return math.inf

    def suspensions(self) -> int:
        """0: the engine keeps no count."""
        return 0

    @property
    def halted(self) -> bool:
        """False: the engine keeps no count."""
        return False

    def usage(self) -> Usage | None:
        """Return its resources; None if it is gone. A daemon on another machine counts no descriptors."""
        if self.pid:
            return usage_of(self.pid)
        from docker.errors import NotFound

        with refusals(f"measure container {self.name}"):
            try:
                return daemon_usage(cast(dict[str, Any], self._handle.stats(stream=False, one_shot=True)))
            except NotFound:
                return None

    def listening(self, protocol: str = "tcp") -> tuple[tuple[str, int], ...]:
        """Return the published address, where a program may not listen yet, or where it listens in the host's network."""
        if self.plan.port is not None:
            return (self.address,)
        return listening_at(self.pid, protocol) if self.pid else ()

    def printed(self) -> str:
        """Return all of the log that the daemon has, including what has not reached us yet."""
        with refusals(f"read the log of container {self.name}"):
            return plain(self._handle.logs(stdout=True, stderr=True))

    def output(self, stream: str = "stderr") -> str:
        """Return the beginning and the end of its output, both streams together."""
        return self._log.text() if stream == "stderr" else ""

    def last_lines(self, count: int = 5, stream: str = "stderr") -> tuple[str, ...]:
        """Return the last lines of its output, each cut at 300 characters."""
        return tuple(line[:300] for line in self.output(stream).splitlines()[-count:])

    def signs(self) -> tuple[Sign, ...]:
        """Return the lines of its log that report a crash, in order."""
        return self._log.signs

    @property
    def disk_full(self) -> bool:
        """Whether its log reports a full disk."""
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
                if self._state().get("Running"):  # engines differ in the error for a container that has ended meanwhile
                    raise

    def _follow(self) -> None:
        """Read both streams until the container ends or is removed; then wait for its end."""
        from docker.errors import DockerException
        from requests.exceptions import RequestException

        with contextlib.suppress(DockerException, RequestException, OSError):
            for piece in self._handle.logs(stream=True, follow=True, stdout=True, stderr=True):
                self._log.add(piece)
        with contextlib.suppress(DockerException, RequestException, OSError):
            self._handle.wait()
            self._await_oom()
        self._over.set()

    def _await_oom(self) -> None:
        """Wait until the daemon notes why the kernel killed it: the note arrives a little after the end."""
        deadline = Deadline.after(OOM_NOTE)
        while not (self._stopped or deadline.passed) and is_unexplained_kill(self._state()):
            time.sleep(LOOK)


def _create(client: DockerClient, plan: ContainerPlan) -> Handle:
    with refusals(f"create a container of {plan.image.name}"):
        return client.containers.create(plan.image.id, list(plan.arguments), **settings(plan))


def settings(plan: ContainerPlan) -> dict[str, Any]:
    """Return the daemon's arguments for a plan: no capability, no new privilege, every writable folder limited."""
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
        "volumes": {str(path): {"bind": inside, "mode": "ro"} for path, inside in plan.files.items()}
        | {str(path): {"bind": str(path), "mode": "rw"} for path in plan.folders},
        "user": plan.user,
    }


def _holds_a_connection(address: tuple[str, int], settled: float) -> bool:
    """Whether a connection is accepted and stays open: a node waits for us to speak, a proxy without a node hangs up."""
    try:
        with socket.create_connection(address, timeout=scaled(settled)) as link:
            return bool(link.recv(1))
    except TimeoutError:
        return True
    except OSError:
        return False
