"""Whose a container is: labels that let the next start remove what a killed harness left behind."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from .engine import is_missing, refusals

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

PID = "zconform.owner.pid"
BORN = "zconform.owner.born"
"""The owner's start time: a process id alone is used again."""
WORLD = "zconform.owner.world"
"""The machine and its process namespace: a daemon may serve several, and their process ids mean nothing here."""


def labels() -> dict[str, str]:
    """The labels of what this process owns."""
    return {PID: str(os.getpid()), BORN: _born(os.getpid()), WORLD: _world()}


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
    return [str(each.name) for each in left if is_orphan(each.labels) and remove(each)]


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
