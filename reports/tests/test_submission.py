"""Submissions: a sealed one is complete; each thing that it may lack, or lie about, is told; two make one site."""

from __future__ import annotations

import json

import pytest

from zenoh_harness.cli import main
from zenoh_harness.errors import UsageError
from zenoh_reports.submission import ATTESTATION, faults, seal

ABOUT = {
    "submission": 1,
    "implementation": {
        "homepage": "https://example.org/node", "language": "C", "licence": "MIT", "system": "Debian 12, x86_64", "commit": "0123abcd",
    },
    "date": "2026-11-22",
    "reproduce": ["git clone https://example.org/node", "zconform run exec:./node --out results"],
}  # fmt: skip


@pytest.fixture
def submission(make_run):
    folder = make_run("theirs", "believes-any-cookie", name="theirs")
    (folder / "submission.json").write_text(json.dumps(ABOUT))
    seal(folder)
    return folder


def test_a_sealed_one_is_complete(submission):
    assert list(faults(submission)) == []
    stated = json.loads((submission / ATTESTATION).read_text())
    assert stated["_type"] == "https://in-toto.io/Statement/v1"
    assert {one["name"] for one in stated["subject"]} >= {"results.jsonl"}
    assert stated["predicate"]["result"] == "FAILED"


def test_results_that_were_changed_are_told(submission):
    file = submission / "results.jsonl"
    file.write_text(file.read_text().replace('"fail"', '"pass"'))
    assert any("does not have the digest" in line for line in faults(submission))


def test_evidence_that_is_gone_or_new_is_told(submission):
    gone = next(iter((submission / "evidence").glob("*.jsonl")))
    gone.unlink()
    (submission / "evidence" / "new.jsonl").write_text("")
    told = "\n".join(faults(submission))
    assert "is listed but missing" in told
    assert "is named as evidence but missing" in told
    assert "new.jsonl: has no digest" in told


@pytest.mark.parametrize("name", ["homepage", "language", "licence", "system", "commit"])
def test_each_fact_of_the_implementation_is_required(submission, name):
    file = submission / "submission.json"
    about = json.loads(file.read_text())
    del about["implementation"][name]
    file.write_text(json.dumps(about))
    assert any(name in line for line in faults(submission))


def test_a_statement_about_other_files_is_told(submission):
    file = submission / ATTESTATION
    stated = json.loads(file.read_text())
    stated["predicate"]["result"] = "PASSED"
    file.write_text(json.dumps(stated))
    assert any("predicate does not match" in line for line in faults(submission))


def test_an_incomplete_run_is_no_submission(make_run):
    folder = make_run("cut", footer=False)
    (folder / "submission.json").write_text(json.dumps(ABOUT))
    seal(folder)
    assert any("incomplete" in line for line in faults(folder))


def test_what_comes_next_is_told(make_run):
    folder = make_run("mine")
    assert [line for line in faults(folder) if "submission.json is missing: write it" in line]
    (folder / "submission.json").write_text(json.dumps(ABOUT))
    assert list(faults(folder)) == [
        "mine: submission.json contains no digests: `zconform report mine --seal` writes them"
    ]


def test_without_its_facts_there_is_nothing_to_seal(make_run):
    with pytest.raises(UsageError, match=r"has no submission\.json"):
        seal(make_run("bare"))


def test_the_command_checks_and_merges(submission, make_run, tmp_path, capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["report", *map(str, arguments)])
        return left.value.code

    assert run(submission, "--check") == 0
    assert run(submission, "--seal") == 0
    assert run(make_run("ours", name="ours"), "--check") == 1
    assert "submission.json" in capsys.readouterr().out
    assert run(submission, make_run("ours2", name="ours"), "--out", tmp_path / "site") == 0
    page = (tmp_path / "site" / "implementation" / "theirs.html").read_text()
    assert "https://example.org/node" in page
    assert "2026-11-22" in (tmp_path / "site" / "index.html").read_text()
