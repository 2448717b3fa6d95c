"""Findings that are not told: what makes a current release crash, hang or turn zombie, and is not public."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from platformdirs import user_data_path

from zenoh_conformance.verdict import Judgement, Verdict
from zenoh_harness.files import results
from zenoh_harness.files.results import check_label
from zenoh_harness.targets.target import NodeTarget

KEPT: Final = "judgements.jsonl"
GRAVE: Final = frozenset({Verdict.CRASH, Verdict.HANG, Verdict.ZOMBIE})


def is_current(target: NodeTarget) -> bool:
    """Whether the target's own file declares this version the current release."""
    return bool(getattr(target, "current", False))


def under_embargo(judgement: Judgement, *, current: bool, public: bool) -> bool:
    """Whether the judgement may only be counted."""
    return current and not public and judgement.verdict in GRAVE


def folder(base: Path | None = None) -> Path:
    """Where embargoed findings are kept; readable by the user alone."""
    path = (base or user_data_path("zenoh-conformance")) / "embargo"
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def withheld(target: str, version: str, base: Path | None = None) -> frozenset[str]:
    """The checks, with their parameters, that are kept back for this version: what was found before is not found again."""
    path = folder(base) / f"{target}-{version or 'unknown'}" / KEPT
    if not path.exists():
        return frozenset()
    rows = [json.loads(row) for row in path.read_text(encoding="utf-8").splitlines() if row.strip()]
    return frozenset(check_label(row["check"], tuple(row["parameters"].items())) for row in rows)


def keep(judgement: Judgement, base: Path | None = None) -> Path:
    """Add the judgement to the file of its target's version; the folder for its evidence."""
    key = judgement.key
    place = folder(base) / f"{key.target}-{key.version or 'unknown'}"
    place.mkdir(exist_ok=True, mode=0o700)
    with (place / KEPT).open("a", encoding="utf-8") as out:
        out.write(results.line(results.judgement_row(judgement)))
    return place
