"""SARIF 2.1.0 from results: requirements are the rules, deviations the results. No clock, no host."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from zenoh_conformance.requirement import Requirement, requirements
from zenoh_conformance.verdict import Judgement, Verdict
from zenoh_harness.files.results import Results, check_label

_LEVELS: Final = {
    Verdict.FAIL: "error", Verdict.CRASH: "error", Verdict.HANG: "error", Verdict.ZOMBIE: "error", Verdict.FLAKY: "error",
    Verdict.WARN: "warning", Verdict.SLOW: "warning", Verdict.KNOWN: "note",
}  # fmt: skip
"""Verdicts that are told, and how loud."""


def write(results: Iterable[Results], path: Path) -> None:
    """Write the file, one SARIF run a target."""
    path.write_text(json.dumps(document(results), indent=2, ensure_ascii=True) + "\n", encoding="utf-8")


def document(results: Iterable[Results]) -> dict[str, Any]:
    """The whole document."""
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run(one) for one in results],
    }


def run(results: Results) -> dict[str, Any]:
    """One target."""
    text = [one for one in results.judgements if one.verdict in _LEVELS]
    rules = sorted({one.key.requirement for one in text})
    embargoed = results.footer.embargoed if results.footer else 0
    return {
        "tool": {
            "driver": {
                "name": "zenoh-conformance",
                "version": results.header.harness,
                "rules": [rule(r) for r in rules],
            }
        },
        "invocations": [{"executionSuccessful": results.complete}],
        "properties": {"target": results.header.name, "version": results.header.version, "embargoed": embargoed},
        "results": [result(one, rules.index(one.key.requirement)) for one in text],
    }


def rule(ident: str) -> dict[str, Any]:
    """One requirement."""
    known: Requirement | None = requirements().get(ident)
    says = known.says if known else ident
    properties = {"level": str(known.level), "ref": list(known.ref)} if known else {}
    return {"id": ident, "shortDescription": {"text": says}, "properties": properties}


def result(judgement: Judgement, index: int) -> dict[str, Any]:
    """One deviation; its place is the evidence, since no line of a source file is."""
    key = judgement.key
    label = check_label(key.check, key.parameters)
    text = f"{judgement.verdict.value}: {judgement.cause}".removesuffix(": ")
    place = judgement.evidence or "results.jsonl"
    made: dict[str, Any] = {
        "ruleId": key.requirement,
        "ruleIndex": index,
        "level": _LEVELS[judgement.verdict],
        "message": {"text": f"{text} ({label})"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": _uri(place)}},
                "logicalLocations": [{"fullyQualifiedName": f"{key.role}/{key.profile}/{label}"}],
            }
        ],
        "partialFingerprints": {"judgement/v1": f"{key.target} {key.role} {key.profile} {key.requirement} {label}"},
        "properties": {"verdict": judgement.verdict.value, "end": judgement.end, "repeat": judgement.repeat},
    }
    if judgement.verdict is Verdict.KNOWN:
        reason = str(dict(judgement.details).get("known", {}).get("reason", "listed"))
        made["suppressions"] = [{"kind": "external", "justification": reason}]
    return made


def _uri(path: str) -> str:
    return quote(path)
