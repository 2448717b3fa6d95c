"""`docker:IMAGE`: a node in a container, through the Docker SDK; podman's socket (`DOCKER_HOST`) serves as well.

The daemon's proxy stands between us and the node: a reset by the node arrives as an end, and a link is accepted before
the node has seen it.
"""

from __future__ import annotations

from zenoh_harness.targets.reach import Reach

from .node import DockerTarget

__all__ = ["DockerTarget", "open_target"]


def open_target(reach: Reach) -> DockerTarget:
    """The adapter's door."""
    return DockerTarget(reach)
