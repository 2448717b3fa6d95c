"""The result of a builder, and the callback for its progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Tell = Callable[[str], None]
"""Receives lines of progress."""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The result of a builder."""

    what: str
    """Its name in target strings: an image, a path."""
    facts: Mapping[str, str]
    """Version, toolchain, digest: the properties that identify a build."""
    new: bool
    """Whether it was built now; else it existed before."""
    seconds: float
