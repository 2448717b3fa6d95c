"""What SARIF 2.1.0 and GitHub's code scanning ask of a file, as far as ours uses them.

The schema is closed: a property that the standard does not name, and one that it names and we do not use, fail alike.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema

LIMITS = {
    "runs": 20,
    "results": 25_000,
    "shown": 5_000,
    "rules": 25_000,
    "tags": 20,
    "locations": 1_000,
    "related": 100,
}
"""GitHub Docs, "SARIF results exceed one or more limits"; the size of a file is 10 MB in gzip."""
SIZE = 10_000_000


def closed(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": required.split(), "additionalProperties": False,
    }  # fmt: skip


def many(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


TEXT = {"type": "string"}
BAG = {"type": "object"}
WORDS = closed("text", text={"type": "string", "minLength": 1})
NUMBER = {"type": "integer", "minimum": 0}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
KIND = {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]}
RULE = closed(
    "id", id=TEXT, name=TEXT, shortDescription=WORDS, fullDescription=WORDS, help=WORDS,
    helpUri={"type": "string", "pattern": "^https://"}, defaultConfiguration=closed("level", level=LEVEL), properties=BAG,
)  # fmt: skip
LOCATION = closed(
    "physicalLocation",
    physicalLocation=closed(
        "artifactLocation region",
        artifactLocation=closed("uri", uri={"type": "string", "pattern": r"^[^\s\\]+$"}),
        region=closed("startLine", startLine={"type": "integer", "minimum": 1}),
    ),
    logicalLocations=many(closed("fullyQualifiedName kind", fullyQualifiedName=TEXT, kind=TEXT)),
)
RELATED = {
    **LOCATION,
    "required": ["id", "physicalLocation", "message"],
    "properties": {**LOCATION["properties"], "id": NUMBER, "message": WORDS},
}
RESULT = closed(
    "ruleId ruleIndex level message locations partialFingerprints", ruleId=TEXT, ruleIndex=NUMBER, kind=KIND, level=LEVEL,
    message=WORDS, locations={**many(LOCATION), "minItems": 1},
    relatedLocations={**many(RELATED), "minItems": 1, "uniqueItems": True},
    partialFingerprints={"type": "object", "additionalProperties": TEXT, "minProperties": 1}, properties=BAG,
    suppressions=many(
        closed("kind", kind={"enum": ["inSource", "external"]}, status={"enum": ["accepted"]}, justification=TEXT)
    ),
)  # fmt: skip
INVOCATION = closed(
    "executionSuccessful", executionSuccessful={"type": "boolean"}, commandLine=TEXT, exitCode={"type": "integer"},
    toolExecutionNotifications=many(closed("message", level=LEVEL, message=WORDS)),
)  # fmt: skip
RUN = closed(
    "tool results automationDetails", tool=closed("driver", driver=closed(
        "name", name=TEXT, version=TEXT, informationUri=TEXT, rules=many(RULE))),
    automationDetails=closed("id", id={"type": "string", "pattern": "^[^ ]+/$"}), invocations=many(INVOCATION),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]}, properties=BAG, results=many(RESULT),
)  # fmt: skip
SCHEMA = closed("version runs", **{"$schema": TEXT, "version": {"const": "2.1.0"}, "runs": many(RUN)})


def check_form(document: dict[str, Any]) -> None:
    """Assert the form of the standard, and that each result names its rule."""
    jsonschema.validate(document, SCHEMA)
    for run in document["runs"]:
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(set(rules)) == len(rules)
        for result in run["results"]:
            assert rules[result["ruleIndex"]] == result["ruleId"]


def check_for_hosts(file: Path, repository: Path) -> dict[str, Any]:
    """Assert form and limits, one category a run, and a location of each result that exists; return the document."""
    data = file.read_bytes()
    assert len(gzip.compress(data)) < SIZE
    document: dict[str, Any] = json.loads(data)
    check_form(document)
    runs = document["runs"]
    assert len(runs) <= LIMITS["runs"]
    assert len({run["automationDetails"]["id"] for run in runs}) == len(runs)
    for run in runs:
        rules = run["tool"]["driver"]["rules"]
        assert len(run["results"]) <= LIMITS["shown"]
        assert len(rules) <= LIMITS["rules"]
        assert all(len(rule["properties"]["tags"]) <= LIMITS["tags"] for rule in rules if "properties" in rule)
        for result in run["results"]:
            check_result(result, repository)
        marks = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
        assert len(set(marks)) == len(marks)
    return document


def check_result(result: dict[str, Any], repository: Path) -> None:
    """Assert that a host opens an alert for this result alone, at a line that exists."""
    assert "suppressions" not in result, "code scanning opens an alert for what is suppressed"
    assert result.get("kind", "fail") == "fail", "code scanning opens an alert for every kind"
    assert len(result["locations"]) <= LIMITS["locations"]
    assert len(result.get("relatedLocations", ())) <= LIMITS["related"]
    for located in (*result["locations"], *result.get("relatedLocations", ())):
        _check_line(located["physicalLocation"], repository)


def _check_line(place: dict[str, Any], repository: Path) -> None:
    lines = (repository / unquote(place["artifactLocation"]["uri"])).read_text(encoding="utf-8").splitlines()
    assert 1 <= place["region"]["startLine"] <= max(1, len(lines))
