"""Fuzzing campaigns as rows: manifest, events and ledger of each folder; what is under embargo is counted, and nowhere told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from zenoh_harness.files import records
from zenoh_harness.files.campaigns import EVENTS, FORMAT, LEDGER, MANIFEST, CampaignEvent

from .judgements import content_id, grouped
from .lines import Fault, Here, cell, objects, row_of
from .results import DAY, day_of


@dataclass(slots=True)
class CampaignRow:
    """One fact of a campaign. The first block stands on every row of it."""

    campaign: str = ""
    """Of its id and when it began."""
    day: str = ""
    file: str = ""
    line: int = 0
    type: str = "fault"
    """`manifest`, `event`, `finding` (of the ledger), `embargoed` (how many are withheld), `fault`."""
    kind: str = ""
    """`codec`, `live`."""
    oracle: str = ""
    targets: list[str] = field(default_factory=list)

    round: int = 0
    """Runs of the folder so far: each `begin` is another, with a clock of its own."""
    event: str = ""
    seconds: float = 0.0
    inputs: int = 0
    edges: int = 0
    features: int = 0
    corpus: int = 0
    rate: float = 0.0
    worker: int = 0

    finding: str = ""
    rule: str = ""
    signature: str = ""
    why: str = ""
    standing: str = ""
    grave: bool = False
    count: int = 0
    """Inputs that broke the promise in this way; findings withheld."""
    seed: int = 0
    command: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """How far a run of a campaign was at a time."""

    day: str
    campaign: str
    oracle: str
    round: int
    seconds: float
    inputs: int
    edges: int
    corpus: int
    rate: float


@dataclass(frozen=True, slots=True)
class FoundRow:
    """How long it takes to find a fault: over all runs of campaigns of its oracle."""

    oracle: str
    signature: str
    why: str
    runs: int
    """Runs that found it."""
    of: int
    """Runs of this oracle."""
    first: float
    """Seconds of the fastest."""
    middle: float
    """The median of those that found it."""


def rows(manifest: str) -> Iterator[CampaignRow]:
    """The rows of a campaign whose manifest this is, or whose folder; never raises for what it reads."""
    path = Path(manifest) / MANIFEST if Path(manifest).is_dir() else Path(manifest)
    unknown: Here = {"file": str(path), "day": day_of(str(path)), "campaign": content_id(str(path))}
    told = row_of(CampaignRow, unknown, _document(path), _manifest)
    yield told
    if told.fault:
        return
    shared = {name: getattr(told, name) for name in SHARED}
    secrets = _secrets(path.parent / LEDGER)
    yield from _events({**shared, "file": str(path.parent / EVENTS)}, secrets)
    yield from _ledger({**shared, "file": str(path.parent / LEDGER)})
    if secrets:
        yield CampaignRow(**shared, file=str(path.parent / LEDGER), type="embargoed", count=len(secrets))


@dataclass(slots=True)
class _Fields(CampaignRow):
    """What is read of a manifest, of an event and of a finding, with its type."""

    id: str = ""
    began: str = ""
    after: int = 0


_OF_EVENT: Final = [field for field in _Fields.__dataclass_fields__ if field in CampaignEvent.__annotations__]
SHARED: Final = ("campaign", "day", "kind", "oracle", "targets")
"""What stands on every row of a campaign, as its manifest says it."""


def _manifest(here: Here, told: Mapping[str, Any]) -> CampaignRow:
    if told.get("campaign") != FORMAT:
        raise ValueError(f"has format {told.get('campaign')!r:.20}; this version reads {FORMAT}")
    columns = _columns(told, "id", "kind", "oracle", more=("began", "targets", "seed", "command"))
    began = columns.pop("began", "")
    day = DAY.match(began)
    about = {"campaign": content_id(columns.pop("id"), began), "day": day[1] if day else here["day"]}
    return CampaignRow(**{**here, **about, **columns}, type="manifest")


def _columns(found: Mapping[str, Any], *required: str, more: Iterable[str]) -> dict[str, Any]:
    """The named fields as columns, `more` where they are there. Raises ValueError."""
    if absent := [name for name in required if name not in found]:
        raise ValueError(f"field {absent[0]!r} is missing")
    picked = {name: found[name] for name in (*required, *more) if name in found}
    fields = records.read(_Fields, picked)
    return {name: cell(name, getattr(fields, name)) for name in picked}


def _document(path: Path) -> Mapping[str, Any] | Fault:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as why:
        return Fault(f"cannot be read: {why}"[:200])
    return found if isinstance(found, dict) else Fault(f"expected an object, found {type(found).__name__}")


def _secrets(ledger: Path) -> frozenset[str]:
    """The ids that are under embargo."""
    found = _document(ledger)
    entries = found.get("findings", []) if isinstance(found, Mapping) else []
    return frozenset(
        str(each.get("id")) for each in entries if isinstance(each, dict) and each.get("embargo", False) is not False
    )


def _events(shared: Here, secrets: frozenset[str]) -> Iterator[CampaignRow]:
    """The events; one about a finding without its signature is under embargo."""
    if not Path(shared["file"]).exists():
        return
    round_ = 0
    for line, found in objects(shared["file"]):
        round_ += isinstance(found, Mapping) and found.get("event") == "begin"
        row = row_of(CampaignRow, {**shared, "line": line, "round": round_}, found, _event)
        if row.event != "finding" or (row.signature and row.finding not in secrets):
            yield row


def _event(here: Here, found: Mapping[str, Any]) -> CampaignRow:
    columns = _columns(found, "event", more=_OF_EVENT)
    columns["finding"], after = columns.pop("id", ""), columns.pop("after", 0)
    columns.setdefault("corpus", after)
    return CampaignRow(**here, **columns, type="event")


def _ledger(shared: Here) -> Iterator[CampaignRow]:
    if not Path(shared["file"]).exists():
        return
    found = _document(Path(shared["file"]))
    if isinstance(found, Fault):
        yield CampaignRow(**shared, fault=found.why)
        return
    entries = found.get("findings", [])
    for line, each in enumerate(entries if isinstance(entries, list) else [], 1):
        if not isinstance(each, dict) or each.get("embargo", False) is False:
            yield row_of(CampaignRow, {**shared, "line": line}, each, _finding)


def _finding(here: Here, found: Mapping[str, Any]) -> CampaignRow:
    columns = _columns(found, "id", "rule", more=("signature", "why", "standing", "grave", "count"))
    columns["finding"] = columns.pop("id")
    return CampaignRow(**{**here, "standing": "new", "count": 1, **columns}, type="finding")


def progress(rows: Iterable[CampaignRow]) -> list[ProgressRow]:
    """Coverage over time, by campaign, run and second."""
    found = (row for row in rows if row.type == "event" and row.event in ("begin", "progress", "end"))
    made = {
        ProgressRow(
            row.day, row.campaign, row.oracle, row.round, row.seconds, row.inputs, row.edges, row.corpus, row.rate
        )
        for row in found
    }
    return sorted(made, key=lambda row: (row.day, row.campaign, row.round, row.seconds, row.inputs))


def times_to_find(rows: Iterable[CampaignRow]) -> list[FoundRow]:
    """How long each signature took, by oracle and signature; a run that never found it is in `of` alone."""
    events = [row for row in rows if row.type == "event"]
    runs = {
        oracle: len({(row.campaign, row.round) for row in found})
        for (oracle,), found in grouped(events, ["oracle"]).items()
    }
    made = []
    for (oracle, signature), found in grouped(
        (row for row in events if row.event == "finding"), ["oracle", "signature"]
    ).items():
        each_run = grouped(found, ["campaign", "round"]).values()
        times = [min(row.seconds for row in one) for one in each_run]
        why = min(row.why for row in found)
        made.append(FoundRow(oracle, signature, why, len(times), runs[oracle], min(times), float(median(times))))
    return made
