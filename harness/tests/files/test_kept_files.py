"""Files that release 04063a9 wrote are read and mean the same; what is written of them again is the same data."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from zenoh_conformance.judging.verdict import Exit, Verdict
from zenoh_harness.files import campaigns, conversations, judged, known, probes, published, results, scripts
from zenoh_harness.files.known import Commits

KEPT = Path(__file__).with_name("kept")
RUNS = {"reference": ({"pass": 30}, Exit.CONFORMING), "faulty": ({"pass": 18, "fail": 2}, Exit.NOT_CONFORMING)}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", RUNS)
def test_results(name):
    read = results.read(KEPT / name)
    verdicts, code = RUNS[name]
    assert read.complete and read.footer is not None
    assert (read.footer.verdicts, read.footer.exit) == (verdicts, code)
    assert (read.header.kind, read.header.role, len(read.planned)) == (
        read.header.reach.partition(":")[0],
        "responder",
        20 if name == "faulty" else 30,
    )
    rows = [results.header_row(read.header), results.plan_row(read.planned)]
    rows += [*map(results.judgement_row, read.judgements), results.footer_row(read.footer)]
    assert json.loads(json.dumps(rows)) == lines(KEPT / name / "results.jsonl")


def test_a_deviation_its_evidence_and_its_script():
    [first, _] = [one for one in results.read(KEPT / "faulty").judgements if one.verdict is Verdict.FAIL]
    assert first.key.parameters == (("length", "255"),)
    assert first.cause.startswith("stage open: OpenAck")
    path = KEPT / "faulty" / str(first.evidence)
    assert [event.kind.value for event in conversations.read(path)].count("bytes") == 4
    assert scripts.read(path.with_suffix(".script")).steps


def test_a_campaign():
    folder = KEPT / "campaign"
    assert campaigns.read_manifest(folder) == json.loads((folder / "manifest.json").read_text())
    assert list(campaigns.read_events(folder)) == lines(folder / "events.jsonl")
    row = campaigns.read_finding(folder / "findings" / "0123456789ab")
    assert campaigns.read_ledger(folder) == {row.id: row}
    assert (row.sides[1].verdict, row.segments, row.count) == ("accepts", (("close.header", "03", ""),), 3)
    [entry] = json.loads((folder / "ledger.json").read_text())["findings"]
    assert json.loads(json.dumps(row.to_json())) == entry


def test_a_probe():
    read = probes.read(KEPT / "probe.json")
    assert (read.name, read.side, read.capabilities) == ("reference", "responder", {"patch", "qos", "routing"})
    assert json.loads(json.dumps(read.to_json())) == json.loads((KEPT / "probe.json").read_text())


def test_a_list_of_known_deviations_and_what_was_judged():
    case, died = known.read(KEPT / "listed.known.toml")
    assert (case.verdict, dict(case.parameters), str(case.versions)) == (Verdict.FAIL, {"length": "255"}, "<2,>=0.1.0")
    assert case.sometimes and str(case.expires) == "2030-01-01"
    assert died.versions == Commits(("1a2b3c4", "5d6e7f8"))
    now = judged.judged_lines(results.read(KEPT / "faulty").judgements)
    assert judged.read(KEPT / "listed.judged") == now


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("results", "reference/results.jsonl"), ("results", "faulty/results.jsonl"), ("probe", "probe.json"),
        ("campaign-event", "campaign/events.jsonl"), ("campaign-manifest", "campaign/manifest.json"),
        ("campaign-ledger", "campaign/ledger.json"), ("campaign-finding", "campaign/findings/0123456789ab/finding.json"),
    ],
)  # fmt: skip
def test_each_fits_its_schema(name, file):
    validator = jsonschema.Draft202012Validator(published.schemas()[f"{name}.schema.json"])
    path = KEPT / file
    for document in lines(path) if path.suffix == ".jsonl" else [json.loads(path.read_text())]:
        validator.validate(document)
