"""What a builder leaves behind, and how it tells of its progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Tell = Callable[[str], None]
"""Takes a line of progress now and then."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a builder left behind."""

    what: str
    """How it is named where a target is named: an image, a path."""
    facts: Mapping[str, str]
    """Version, toolchain, digest: whatever tells one build from another."""
    new: bool
    """Whether it was made now; else it was there."""
    seconds: float
