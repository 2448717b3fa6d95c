"""What a worker is told, as a file beside it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

AT_HAND, STATE, FOUND, DEADLY, FIRST = "at-hand", "state.json", "found.jsonl", "deadly", "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One worker's work."""

    oracle: str
    targets: tuple[str, ...] = ()
    folder: Path
    """The worker's own."""
    corpus: Path
    structure: bool = True
    """Mutate by segments; otherwise as the engine does."""
    behaviour: bool = True
    """Count behaviours as coverage."""
    layers: tuple[int, ...] = ()
    """Numbers of the layers that inputs may begin with; all when empty."""
    largest: int = 4096
    first: bool = True
    """Look at the small spaces before anything is drawn."""
    first_seconds: float = 60.0
    """And how long at most: on a busy machine something is to be drawn as well."""

    def write(self, path: Path) -> None:
        """As JSON."""
        told = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self).items()}
        path.write_text(json.dumps(told), encoding="utf-8")


def read(path: Path) -> Plan:
    """Read it back."""
    told = json.loads(path.read_text(encoding="utf-8"))
    for field in fields(Plan):
        if field.name in ("folder", "corpus"):
            told[field.name] = Path(told[field.name])
        elif isinstance(told[field.name], list):
            told[field.name] = tuple(told[field.name])
    return Plan(**told)


CANNOT_WRITE: Final = 73
"""The worker's exit code when it cannot write its files."""
CANNOT_BEGIN: Final = 74
"""And when a target cannot be had; its last line says why."""
