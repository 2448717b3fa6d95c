"""Write results as complete SARIF 2.1.0: requirements are rules; findings are results, then judgements, with a SARIF kind.

Judgements that share a cause are one result, with the places in which it shows; all others but `pass` are one each.

Code hosts ignore kinds and suppressions; `code_scanning.py` writes what they show. The output contains neither date nor host
name. The identity of a result (`partialFingerprints`) consists of target, role, profile, link, requirement and check with its
parameters. It does not include the version: the same deviation in the next version is the same alert.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from zenoh_conformance.cases.faults import TargetFault, faults
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.spec.requirement import Requirement, requirements
from zenoh_conformance.spec.specification import PUBLISHED, REVISION, pages
from zenoh_harness.files import indented_json
from zenoh_harness.files.results import Results, check_label

MOST_TEXT: Final = 1000
"""The most characters of each part of a message."""
MOST_RELATED: Final = 100
"""The most related locations of a result."""


def write(results: Iterable[Results], path: Path) -> None:
    """Write the file, with one SARIF run for each target. Raises OSError."""
    path.write_text(text(results), encoding="utf-8")


def text(results: Iterable[Results]) -> str:
    """Return the text of the file."""
    return indented_json.text(document(results), 4)


def document(results: Iterable[Results]) -> dict[str, Any]:
    """Return the SARIF document as JSON data."""
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run(one) for one in results],
    }


def run(results: Results) -> dict[str, Any]:
    """Return the SARIF run of one target."""
    shown = [one for one in results.judgements if one.verdict is not Verdict.PASS and not one.embargo]
    findings = faults(shown)
    folded = {id(one) for fault in findings for one in fault.judgements}
    others = [one for one in shown if id(one) not in folded]
    broken = {fault.requirement for fault in findings} | {one.key.requirement for one in others}
    rules = {ident: number for number, ident in enumerate(sorted(broken))}
    header = results.header
    return {
        "tool": tool(results, rules),
        "automationDetails": {"id": category(header.name)},
        "invocations": [invocation(results)],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "target": header.name, "version": header.version, "reach": header.reach, "spec": header.spec,
            "embargoed": results.footer.embargoed if results.footer else 0,
        },
        "results": [
            *(result_of_finding(fault, rules[fault.requirement]) for fault in findings),
            *(result(one, rules[one.key.requirement]) for one in others),
        ],
    }  # fmt: skip


def tool(results: Results, rules: Iterable[str]) -> dict[str, Any]:
    """Return the SARIF tool, with one rule for each requirement of `rules`."""
    return {
        "driver": {
            "name": "zenoh-conformance",
            "version": results.header.harness,
            "informationUri": "https://zenoh.io",
            "rules": [rule(ident) for ident in rules],
        }
    }


def category(name: str) -> str:
    """Return the id of all runs of one target; a code host calls it the category."""
    return f"zenoh-conformance/{_word(name)}/"


def invocation(results: Results) -> dict[str, Any]:
    """Return the SARIF invocation: command, exit code, and why the run is incomplete."""
    made: dict[str, Any] = {"executionSuccessful": results.complete}
    if results.header.command:
        made["commandLine"] = results.header.command
    if results.footer is not None:
        made["exitCode"] = results.footer.exit
    if not results.complete:
        why = results.footer.why if results.footer and results.footer.why else "the run ended before it could say how"
        message = f"{why}; {len(results.pending)} planned checks were not judged"
        made["toolExecutionNotifications"] = [{"level": "error", "message": {"text": message}}]
    return made


def rule(ident: str) -> dict[str, Any]:
    """Return the SARIF rule of a requirement, with a link to its section of the specification."""
    known: Requirement | None = requirements().get(ident)
    if known is None:
        return {"id": ident, "name": _camel(ident), "shortDescription": {"text": ident}}
    page = pages().get(known.ref[0].partition("#")[0])
    loud = "error" if known.level.startswith("MUST") or known.level == "LAYOUT" else "warning"
    return {
        "id": ident,
        "name": _camel(ident),
        "shortDescription": {"text": known.says},
        "fullDescription": {"text": f"{known.says} ({known.level}, binds {known.binds}; {', '.join(known.ref)})"},
        "help": {"text": f"{known.says} The text stands in {known.ref[0]} of the specification, revision {REVISION}."},
        **({"helpUri": f"{PUBLISHED}{page.place}/"} if page else {}),
        "defaultConfiguration": {"level": loud},
        "properties": {"level": str(known.level), "ref": list(known.ref), "tags": [known.page, str(known.level)]},
    }


def result(judgement: Judgement, index: int) -> dict[str, Any]:
    """Return the SARIF result of a judgement; its location is the evidence, since no source file is known."""
    key = judgement.key
    label = check_label(key.check, key.parameters)
    message = f"{judgement.verdict.value}: {judgement.cause}".removesuffix(": ")
    made: dict[str, Any] = {
        "ruleId": key.requirement,
        "ruleIndex": index,
        "kind": _kind(judgement.verdict),
        "level": _level(judgement.verdict),
        "message": {"text": f"{message[:MOST_TEXT]} ({label[:MOST_TEXT]})"},
        "locations": [_location(judgement, label)],
        "partialFingerprints": {"judgement/v1": fingerprint(judgement)},
        "properties": {
            "verdict": judgement.verdict.value, "level": judgement.level, "version": key.version, "end": judgement.end,
            "repeat": judgement.repeat, "parameters": dict(key.parameters),
        },
    }  # fmt: skip
    if judgement.verdict is Verdict.KNOWN:
        made["suppressions"] = [{"kind": "external", "status": "accepted", "justification": _reason(judgement.details)}]
    return made


def result_of_finding(fault: TargetFault, index: int) -> dict[str, Any]:
    """Return the SARIF result of a finding: that of its first judgement, with all places."""
    made = result(fault.first, index)
    others = related_locations(fault.judgements, lambda one: _location(one, "")["physicalLocation"])
    return made | {
        "ruleId": fault.requirement,
        **({"relatedLocations": others} if others else {}),
        "properties": {**made["properties"], "rate": fault.rate, "places": [_place(one) for one in fault.judgements]},
    }


def _place(judgement: Judgement) -> dict[str, Any]:
    """Return what the result of a single judgement would say."""
    key = judgement.key
    return {
        "requirement": key.requirement, "check": key.check, "role": key.role, "profile": key.profile,
        "parameters": dict(key.parameters), "verdict": judgement.verdict.value, "level": judgement.level,
        "cause": judgement.cause, "end": judgement.end, "repeat": judgement.repeat, "evidence": judgement.evidence,
        "fingerprint": fingerprint(judgement),
    }  # fmt: skip


def places(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Return one judgement for each role and check, in order."""
    seen: dict[tuple[str, str], Judgement] = {}
    for one in judgements:
        seen.setdefault((one.key.role, one.key.check), one)
    return list(seen.values())


