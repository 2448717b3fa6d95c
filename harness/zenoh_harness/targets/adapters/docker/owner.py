"""Labels that name the owner of a container, so that the next start removes those of a killed harness."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from .engine import connect, is_missing, refusals, where

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

PID: Final = "zconform.owner.pid"
BORN: Final = "zconform.owner.born"
"""The owner's start time, since process ids are reused."""
WORLD: Final = "zconform.owner.world"
"""The machine and its process namespace: a daemon may serve several, whose process ids mean nothing here."""
FOLDER: Final = "zconform.folder"
"""The temporary folder whose files are mounted; it is removed with the container."""

_CLIENTS: Final[dict[str, DockerClient]] = {}
_LOCK: Final = threading.Lock()


def daemon() -> DockerClient:
    """Connect to the daemon once per process, and remove the containers of killed runs.

    Raises CannotGoOn if it cannot be reached.
    """
    with _LOCK:
        if where() not in _CLIENTS:
            client = connect()
            reap(client)
            _CLIENTS[where()] = client
        return _CLIENTS[where()]


def labels(folder: Path | None = None) -> dict[str, str]:
    """Return the labels of this process's containers; `folder` is removed with the container."""
    mine = {PID: str(os.getpid()), BORN: _born(os.getpid()), WORLD: _world()}
    return {**mine, FOLDER: str(folder)} if folder else mine


def is_orphan(labels: Mapping[str, str]) -> bool:
    """Whether the owner named by the labels ran on this machine and has ended."""
    if labels.get(WORLD) != _world():
        return False
    try:
        return _born(int(labels[PID])) != labels[BORN]
    except (KeyError, ValueError, psutil.NoSuchProcess):
        return True


def reap(client: DockerClient) -> list[str]:
    """Remove every container whose owner has ended; return their names.

    Raises CannotGoOn if the daemon refuses; a container that another program removes meanwhile is ignored.
    """
    with refusals("look for containers that a killed run candidates"):
        candidates = client.containers.list(all=True, filters={"label": WORLD}, ignore_removed=True)
    orphans = [container for container in candidates if is_orphan(container.labels)]
    for container in orphans:
        _remove_folder(Path(container.labels.get(FOLDER, "")))
    return [str(container.name) for container in orphans if remove(container)]


def remove(container: Container) -> bool:
    """Kill and remove a container with its anonymous volumes; False if another program did it, or is about to."""
    from docker.errors import APIError

    with refusals(f"remove container {container.name}"):
        try:
            container.remove(force=True, v=True)
        except APIError as refusal:
            if is_missing(refusal) or "already in progress" in str(refusal):
                return False
            raise
    return True


def _remove_folder(folder: Path) -> None:
    """Remove a temporary folder of ours; a label that names any other folder is ignored."""
    if folder.parent == Path(tempfile.gettempdir()) and folder.name.startswith("zconform-"):
        shutil.rmtree(folder, ignore_errors=True)


def _born(pid: int) -> str:
    """Return when the process started; NoSuchProcess if it is gone or a zombie.

    In ticks since boot where the kernel says: psutil's time changes with the clock.
    """
    process = psutil.Process(pid)
    if process.status() == psutil.STATUS_ZOMBIE:
        raise psutil.NoSuchProcess(pid)
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return f"{process.create_time():.0f}"


def _world() -> str:
    namespace = Path("/proc/self/ns/pid")
    return f"{platform.node()} {namespace.readlink() if namespace.is_symlink() else ''}".strip()
