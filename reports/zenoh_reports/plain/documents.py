"""What is not a run and has a place on the site: probes, learned automata, campaigns, audits. Small JSON documents.

Campaign folders and what `zconform audit --format json` prints are taken as they are (`arrivals`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final

from zenoh_harness.errors import UsageError
from zenoh_harness.files.campaigns import MANIFEST
from zenoh_harness.files.faults import FileFault, regular

FINDINGS: Final = "findings.jsonl"
"""What `zconform audit --out` of earlier versions wrote alone; later ones write `audit.json` beside it."""
KINDS: Final = ("probe", "learned", "campaign", "audit")
TAKES: Final = f"they are {', '.join(KINDS)}, beside results.jsonl of a run"
"""The documents that a report takes besides results; `schemas/` describes the last three."""
SCHEMA: Final = ".schema.json"
"""How the files end that an earlier report wrote beside its pages, to describe these documents."""


@dataclass(slots=True)
class Documents:
    """All that was given, by kind, in the order of their names."""

    probe: list[dict[str, Any]] = field(default_factory=list)
    learned: list[dict[str, Any]] = field(default_factory=list)
    campaign: list[dict[str, Any]] = field(default_factory=list)
    audit: list[dict[str, Any]] = field(default_factory=list)


def found(places: Iterable[Path]) -> list[Path]:
    """Every document that the arguments name: a JSON file itself, or those of a folder that tell their kind by their name."""
    files: dict[Path, Path] = {}
    names = (*(f"{kind}*.json" for kind in KINDS), MANIFEST, FINDINGS)
    for place in places:
        inside = [file for name in names for file in sorted(place.rglob(name))] if place.is_dir() else [place]
        for file in inside:
            if (file.suffix == ".json" and not file.name.endswith(SCHEMA)) or _is_audit_alone(file):
                files.setdefault(file.resolve(), file)
    return [files[key] for key in sorted(files)]


def _is_audit_alone(file: Path) -> bool:
    return file.name == FINDINGS and not file.with_name("audit.json").exists()


def load(files: Iterable[Path]) -> Documents:
    """Read and check each. Raises FileFault for what is none of them."""
    documents = Documents()
    for file in files:
        from zenoh_reports.plain import arrivals  # most reports have no documents, and need not wait

        for document in (arrivals.campaign(file),) if file.name == MANIFEST else converted(file):
            kind = kind_of(file, document)
            getattr(documents, kind).append(document)
    return documents


def converted(file: Path) -> list[dict[str, Any]]:
    """The documents in a file: itself, or those that follow from what `zconform audit` printed. Raises FileFault."""
    from zenoh_reports.plain import arrivals

    if file.name == FINDINGS:
        return arrivals.audit(arrivals.sources_of(file, file.read_text(encoding="utf-8").splitlines()))
    found = parsed(file)
    try:
        if arrivals.is_audit(found):
            return arrivals.audit(found)
        if isinstance(found, dict) and found.keys() >= arrivals.TABLES:
            return [arrivals.of_tables(found)]
    except (KeyError, TypeError, ValueError, AttributeError) as why:
        raise FileFault(file, None, f"is not what `zconform audit` writes: {why!r:.200}") from why
    return [read(file)]


def parsed(file: Path) -> Any:
    """What a JSON file holds. Raises FileFault."""
    try:
        return json.loads(regular(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as why:
        raise FileFault(file, None, f"is no JSON: {why}", hint=TAKES) from why


def read(file: Path) -> dict[str, Any]:
    """One JSON object. Raises FileFault."""
    document = parsed(file)
    if not isinstance(document, dict):
        raise FileFault(file, None, f"expected an object, found {type(document).__name__}", hint=TAKES)
    return document


def kind_of(file: Path, document: dict[str, Any]) -> str:
    """Which of `KINDS` it is. Raises FileFault where it is none, or not as its schema says."""
    kind = "learned" if "targets" in document and "learned" not in document else ""
    kind = kind or next((name for name in KINDS if name in document), "")
    if not kind:
        raise FileFault(file, None, "is none of the documents that a report takes", hint=TAKES)
    if kind != "probe":
        check(file, document, kind)
    return kind


def check(file: Path, document: dict[str, Any], kind: str) -> None:
    """Hold a document to its schema. Raises FileFault with the place of the first fault."""
    import jsonschema  # a tenth of a second that most reports need not wait

    fault = jsonschema.Draft202012Validator(schema(kind)).iter_errors(document)
    first = next(iter(sorted(fault, key=lambda each: list(map(str, each.absolute_path)))), None)
    if first is not None:
        where = "/".join(map(str, first.absolute_path)) or "the document"
        raise FileFault(file, None, f"{where}: {first.message:.200}")


def schema(name: str) -> dict[str, Any]:
    """A published schema of this room. Raises UsageError for a name that has none."""
    file = resources.files("zenoh_reports").joinpath("schemas", f"{name}.schema.json")
    if not file.is_file():
        raise UsageError(f"there is no schema {name!r}", step="report")
    found_one: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found_one
