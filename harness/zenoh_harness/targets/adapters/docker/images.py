"""Find or pull the image of `docker:IMAGE`, with its digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from zenoh_harness.errors import TargetError

from .engine import refusals

if TYPE_CHECKING:
    from docker import DockerClient

OURS = "zconform/"
"""Prefix of images that `zconform targets build` builds; no registry serves them."""


class Pull(Enum):
    """When an image is pulled."""

    MISSING = "missing"
    """If it is missing: the default."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Image:
    """An image that the daemon has."""

    name: str
    """Its name as requested."""
    id: str
    """Digest of its configuration, `sha256:...`; identifies a local image."""
    digest: str
    """Digest in a registry, `name@sha256:...`; empty for an image built here."""
    labels: Mapping[str, str]
    volumes: tuple[str, ...]
    """Paths that the image declares as volumes: they are writable, so each gets a size limit."""


def obtain_image(client: DockerClient, name: str, pull: Pull = Pull.MISSING) -> Image:
    """Return the image of that name, pulled if necessary.

    Raises TargetError if it is not available, CannotGoOn if the daemon refuses.
    """
    if pull is not Pull.ALWAYS:
        found = find_image(client, name)
        if found is not None:
            return found
    if pull is Pull.NEVER or name.startswith(OURS):
        raise _unavailable(name, "the daemon does not have it")
    _pull(client, name)
    pulled = find_image(client, name)
    if pulled is None:
        raise _unavailable(name, "the daemon does not have it after the pull")
    return pulled


def find_image(client: DockerClient, name: str) -> Image | None:
    """Return the daemon's image of that name, or None."""
    from docker.errors import ImageNotFound

    with refusals(f"look for image {name}"):
        try:
            attributes = client.images.get(name).attrs
        except ImageNotFound:
            return None
    config = attributes.get("Config") or {}
    return Image(
        name=name,
        id=attributes["Id"],
        digest=next(iter(attributes.get("RepoDigests") or ()), ""),
        labels=config.get("Labels") or {},
        volumes=tuple(sorted(config.get("Volumes") or ())),
    )


def _pull(client: DockerClient, name: str) -> None:
    """Pull `name`, tag `latest` by default, never all tags."""
    from docker.errors import APIError

    with refusals(f"pull image {name}"):
        try:
            client.images.pull(name)
        except APIError as refusal:
            if "no space left on device" in str(refusal) or "invalid reference" in str(refusal):
                raise
            raise _unavailable(name, str(refusal.explanation or refusal)) from refusal


def _unavailable(name: str, why: str) -> TargetError:
    ours, _, version = name.removeprefix(OURS).partition(":")
    hint = (
        f"build it: zconform targets build {ours} --version {version or 'VERSION'}"
        if name.startswith(OURS)
        else "is the name right, and the registry reachable? without a registry: zconform targets build zenohd --version VERSION"
    )
    return TargetError(f"image {name} is not available", step="image", seen=" ".join(why.split()), hint=hint)
