"""The files of a fuzzing campaign: its options, its events and its findings so far.

    manifest.json    oracle, targets, versions, seed and command line of the campaign's last run
    events.jsonl     one event a line, flushed at once: begin, progress, finding, restart, merge, end
    ledger.json      the findings of all runs in this folder, by id, each with its count and its state
    findings/ID/     `input` (the bytes) and `finding.json` (the ledger's entry, with its explanation)

Codec campaigns, live campaigns, the pipeline and the HTML pages use the same files. Schemas:
`schemas/campaign-*.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from msgspec import Meta

from zenoh_harness.files import records
from zenoh_harness.files.faults import FileFault, Row, regular, unreadable

FORMAT: Final = 1
MANIFEST, EVENTS, LEDGER, FINDINGS = "manifest.json", "events.jsonl", "ledger.json", "findings"
INPUT, FINDING = "input", "finding.json"

Standing = Literal["new", "minimised", "promoted", "explained", "fixed"]
"""The state of a finding: a command minimises and promotes it, a person explains it or marks it as fixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRow:
    """The answer of one codec to the input of a finding."""

    name: str
    verdict: str
    told: str = ""
    """The text of the answer: the decoded value, or the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """One finding, as `ledger.json` and `finding.json` hold it."""

    id: Annotated[str, Meta(pattern="^[0-9a-f]{12}$")]
    oracle: str
    rule: str
    signature: str
    why: str
    input: Annotated[
        str, Meta(pattern="^([0-9a-f]{2})*$", description="the bytes; the first says as what the rest is read")
    ]
    """The bytes in hexadecimal; the first byte selects the layer or format as which the rest is decoded."""
    sides: tuple[SideRow, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """Codec to version."""
    targets: tuple[str, ...] = ()
    """The target strings of the campaign that found it."""
    grave: bool = False
    embargo: bool = False
    """Whether the input makes a current release crash or run out of memory and is not public yet.

    Published pages count such a finding and do not describe it.
    """
    standing: Standing = "new"
    count: Annotated[int, Meta(ge=1)] = 1
    """Number of inputs with the same signature."""
    segments: tuple[tuple[str, str, str], ...] = ()
    """The segments of the minimised input: path, bytes in hexadecimal, note."""
    explanation: tuple[str, ...] = ()
    """Lines of text that explain the finding to a reader."""
    repeat: str = ""
    """The command line that reproduces it."""

    def to_json(self) -> Row:
        """Return the entry as JSON data, keys in a fixed order."""
        return {"finding": FORMAT, **records.row_of(self)}


class Manifest(TypedDict):
    """The options of a campaign: `manifest.json`."""

    campaign: Literal[1]
    id: str
    kind: Literal["codec", "live"]
    oracle: str
    promise: NotRequired[str]
    targets: list[str]
    layers: NotRequired[list[str]]
    seed: int
    seconds: float
    jobs: Annotated[int, Meta(ge=1)]
    mutators: NotRequired[Literal["structure", "bytes"]]
    seeds: NotRequired[int]
    versions: dict[str, str]
    command: str
    began: Annotated[str, Meta(description="UTC, ISO 8601")]


Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]


class CampaignEvent(TypedDict):
    """One line of `events.jsonl`. Its optional fields depend on the kind of the event."""

    event: Literal["begin", "progress", "finding", "restart", "merge", "end"]
    seconds: Amount
    inputs: NotRequired[Count]
    edges: NotRequired[Count]
    features: NotRequired[Count]
    corpus: NotRequired[Count]
    findings: NotRequired[Count]
    rate: NotRequired[Amount]
    worker: NotRequired[Count]
    id: NotRequired[str]
    signature: NotRequired[str]
    why: NotRequired[str]
    seen: NotRequired[str]
    before: NotRequired[Count]
    after: NotRequired[Count]
    exit: NotRequired[int]


def schemas() -> dict[str, Row]:
    """Return the JSON schemas of a campaign's files, by the schema's file name."""
    finding = records.schema_of(FindingRow, constants={"finding": FORMAT})
    ledger = {
        "type": "object",
        "required": ["ledger", "findings"],
        "additionalProperties": False,
        "properties": {"ledger": {"const": FORMAT}, "findings": {"type": "array", "items": finding}},
    }
    titled = {
        "manifest": ("What a fuzzing campaign was told", records.schema_of(Manifest)),
        "event": ("One line of a campaign's events", records.schema_of(CampaignEvent) | {"additionalProperties": True}),
        "finding": ("One finding of a fuzzing campaign", finding),
        "ledger": ("Every finding of a campaign's folder", ledger),
    }
    return {
        f"campaign-{name}.schema.json": records.with_title(title, schema) for name, (title, schema) in titled.items()
    }


def finding_of(row: object, path: Path | str = "finding") -> FindingRow:
    """Return the finding that a JSON object describes. Raises FileFault if the object does not match the schema."""
    _check("finding", row, path)
    return records.read_from(path, FindingRow, row)


@cache
def _checker(name: str) -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(schemas()[f"campaign-{name}.schema.json"])


def _check(name: str, value: object, path: Path | str, line: int | None = None) -> None:
    fault = next(_checker(name).iter_errors(value), None)
    if fault is not None:
        where = ".".join(map(str, fault.absolute_path))
        raise FileFault(path, line, f"{where or 'the whole'}: {fault.message[:160]}")


def _text(path: Path) -> str:
    try:
        return regular(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as why:
        raise unreadable(path, why) from why


def _document(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except (ValueError, RecursionError) as why:
        raise FileFault(path, None, f"cannot be read as JSON: {why}") from why


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write `manifest.json` into the campaign's folder. Raises FileFault if the manifest does not match its schema."""
    told = {"campaign": FORMAT, **manifest}
    _check("manifest", told, folder / MANIFEST)
    _replace(folder / MANIFEST, told)


