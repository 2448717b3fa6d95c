"""What a probe saw of a target, as a file: JSON, described by `schemas/probe.schema.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from zenoh_harness.files.faults import FileFault

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """One target in one or several profiles."""

    reach: str
    name: str
    version: str
    role: str
    """router, peer or client."""
    side: str
    """responder or initiator."""
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Profile -> {"seen": {fact: value}, "capabilities": [...]}."""
    claimed: Sequence[str] = ()
    missing: Sequence[str] = ()
    """Claimed, looked for, and not seen."""

    @property
    def capabilities(self) -> frozenset[str]:
        """Seen in any profile."""
        return frozenset(name for one in self.profiles.values() for name in one["capabilities"])

    def to_json(self) -> dict[str, Any]:
        """The document, keys in a fixed order."""
        return {
            "probe": FORMAT,
            "target": {
                "reach": self.reach,
                "name": self.name,
                "version": self.version,
                "role": self.role,
                "side": self.side,
            },
            "capabilities": sorted(self.capabilities),
            "claimed": sorted(self.claimed),
            "missing": sorted(self.missing),
            "profiles": {name: dict(one) for name, one in self.profiles.items()},
        }


def write(probed: Probed, path: Path) -> None:
    """Write it as one indented JSON document."""
    path.write_text(json.dumps(probed.to_json(), indent=2) + "\n", encoding="utf-8")


def read(path: Path) -> Probed:
    """Read it back.  Raises FileFault for what is no probe result."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["probe"] != FORMAT:
            raise FileFault(path, None, f"is of format {document['probe']!r}, and this reads {FORMAT}")
        return Probed(
            **document["target"],
            profiles=document["profiles"],
            claimed=document["claimed"],
            missing=document["missing"],
        )
    except (OSError, ValueError, KeyError, TypeError) as why:
        raise FileFault(path, None, f"is no probe result: {why!r}") from why
