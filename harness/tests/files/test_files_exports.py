"""JUnit and SARIF: every verdict has its place, what a target says is made harmless, embargo is a count."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
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
    for verdict in (Verdict.WARN, Verdict.SLOW):
        assert junit.case(judgement(verdict), strict=True).find("failure") is not None
        assert junit.case(judgement(verdict)).find("failure") is None


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("strict", [False, True])
def test_junit_prints_the_cause_of_what_is_no_failure_and_not_as_required(verdict, strict):
    printed = junit.case(judgement(verdict), strict=strict).findtext("system-out", "")
    due = verdict is Verdict.KNOWN or (verdict in (Verdict.WARN, Verdict.SLOW) and not strict)
    assert printed.startswith(f"{verdict.value}: ") is due


def test_same_results_same_bytes(everything, tmp_path):
    for name in ("a", "b"):
        junit.write([everything], tmp_path / name)
        everything.header = everything.header
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_sarif_tells_deviations_under_their_requirements(everything, tmp_path):
    everything.judgements[:] = [
        replace(one, key=replace(one.key, requirement=one.key.check), cause=one.key.check)
        if one.verdict is not Verdict.FAIL
        else one
        for one in everything.judgements
    ]
    run = sarif.document([everything])["runs"][0]
    said = {one["properties"]["verdict"]: (one["kind"], one["level"]) for one in run["results"]}
    assert said == {
        "fail": ("fail", "error"), "crash": ("fail", "error"), "hang": ("fail", "error"), "zombie": ("fail", "error"),
        "panic": ("fail", "error"),
        "flaky": ("fail", "error"), "warn": ("fail", "warning"), "slow": ("fail", "warning"), "known": ("fail", "note"),
        "error": ("review", "none"), "not-observed": ("informational", "none"), "not-applicable": ("notApplicable", "none"),
        "unimplemented": ("notApplicable", "none"),
    }  # fmt: skip
    rule = next(one for one in run["tool"]["driver"]["rules"] if not one["id"].startswith("x/"))
    assert rule["id"] == "session-establishment/cookie-echo"
    assert rule["helpUri"].startswith("https://")
    known = next(one for one in run["results"] if one["properties"]["verdict"] == "known")
    assert known["suppressions"][0]["justification"] == "it is so"
    assert run["properties"]["embargoed"] == 2
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 1)
    assert "1 planned checks were not judged" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_sarif_begins_with_the_findings_and_each_has_all_its_places(everything):
    run = sarif.document([everything])["runs"][0]
    finding = next(one for one in run["results"] if one["properties"]["verdict"] == "fail")
    kept = {place["verdict"]: place["fingerprint"] for place in finding["properties"]["places"]}
    assert set(kept) == {"fail", "flaky", "slow", "warn"}
    assert finding["partialFingerprints"]["judgement/v1"] == kept["fail"]
    assert len(finding["relatedLocations"]) == 3
    alone = [one["properties"]["verdict"] for one in run["results"] if "places" not in one["properties"]]
    assert set(alone) == {"known", "not-observed", "not-applicable", "unimplemented"}


def test_sarif_places_have_a_line_and_identities_stay_from_version_to_version(everything):
    one = judgement(Verdict.FAIL, evidence="evidence/a b.jsonl")
    place = sarif.result(one, 0)["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "evidence/a%20b.jsonl"}, "region": {"startLine": 1}}
    later = replace(one, key=replace(one.key, version="2"), cause="another")
    assert sarif.fingerprint(later) == sarif.fingerprint(one)
    every = {sarif.fingerprint(each) for each in everything.judgements}
    assert len(every) == len(everything.judgements)


def test_junit_names_times_and_files(everything):
    everything.judgements.append(judgement(Verdict.FAIL, evidence="evidence/a.jsonl"))
    root = ET.fromstring(junit.text([everything], seconds=lambda one: 1.5 if one.evidence else None))  # noqa: S314  our own
    assert root.get("tests") == str(len(Verdict) + 2)
    (timed,) = [one for one in root.iter("testcase") if one.get("time")]
    assert timed.findtext("system-out") == "[[ATTACHMENT|evidence/a.jsonl]]"
    assert root.find("testsuite").get("time") == "1.500"


def test_a_run_without_a_footer_is_an_error_of_its_own(everything):
    everything.footer, everything.planned = None, ()
    assert junit.suite(everything).findall("testcase")[-1].find("error") is not None


def test_what_is_under_embargo_is_in_neither(everything):
    everything.judgements.append(judgement(Verdict.CRASH, embargo=True, end="secret"))
    assert b"secret" not in junit.text([everything])
    assert "secret" not in sarif.text([everything])
