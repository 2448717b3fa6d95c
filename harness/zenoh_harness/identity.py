"""Who a target says it is: nodes and codecs alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a target says it is; goes into every result."""

    name: str
    """The implementation, as in `zenoh-rust`."""
    version: str
    """Its version, empty when unknown."""
    kind: str
    """The reach kind through which it was reached."""
    language: str = ""
    digest: str = ""
    """What exactly it is, where that can be told: a container image's digest."""
