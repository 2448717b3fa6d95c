"""Whose a container is: labels that let the next start remove what a killed harness left behind."""

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
"""The owner's start time: a process id alone is used again."""
WORLD: Final = "zconform.owner.world"
"""The machine and its process namespace: a daemon may serve several, and their process ids mean nothing here."""
FOLDER: Final = "zconform.folder"
"""The temporary folder whose files are mounted; it goes with the container."""

_CLIENTS: Final[dict[str, DockerClient]] = {}
_LOCK: Final = threading.Lock()


def daemon() -> DockerClient:
    """The daemon, connected to once a process; what killed runs left there is removed before anything is started.

    Raises CannotGoOn when it cannot be reached.
    """
    with _LOCK:
        if where() not in _CLIENTS:
            client = connect()
            reap(client)
            _CLIENTS[where()] = client
        return _CLIENTS[where()]


def labels(folder: Path | None = None) -> dict[str, str]:
    """The labels of what this process owns; `folder` is removed with it."""
    mine = {PID: str(os.getpid()), BORN: _born(os.getpid()), WORLD: _world()}
    return {**mine, FOLDER: str(folder)} if folder else mine


def is_orphan(labels: Mapping[str, str]) -> bool:
    """Whether the owner that these labels name ran in our world, and runs no more."""
    if labels.get(WORLD) != _world():
        return False
    try:
        return _born(int(labels[PID])) != labels[BORN]
    except (KeyError, ValueError, psutil.NoSuchProcess):
        return True


def reap(client: DockerClient) -> list[str]:
    """Remove every container whose owner is dead; returns their names.

    Raises CannotGoOn when the daemon refuses; one that somebody else removes meanwhile is no matter.
    """
    with refusals("look for containers that a killed run left"):
        left = client.containers.list(all=True, filters={"label": WORLD}, ignore_removed=True)
    orphans = [each for each in left if is_orphan(each.labels)]
    for each in orphans:
        _remove_folder(Path(each.labels.get(FOLDER, "")))
    return [str(each.name) for each in orphans if remove(each)]


def remove(container: Container) -> bool:
    """Kill and remove a container with its anonymous volumes; False when somebody else has, or is about to."""
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
    """Remove a temporary folder of ours; a label that names anything else is not believed."""
    if folder.parent == Path(tempfile.gettempdir()) and folder.name.startswith("zconform-"):
        shutil.rmtree(folder, ignore_errors=True)


def _born(pid: int) -> str:
    """When the process started; NoSuchProcess when it does not run, or only its shell is left.

    In ticks since the boot where the kernel tells: psutil's time moves when the clock is set.
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
