"""The image behind `docker:IMAGE`: what is there, or pulled; and what exactly it was."""

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
"""The names of images that `zconform targets build` makes; nobody serves them for pulling."""


class Pull(Enum):
    """When an image is fetched."""

    MISSING = "missing"
    """When it is not there: the default."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Image:
    """An image that is there."""

    name: str
    """As it was asked for."""
    id: str
    """The digest of its configuration, `sha256:...`: names one local image for ever."""
    digest: str
    """The digest under which a registry serves it, `name@sha256:...`; empty for one that was built here."""
    labels: Mapping[str, str]
    volumes: tuple[str, ...]
    """Paths that the image declares as volumes: writable whatever the root is, so each gets a bounded one."""


def obtain(client: DockerClient, name: str, pull: Pull = Pull.MISSING) -> Image:
    """The image of that name, pulled when it must be.

    Raises TargetError when it cannot be had (with what to do), CannotGoOn when the daemon refuses.
    """
    if pull is not Pull.ALWAYS:
        found = find(client, name)
        if found is not None:
            return found
    if pull is Pull.NEVER or name.startswith(OURS):
        raise _cannot_be_had(name, "it is not among the daemon's images")
    _fetch(client, name)
    pulled = find(client, name)
    if pulled is None:
        raise _cannot_be_had(name, "it was pulled, and still is not there")
    return pulled


def find(client: DockerClient, name: str) -> Image | None:
    """The image of that name among the daemon's, or None."""
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


def _fetch(client: DockerClient, name: str) -> None:
    """Pull `name` (tag `latest` where none is said, never all of them)."""
    from docker.errors import APIError

    with refusals(f"pull image {name}"):
        try:
            client.images.pull(name)
        except APIError as refusal:
            if "no space left on device" in str(refusal) or "invalid reference" in str(refusal):
                raise
            raise _cannot_be_had(name, str(refusal.explanation or refusal)) from refusal


def _cannot_be_had(name: str, why: str) -> TargetError:
    ours, _, version = name.removeprefix(OURS).partition(":")
    hint = (
        f"make it: zconform targets build {ours} --version {version or 'VERSION'}"
        if name.startswith(OURS)
        else "is the name right, the registry in reach? without one: zconform targets build zenohd --version VERSION"
    )
    return TargetError(f"image {name} cannot be had", step="image", seen=" ".join(why.split()), hint=hint)
