"""`docker:IMAGE`: a node in a container, through the Docker SDK; podman's socket (`DOCKER_HOST`) works too.

The daemon's proxy is between us and the node: it turns a reset by the node into an end, and accepts a link before the node
sees it.
"""

from __future__ import annotations

from zenoh_harness.targets.reach import Reach

from .node import DockerTarget

__all__ = ["DockerTarget", "open_target"]


def open_target(reach: Reach) -> DockerTarget:
    """Return the target of a target string."""
    return DockerTarget(reach)
