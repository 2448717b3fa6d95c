"""What every campaign has, of codecs and of whole nodes: settings, results, the lock of its folder, and the files in it."""

from __future__ import annotations

import fcntl
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, ClassVar

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow
from zenoh_harness.run.store import embargo


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOrder:
    """The settings that all campaigns have."""

    kind: ClassVar[str] = "codec"
    folder: Path
    seconds: float
    cpu: bool = False
    """Whether `seconds` are CPU seconds of each worker, and not of the clock."""
    seed: int = 1
    jobs: int = 1
    corpora: tuple[Path, ...] = ()
    """Files or folders of further inputs for the start."""
    until_found: int = 0
    """Number of findings after which a campaign ends; 0 for no limit."""

    def words(self, *about: str) -> list[str]:
        """Return the words of the command line: `about` names what is fuzzed and how, the rest are the common settings."""
        words = ["zconform", "fuzz", self.kind, *about, "--time", f"{self.seconds:g}s", "--seed", str(self.seed)]
        words += ["--cpu"] if self.cpu else []
        words += ["--jobs", str(self.jobs)] if self.jobs > 1 else []
        return [
            *words,
            *(word for place in self.corpora for word in ("--corpus", str(place))),
            "--out",
            str(self.folder),
        ]

    def command(self) -> str:
        """Return the command line with these settings."""
        return shlex.join(self.words())

    def write_manifest(self, folder: Path, versions: Mapping[str, str], **more: Any) -> None:
        """Write the manifest of a campaign in a folder; `more`: what only this kind of campaign has."""
        campaigns.write_manifest(
            folder,
            {
                "kind": self.kind,
                "seed": self.seed,
                "seconds": self.seconds,
                "jobs": self.jobs,
                "versions": dict(versions),
                "command": self.command(),
                "began": datetime.now(UTC).isoformat(timespec="seconds"),
                **more,
            },
        )


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The results of a campaign."""

    inputs: int = 0
    edges: int = 0
    seconds: float = 0.0
    corpus: int = 0
    restarts: int = 0
    behaviours: int = 0
    findings: dict[str, FindingRow] = field(default_factory=dict)
    """Findings of this run, by id."""
    fresh: tuple[str, ...] = ()
    """Ids of findings that no earlier run of the folder had."""
    first_seen: dict[str, float] = field(default_factory=dict)
    """Seconds into the run at which each finding was first seen, by id."""
    tolerated: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    brought: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Inputs per second."""
        return self.inputs / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the results as JSON data."""
        return {
            "inputs": self.inputs,
            "edges": self.edges,
            "seconds": round(self.seconds, 1),
            "corpus": self.corpus,
            "rate": round(self.rate),
            "restarts": self.restarts,
            "behaviours": self.behaviours,
            "findings": [
                public_json(row) | {"first_seen": round(self.first_seen.get(name, 0.0), 2)}
                for name, row in sorted(self.findings.items())
            ],
            "tolerated": dict(sorted(self.tolerated.items())),
            "mutators": {name: {"used": self.used[name], "brought": self.brought[name]} for name in sorted(self.used)},
        }


def public_json(row: FindingRow) -> dict[str, Any]:
    """Return a finding as JSON data; one under embargo is reduced to its id."""
    return {"id": row.id, "embargo": True} if row.embargo else row.to_json()


def ledger_row(row: FindingRow) -> FindingRow:
    """Return a finding for the ledger; one under embargo is reduced to its id and count."""
    if not row.embargo:
        return row
    return FindingRow(
        id=row.id,
        oracle=row.oracle,
        rule="under embargo",
        signature="",
        why="",
        input="",
        embargo=True,
        count=row.count,
    )


def store_finding(folder: Path, row: FindingRow) -> None:
    """Store a finding in the campaign's folder; one under embargo goes to the user's data folder only."""
    campaigns.keep_finding(embargo.folder() / "fuzz" if row.embargo else folder, row)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder. Raises UsageError if another campaign works in it, CannotGoOn if it cannot be written."""
    lock: IO[str] | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as why:
        raise UsageError(
            f"another campaign is running in {folder}", step="fuzz codec", hint="--out names another folder"
        ) from why
    except OSError as why:
        raise CannotGoOn(
            f"cannot work in {folder}", step="fuzz codec", seen=str(why), hint="--out names another folder"
        ) from why
    try:
        yield
    finally:
        lock.close()


def announce_finding(folder: Path, row: FindingRow, seconds: float, facts: Mapping[str, Any] | None = None) -> None:
    """Write the event of a new finding; one under embargo is named by its id alone. `facts`: what else the event says."""
    about = {"id": row.id} if row.embargo else {"id": row.id, "signature": row.signature, "why": row.why}
    campaigns.add_event(folder, "finding", seconds, {**(facts or {}), **about})


def counted_with(row: FindingRow, before: FindingRow | None) -> FindingRow:
    """Return a finding whose count includes that of earlier campaigns of the folder."""
    return replace(row, count=row.count + (before.count if before else 0))
