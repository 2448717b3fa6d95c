"""JUnit and SARIF: every verdict has its place, what a target says is made harmless, embargo is a count."""

from xml.etree import ElementTree as ET

import pytest

from zenoh_conformance.verdict import Judgement, Key, Verdict
from zenoh_harness.files import junit, sarif
from zenoh_harness.files.results import Footer, Header, Results

EVIL = 'a\x00b\x1b[2J<script>"&\ud800'


def judgement(verdict, **more):
    key = Key(target="t", version="1", role="responder", profile="default", link="tcp",
              requirement="session-establishment/cookie-echo", check=f"x/{verdict.value}", parameters=(("bit", "3"),))  # fmt: skip
    return Judgement(key=key, level="MUST", verdict=verdict, cause=EVIL, **more)


@pytest.fixture
def everything():
    header = Header(reach="wheel:1", name="t" + EVIL, version="1", role="responder", kind="wheel")
    footer = Footer(judged=1, verdicts={}, exit=1, pending=("responder default x/late",), embargoed=2)
    known = {"known": {"reason": "it is so"}}
    judgements = [judgement(verdict, details=known if verdict is Verdict.KNOWN else {}) for verdict in Verdict]
    return Results(header, (), judgements, footer)


def test_junit_counts_each_verdict_where_it_belongs(everything, tmp_path):
    junit.write([everything], tmp_path / "j.xml")
    suite = ET.parse(tmp_path / "j.xml").getroot().find("testsuite")  # noqa: S314  our own file
    counts = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": 15, "failures": 6, "errors": 2, "skipped": 3}
    assert {one.get("value") for one in suite.iter("property") if one.get("name") == "embargoed"} == {"2"}
    assert "\\x1b[2J<script>" in next(suite.iter("failure")).get("message")


def test_strict_makes_failures_of_warnings(everything):
    assert junit.suite(everything, strict=True).get("failures") == "8"


def test_same_results_same_bytes(everything, tmp_path):
    for name in ("a", "b"):
        junit.write([everything], tmp_path / name)
        everything.header = everything.header
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_sarif_tells_deviations_under_their_requirements(everything, tmp_path):
    run = sarif.document([everything])["runs"][0]
    levels = {one["properties"]["verdict"]: one["level"] for one in run["results"]}
    assert levels == {
        "fail": "error", "crash": "error", "hang": "error", "zombie": "error", "panic": "error", "flaky": "error", "warn": "warning",
        "slow": "warning", "known": "note",
        **dict.fromkeys(("error", "not-applicable", "not-observed", "unimplemented"), "none"),
    }  # fmt: skip
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["session-establishment/cookie-echo"]
    known = next(one for one in run["results"] if one["properties"]["verdict"] == "known")
    assert known["suppressions"][0]["justification"] == "it is so"
    assert run["properties"]["embargoed"] == 2
    [invocation] = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 1)
    [note] = invocation["toolExecutionNotifications"]
    assert "1 planned checks were not judged" in note["message"]["text"]
