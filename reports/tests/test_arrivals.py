"""What other commands write becomes documents that their schemas allow; what is under embargo becomes a number."""

from __future__ import annotations

import json

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_harness.auditing import judge_file
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import provoke
from zenoh_harness.files import conversations
from zenoh_harness.files.faults import FileFault
from zenoh_reports.pages.build import build
from zenoh_reports.pages.site import Report
from zenoh_reports.plain import documents

SECRET = "allocates-everything"
EVENTS = (
    {"event": "begin", "seconds": 0, "inputs": 0, "edges": 10},
    {"event": "progress", "seconds": 1, "inputs": 100, "edges": 50},
    {"event": "finding", "seconds": 1.5, "id": "f1", "signature": "s1", "why": "reads 65541 as 5"},
    {"event": "finding", "seconds": 1.6, "id": "f2", "signature": SECRET, "why": SECRET},
    {"event": "end", "seconds": 2, "inputs": 200, "edges": 60},
    {"event": "begin", "seconds": 0, "inputs": 0, "edges": 10},
    {"event": "end", "seconds": 2, "inputs": 300, "edges": 70},
)
LEDGER = {
    "findings": [
        {"id": "f1", "rule": "same meaning", "signature": "s1", "why": "reads 65541 as 5", "count": 7},
        {"id": "f2", "rule": "lives", "signature": SECRET, "why": SECRET, "embargo": True},
    ]
}


@pytest.fixture
def campaign(tmp_path):
    folder = tmp_path / "fuzz" / "decode"
    folder.mkdir(parents=True)
    manifest = {
        "campaign": 1, "id": "x", "kind": "codec", "oracle": "decode", "targets": ["reference"], "seed": 7, "command": "zconform fuzz",
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in EVENTS))
    (folder / "ledger.json").write_text(json.dumps(LEDGER))
    return folder


def test_a_campaign_folder_becomes_a_page(campaign):
    loaded = documents.load(documents.found([campaign.parent]))
    (one,) = loaded.campaign
    assert (one["name"], one["inputs"], one["embargoed"]) == ("codec decode", 300, 1)
    assert [each["id"] for each in one["clusters"]] == ["f1"]
    assert one["times"] == [{"name": "s1", "seconds": [1.5, None], "within": 2.0}]
    page = build(Report([], documents=loaded))["campaigns.html"].decode()
    assert "1 more under embargo" in page
    assert SECRET not in page


def test_a_campaign_of_another_format_is_refused(campaign):
    (campaign / "manifest.json").write_text('{"campaign": 99}')
    with pytest.raises(FileFault, match="format 99"):
        documents.load(documents.found([campaign]))


def test_what_audit_prints_becomes_a_page(tmp_path):
    case = all_cases()["establishment-sane/a-sane-proposal-is-answered"]
    _, scene = provoke(case, {}, all_faulty_nodes()["answers-with-version-8"].node)
    conversations.write(scene.conversation, tmp_path / "talk.jsonl")
    file = tmp_path / "said.json"
    file.write_text(json.dumps([judge_file(tmp_path / "talk.jsonl").as_json()]))
    (one,) = documents.load([file]).audit
    assert one["findings"]
    assert {rule["verdict"] for rule in one["rules"]} == {"pass", "fail"}
    page = build(Report([], documents=documents.load([file])))["audits.html"].decode()
    assert "session-establishment" in page


def test_what_audit_keeps_becomes_a_page(tmp_path):
    row = {
        "time": 2_000_000_000, "zid": "0a", "node": "10.0.0.1", "connection": "c", "requirement": "x/y", "cause": "z", "law": "law/x",
        "verdict": "fail",
    }  # fmt: skip
    told = {
        "captures": [{"path": "/somewhere/a.pcap"}], "findings": [row, row | {"time": 5_000_000_000}], "deviations": [], "left_out": [],
        "nodes": [{"zid": "0a", "node": "10.0.0.1", "says": "router"}], "messages": 3, "subjects": 2,
    }  # fmt: skip
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(told))
    (one,) = documents.load([file]).audit
    assert one["name"] == "a.pcap"
    assert [each["time"] for each in one["findings"]] == [0.0, 3.0]
    assert one["nodes"] == [{"id": "0a", "role": "router", "findings": 2}]
    file.write_text(json.dumps(told | {"findings": [{}]}))
    with pytest.raises(FileFault, match="zconform audit"):
        documents.load([file])
