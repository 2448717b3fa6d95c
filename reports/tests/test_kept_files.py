"""Reports read the files that release 04063a9 wrote (`harness/tests/files/kept`)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from zenoh_reports.plain import campaigns, documents, results

KEPT = Path(__file__).parents[2] / "harness" / "tests" / "files" / "kept"


def test_results_are_rows():
    rows = list(results.rows(str(KEPT / "faulty" / "results.jsonl")))
    assert Counter(row.type for row in rows) == {"header": 1, "plan": 1, "judgement": 20, "footer": 1}
    [first, _] = [row for row in rows if row.verdict == "fail"]
    assert (first.kind, first.parameters, first.severity) == ("faulty", "length=255", 10)


def test_a_campaign_is_rows():
    rows = list(campaigns.rows(str(KEPT / "campaign")))
    assert not any(row.fault for row in rows)
    assert Counter(row.type for row in rows) == {"manifest": 1, "event": 6, "finding": 1}
    assert max(row.inputs for row in rows) > 1000
    assert (rows[-1].finding, rows[-1].standing, rows[-1].count) == ("0123456789ab", "minimised", 3)


def test_an_audit_and_a_probe_are_documents():
    found = documents.load([KEPT / "audit.json", KEPT / "probe.json"])
    [audit], [probe] = found.audit, found.probe
    assert (len(audit["rules"]), probe["capabilities"]) == (24, ["patch", "qos", "routing"])
