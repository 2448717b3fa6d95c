"""The result of a probe of a target as a JSON file, described by `schemas/probe.schema.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, TypedDict

from msgspec import Meta

from zenoh_harness.files import records
from zenoh_harness.files.faults import FileFault, Row, regular

FORMAT: Final = 1


_TARGET: Final = ("reach", "name", "version", "role", "side")
"""Fields of `Probed` that the file has in its object `target`."""
Name = Annotated[str, Meta(extra_json_schema={"minLength": 1})]
Distinct: Final = Meta(extra_json_schema={"uniqueItems": True})


class SeenInProfile(TypedDict):
    """The observations in one profile."""

    seen: dict[str, Any]
    """Name of a fact to its value; a fact that could not be observed is absent."""
    capabilities: Annotated[Sequence[Name], Distinct]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The result of a probe of one target in one or several profiles."""

    reach: str
    name: str
    version: str
    role: Annotated[str, Meta(extra_json_schema={"enum": ["router", "peer", "client"]})]
    side: Annotated[str, Meta(extra_json_schema={"enum": ["responder", "initiator"]})]
    profiles: Mapping[str, SeenInProfile] = field(default_factory=dict)
    claimed: Annotated[Sequence[Name], Distinct] = ()
    """The capabilities that the target's file claims."""
    missing: Annotated[Sequence[Name], Distinct] = ()
    """The claimed capabilities that the probe tested and did not observe."""

    @property
    def capabilities(self) -> frozenset[str]:
        """The capabilities that were observed in any profile."""
        return frozenset(name for one in self.profiles.values() for name in one["capabilities"])

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document, keys in a fixed order."""
        return {
            "probe": FORMAT,
            "target": {name: getattr(self, name) for name in _TARGET},
            "capabilities": sorted(self.capabilities),
            "claimed": sorted(self.claimed),
            "missing": sorted(self.missing),
            "profiles": {name: dict(one) for name, one in self.profiles.items()},
        }


def write(probed: Probed, path: Path) -> None:
    """Write the result as one indented JSON document. Raises OSError."""
    path.write_text(json.dumps(probed.to_json(), indent=2) + "\n", encoding="utf-8")


def read(path: Path) -> Probed:
    """Read the result of a probe. Raises FileFault if the file is none."""
    try:
        document = json.loads(regular(path).read_text(encoding="utf-8"))
        if document["probe"] != FORMAT:
            raise FileFault(path, None, f"is of format {document['probe']!r}, and this reads {FORMAT}")
        return records.read_from(path, Probed, {**document, **document["target"]})
    except (OSError, ValueError, KeyError, TypeError) as why:
        raise FileFault(path, None, f"is no probe result: {why!r}") from why


def schema() -> Row:
    """Return the JSON schema of the file, for `schemas/probe.schema.json`."""
    whole = records.schema_of(Probed, constants={"probe": FORMAT}, optional=())
    fields = whole["properties"]
    target = {name: fields.pop(name) for name in _TARGET}
    fields["target"] = {"type": "object", "required": [*_TARGET], "additionalProperties": False, "properties": target}
    fields["capabilities"] = records.schema_of(SeenInProfile)["properties"]["capabilities"]
    return records.with_title("What a probe saw of a target", {**whole, "required": [*fields]})
