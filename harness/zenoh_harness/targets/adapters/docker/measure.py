"""Measure the resources of a container, and whether it is stopped: from the kernel if it is local, else from the daemon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psutil

from zenoh_harness.programs.processes import Usage, process_and_descendants


def daemon_usage(stats: Mapping[str, Any]) -> Usage | None:
    """Return the resources in the daemon's `stats`, which takes a second and counts no descriptors; None if it is gone."""
    memory = stats.get("memory_stats", {}).get("usage")
    if not memory:
        return None
    tasks = int(stats.get("pids_stats", {}).get("current") or 0)
    return Usage(memory=int(memory), threads=tasks, descriptors=0, processes=0)


def is_stopped(pid: int) -> bool:
    """Whether a local process or a child of it was stopped by a signal; False for no process (0)."""
    try:
        return (
            any(process.status() == psutil.STATUS_STOPPED for process in process_and_descendants(pid)) if pid else False
        )
    except psutil.Error:
        return False
