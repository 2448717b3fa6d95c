"""Schemas are derived from records; they accept and refuse what those that 04063a9 published did."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import pytest

from zenoh_harness.files import published

KEPT = Path(__file__).with_name("kept")
OLD = {path.name: json.loads(path.read_text()) for path in (KEPT / "schemas").glob("*.json")}
HEADER = {
    "type": "header", "format": 1, "spec": "1.0.0", "harness": "0.1.0", "seed": 0, "command": "c", "profiles": ["default"],
    "target": {"reach": "r", "name": "n", "version": "1", "role": "responder", "kind": "wheel", "digest": "d"},
    "date": "2026-01-31T12:00:00Z", "run": "20260131T120000Z-0123456789ab", "facts": {"a": [1]},
}  # fmt: skip
JUDGEMENT = {
    "type": "judgement", "target": "n", "version": "1", "role": "responder", "profile": "default", "link": "tcp",
    "requirement": "a/b", "level": "MUST", "check": "c/d.E_f/g", "parameters": {"bit": "3"}, "verdict": "pass", "reading": None,
    "cause": "", "end": "fin", "attempts": 1, "embargo": False, "evidence": "e", "repeat": "", "details": {"x": {}},
}  # fmt: skip
FOOTER = {
    "type": "footer", "judged": 1, "verdicts": {"pass": 1}, "exit": 4, "pending": ["p"], "embargoed": 0, "why": "",
}  # fmt: skip
FINDING = {
    "finding": 1, "id": "0123456789ab", "oracle": "o", "rule": "r", "signature": "s", "why": "w", "input": "00ff",
    "sides": [{"name": "n", "verdict": "v", "told": "t"}], "versions": {"a": "1"}, "targets": ["t"], "grave": False, "embargo": False,
    "standing": "new", "count": 1, "segments": [["p", "00", ""]], "explanation": ["l"], "repeat": "c",
}  # fmt: skip
MANIFEST = {
    "campaign": 1, "id": "i", "kind": "codec", "oracle": "o", "promise": "p", "targets": ["t"], "layers": ["l"], "seed": 1,
    "seconds": 1.5, "jobs": 1, "mutators": "bytes", "seeds": 3, "versions": {"a": "1"}, "command": "c", "began": "2026-01-31",
}  # fmt: skip
EVENT = {
    "event": "begin", "seconds": 0.5, "inputs": 1, "edges": 1, "features": 1, "corpus": 1, "findings": 1, "rate": 0.5, "worker": 1,
    "id": "i", "signature": "s", "why": "w", "seen": "x", "before": 1, "after": 1, "exit": -1,
}  # fmt: skip
PROBE = {
    "probe": 1, "target": {"reach": "r", "name": "n", "version": "1", "role": "router", "side": "responder"},
    "capabilities": ["qos"], "claimed": ["qos"], "missing": [],
    "profiles": {"default": {"seen": {"lease": 1}, "capabilities": ["qos"]}},
}  # fmt: skip
SAMPLES = {
    "results.schema.json": [HEADER, {"type": "plan", "checks": ["c"]}, JUDGEMENT, FOOTER],
    "probe.schema.json": [PROBE],
    "campaign-finding.schema.json": [FINDING],
    "campaign-ledger.schema.json": [{"ledger": 1, "findings": [FINDING]}],
    "campaign-manifest.schema.json": [MANIFEST],
    "campaign-event.schema.json": [EVENT],
}
VALUES = (
    None,
    True,
    -1,
    0,
    1,
    2.5,
    "",
    "x",
    "a/b",
    "fail",
    "LAYOUT",
    [],
    ["x", "x"],
    [""],
    [1],
    {},
    {"a": 1},
    {"a": "b"},
)
VERDICTS = [
    {**JUDGEMENT, "verdict": verdict}
    for verdict in OLD["results.schema.json"]["oneOf"][2]["properties"]["verdict"]["enum"]
]


def bent(value):
    """Every document that differs from this one in one place: a field less, one more, or another value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        for other in (*VALUES, *bent(inner)):
            changed = copy.copy(value)
            changed[key] = other
            yield changed
        yield (
            {k: v for k, v in value.items() if k != key} if isinstance(value, dict) else value[:key] + value[key + 1 :]
        )
    if isinstance(value, dict):
        yield {**value, "another": 1}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_derived_schema_accepts_and_refuses_what_the_published_one_did(name):
    old, new = (jsonschema.Draft202012Validator(schema[name]) for schema in (OLD, published.schemas()))
    new.check_schema(new.schema)
    for sample in (*SAMPLES[name], *(VERDICTS if name == "results.schema.json" else ())):
        assert old.is_valid(sample) and new.is_valid(sample), sample
        for document in bent(sample):
            assert old.is_valid(document) is new.is_valid(document), document


def test_every_old_schema_is_compared_and_every_derived_one_is_the_file_that_ships():
    assert published.schemas().keys() == OLD.keys() == SAMPLES.keys()
    for name, schema in published.schemas().items():
        shipped = (published.FOLDER / name).read_text()
        assert shipped == published.text(schema), "python -m zenoh_harness.files.published writes them again"
