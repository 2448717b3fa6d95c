"""The identity of a target, node or codec."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity that a target reports; part of every result."""

    name: str
    """Name of the implementation, as in `zenoh-rust`."""
    version: str
    """Its version, empty if unknown."""
    kind: str
    """Kind of target through which it was reached."""
    language: str = ""
    digest: str = ""
    """Digest of a container image; empty for other targets."""
