"""The plan of a worker, stored as a file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

AT_HAND, STATE, FOUND, DEADLY, FIRST, SPENT = "at-hand", "state.json", "found.jsonl", "deadly", "first", "spent"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlan:
    """The settings of one worker."""

    oracle: str
    targets: tuple[str, ...] = ()
    folder: Path
    """The worker's folder."""
    corpus: Path
    structure: bool = True
    """Whether to mutate by segments; otherwise as the engine does."""
    behaviour: bool = True
    """Whether behaviours count as coverage."""
    layers: tuple[int, ...] = ()
    """Allowed layer numbers; all if empty."""
    largest: int = 4096
    first: bool = True
    """Whether to run the exhaustive inputs first."""
    first_seconds: float = 60.0
    """Most seconds for the exhaustive inputs, so that a slow machine has time for random ones."""
    cpu_seconds: float = 0.0
    """CPU seconds after which the worker ends, all restarts together; 0 if the clock limits it."""

    def write(self, path: Path) -> None:
        """Write the plan as JSON."""
        told = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(self).items()}
        path.write_text(json.dumps(told), encoding="utf-8")


def read_plan(path: Path) -> WorkerPlan:
    """Read a plan."""
    told = json.loads(path.read_text(encoding="utf-8"))
    for field in fields(WorkerPlan):
        if field.name in ("folder", "corpus"):
            told[field.name] = Path(told[field.name])
        elif isinstance(told[field.name], list):
            told[field.name] = tuple(told[field.name])
    return WorkerPlan(**told)


CANNOT_WRITE: Final = 73
"""Exit code of a worker that cannot write its files."""
CANNOT_BEGIN: Final = 74
"""Exit code of a worker whose target is not available; its last line is the reason."""