def read_manifest(folder: Path) -> Manifest:
    """Read `manifest.json` of a campaign's folder. Raises FileFault."""
    told = _document(folder / MANIFEST)
    _check("manifest", told, folder / MANIFEST)
    return records.read_from(folder / MANIFEST, Manifest, told)


def kind_of(folder: Path) -> str | None:
    """What a campaign's folder says it is of; None where it has no manifest, or one that says nothing. Raises FileFault."""
    told = _document(folder / MANIFEST) if (folder / MANIFEST).is_file() else None
    return told.get("kind") if isinstance(told, dict) else None


def add_event(folder: Path, kind: str, seconds: float, facts: Mapping[str, Any]) -> None:
    """Append one event to `events.jsonl`; `seconds` since the run began."""
    line = json.dumps({"event": kind, "seconds": round(seconds, 3), **facts})
    with (folder / EVENTS).open("a", encoding="utf-8") as out:
        out.write(line + "\n")


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the events, oldest first; skip a last line that was cut off. Raises FileFault with the line."""
    path = folder / EVENTS
    lines = _text(path).splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as why:
            if number == len(lines) and not line.endswith("\n"):
                return
            raise FileFault(path, number, f"is no JSON: {why}") from why
        _check("event", event, path, number)
        yield event


def write_ledger(folder: Path, findings: Mapping[str, FindingRow]) -> None:
    """Write `ledger.json` with all findings, in order of id."""
    _replace(folder / LEDGER, {"ledger": FORMAT, "findings": [findings[name].to_json() for name in sorted(findings)]})


def read_ledger(folder: Path) -> dict[str, FindingRow]:
    """Return the findings of `ledger.json` by id; an empty dict if there is no ledger yet. Raises FileFault."""
    path = folder / LEDGER
    if not path.exists():
        return {}
    told = _document(path)
    _check("ledger", told, path)
    rows = records.read_from(path, tuple[FindingRow, ...], told["findings"])
    return {row.id: row for row in rows}


def keep_finding(folder: Path, row: FindingRow) -> Path:
    """Write the folder of a finding; return the path of its input."""
    place = folder / FINDINGS / row.id
    place.mkdir(parents=True, exist_ok=True)
    (place / INPUT).write_bytes(bytes.fromhex(row.input))
    _replace(place / FINDING, row.to_json())
    return place / INPUT


def read_finding(place: Path) -> FindingRow:
    """Read a finding from its folder or from its `finding.json`. Raises FileFault."""
    path = place / FINDING if place.is_dir() else place
    return finding_of(_document(path) if path.exists() else {}, path)


def _replace(path: Path, told: Mapping[str, Any]) -> None:
    """Write a JSON file by renaming a temporary one, so that a reader gets the old or the new content, never a part."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(path)