def related_locations(
    judgements: Sequence[Judgement], physical: Callable[[Judgement], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the other checks in which the finding of the first judgement shows, as related locations."""
    return [
        {
            "id": number,
            "physicalLocation": physical(one),
            "message": {
                "text": f"{one.verdict.value}: {one.cause}"[:MOST_TEXT] + f" ({one.key.check}; {one.key.role})"
            },
        }
        for number, one in enumerate(places(judgements)[1 : 1 + MOST_RELATED], 1)
    ]


def _level(verdict: Verdict) -> str:
    if verdict.is_red():
        return "error"
    return "warning" if verdict.is_minor else "note" if verdict is Verdict.KNOWN else "none"


def _kind(verdict: Verdict) -> str:
    if verdict.says_nothing:
        return "informational" if verdict is Verdict.NOT_OBSERVED else "notApplicable"
    return "review" if verdict.is_ours else "fail"


def _location(judgement: Judgement, label: str) -> dict[str, Any]:
    """Return a location with file and line, which code hosts need to show a result: the evidence or the results file."""
    key = judgement.key
    place = quote(judgement.evidence or "results.jsonl")
    return {
        "physicalLocation": {"artifactLocation": {"uri": place}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": f"{key.role}/{key.profile}/{label}", "kind": "function"}],
    }


def fingerprint(judgement: Judgement) -> str:
    """Return a digest that identifies the judgement across versions of the target and across runs."""
    key = judgement.key
    label = check_label(key.check, key.parameters)
    words = json.dumps([key.target, key.role, key.profile, key.link, key.requirement, label])
    return sha256(words.encode()).hexdigest()[:32]


def _reason(details: Mapping[str, Any]) -> str:
    known = details.get("known")
    return str(known.get("reason", "listed")) if isinstance(known, dict) else "listed"


def _camel(ident: str) -> str:
    return "".join(word.capitalize() for word in _word(ident).split("-"))


def _word(text: str) -> str:
    return "-".join("".join(char if char.isascii() and char.isalnum() else " " for char in text).split()) or "unnamed"
