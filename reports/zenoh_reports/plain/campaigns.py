"""Fuzzing campaigns as rows: manifest, events and ledger of each folder; what is under embargo is counted, and nowhere told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from zenoh_harness.files.campaigns import EVENTS, FORMAT, LEDGER, MANIFEST

from .judgements import content_id, grouped
from .lines import Fault, number, objects, text, texts
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
    told = _document(path)
    blank = CampaignRow(file=str(path), day=day_of(str(path)), campaign=content_id(str(path)))
    try:
        if isinstance(told, Fault):
            raise ValueError(told.why)
        blank = _about(blank, told)
        yield replace(blank, type="manifest", seed=number(told, "seed", 0), command=text(told, "command", ""))
    except ValueError as why:
        yield replace(blank, fault=str(why))
        return
    secrets = _secrets(path.parent / LEDGER)
    yield from _events(replace(blank, file=str(path.parent / EVENTS)), secrets)
    yield from _ledger(replace(blank, file=str(path.parent / LEDGER)))
    if secrets:
        yield replace(blank, type="embargoed", count=len(secrets))


def _about(blank: CampaignRow, told: Mapping[str, Any]) -> CampaignRow:
    if told.get("campaign") != FORMAT:
        raise ValueError(f"has format {told.get('campaign')!r:.20}; this version reads {FORMAT}")
    began = text(told, "began", "")
    day = DAY.match(began)
    return replace(
        blank, campaign=content_id(text(told, "id"), began), day=day[1] if day else blank.day, kind=text(told, "kind"),
        oracle=text(told, "oracle"), targets=texts(told, "targets"),
    )  # fmt: skip


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


def _events(blank: CampaignRow, secrets: frozenset[str]) -> Iterator[CampaignRow]:
    """The events; one about a finding without its signature is under embargo."""
    if not Path(blank.file).exists():
        return
    round_ = 0
    for line, found in objects(blank.file):
        here = replace(blank, line=line, round=round_)
        if isinstance(found, Fault):
            yield replace(here, fault=found.why)
            continue
        round_ += found.get("event") == "begin"
        try:
            row = _event(replace(here, round=round_), found)
        except ValueError as why:
            yield replace(here, fault=str(why))
            continue
        if row.event == "finding" and (not row.signature or row.finding in secrets):
            continue
        yield row


def _event(blank: CampaignRow, found: Mapping[str, Any]) -> CampaignRow:
    return replace(
        blank, type="event", event=text(found, "event"), seconds=_decimal(found, "seconds"), inputs=number(found, "inputs", 0),
        edges=number(found, "edges", 0), features=number(found, "features", 0),
        corpus=number(found, "corpus", number(found, "after", 0)), rate=_decimal(found, "rate"), worker=number(found, "worker", 0),
        finding=text(found, "id", ""), signature=text(found, "signature", ""), why=text(found, "why", ""),
    )  # fmt: skip


def _decimal(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name, 0)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"field {name!r} must be a number, found {value!r:.60}")
    return float(value)


def _ledger(blank: CampaignRow) -> Iterator[CampaignRow]:
    if not Path(blank.file).exists():
        return
    found = _document(Path(blank.file))
    if isinstance(found, Fault):
        yield replace(blank, fault=found.why)
        return
    entries = found.get("findings", [])
    for line, each in enumerate(entries if isinstance(entries, list) else [], 1):
        try:
            if not isinstance(each, dict):
                raise ValueError(f"expected an object, found {type(each).__name__}")
            if each.get("embargo", False) is not False:
                continue
            yield replace(
                blank, line=line, type="finding", finding=text(each, "id"), rule=text(each, "rule"),
                signature=text(each, "signature"), why=text(each, "why"), standing=text(each, "standing", "new"),
                grave=each.get("grave") is True, count=number(each, "count", 1),
            )  # fmt: skip
        except ValueError as why:
            yield replace(blank, line=line, fault=str(why))


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
