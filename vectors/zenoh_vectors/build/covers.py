"""Which requirements a vector covers: a table of its own, so that ids of requirements stand in one place."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources

from zenoh_vectors.build.vector import Vector


@dataclass(frozen=True)
class Covers:
    """Requirement id to patterns of vector ids."""

    patterns: Mapping[str, tuple[str, ...]]

    @classmethod
    def load(cls) -> Covers:
        """From `covers.toml` beside this file."""
        table = tomllib.loads((resources.files(__package__) / "covers.toml").read_text(encoding="utf-8"))
        return cls({f"{page}/{phrase}": tuple(globs) for page, rows in table.items() for phrase, globs in rows.items()})

    def of(self, vector: Vector) -> list[str]:
        """The requirements that this vector covers, sorted."""
        return sorted(
            requirement
            for requirement, globs in self.patterns.items()
            if any(fnmatchcase(vector.id, glob) for glob in globs)
        )


def errata_ids() -> dict[str, str]:
    """Alias to phrase id, as the errata table has them."""
    file = resources.files("zenoh_conformance") / "errata.toml"
    if not file.is_file():
        return {}
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return {row["alias"]: phrase for phrase, row in table.items() if "alias" in row}
