"""What a container holds, and whether it stands still: asked of the kernel where it is ours, else of the daemon."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from zenoh_harness.programs.processes import Usage


def usage_here(pid: int) -> Usage | None:
    """What a process of this machine and all below it hold; None when it is gone."""
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
        return Usage(
            memory=sum(one.memory_info().rss for one in family),
            threads=sum(one.num_threads() for one in family),
            descriptors=sum(_descriptors(one) for one in family),
            processes=len(family),
        )
    except psutil.Error:
        return None


def usage_told(stats: Mapping[str, Any]) -> Usage | None:
    """What the daemon's `stats` tell, which take it a second and count no descriptors; None when it is gone."""
    memory = stats.get("memory_stats", {}).get("usage")
    if not memory:
        return None
    tasks = int(stats.get("pids_stats", {}).get("current") or 0)
    return Usage(memory=int(memory), threads=tasks, descriptors=0, processes=0)


def is_stopped(pid: int) -> bool:
    """Whether a process of this machine or a child of it was stopped by a signal; False for no process (0)."""
    try:
        return any(one.status() == psutil.STATUS_STOPPED for one in _with_children(pid))
    except psutil.Error:
        return False


def _with_children(pid: int) -> list[psutil.Process]:
    """A process and its children; the kernel's own list of them spares a look at all."""
    if not pid:
        return []
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [psutil.Process(pid), *psutil.Process(pid).children()]
    return [psutil.Process(each) for each in (pid, *map(int, children))]


def _descriptors(process: psutil.Process) -> int:
    """Open descriptors, where the kernel lets us look; else none."""
    try:
        return process.num_fds()
    except psutil.AccessDenied:
        return 0
