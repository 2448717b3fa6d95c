"""SARIF for code hosts: new failures alone, at lines that exist, within the limits that GitHub publishes."""

from dataclasses import replace
from hashlib import sha256

import pytest
from sarif_rules import LIMITS, check_for_hosts, check_form, check_result

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_harness.files import code_scanning, sarif
from zenoh_harness.files.code_scanning import FileLine, Scan, alerts_of, place_in_repository
from zenoh_harness.files.results import Footer, Header, Results

CAUSE = "a cause with [a link](1) and\x1b[2J"


def judgement(verdict=Verdict.FAIL, check="x/y", **more):
    of_key = {
        name: more.pop(name) for name in ("role", "profile", "parameters", "version", "requirement") if name in more
    }
    key = Key(**{"target": "t", "version": "1", "role": "responder", "profile": "default", "link": "tcp",
                 "requirement": "session-establishment/cookie-echo", "check": check, **of_key})  # fmt: skip
    return Judgement(key=key, level="MUST", verdict=verdict, cause=CAUSE, repeat="zconform run x", **more)


def results_of(*judgements, name="t"):
    header = Header(reach="wheel:1", name=name, version="1", role="responder", kind="wheel")
    return Results(header, (), list(judgements), Footer(judged=len(judgements), verdicts={}, exit=1, embargoed=0))


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one file, as the working directory's parent."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci/my node.toml").write_text("# one\n# two\n")
    monkeypatch.chdir(tmp_path / "ci")
    return tmp_path


def written(repository, *scans):
    files = code_scanning.write(scans, repository / "gate.sarif")
    return [check_for_hosts(file, repository) for file in files]


def scan_of(repository, *judgements, name="t"):
    place = place_in_repository(repository / "ci/my node.toml", 2)
    return Scan(results_of(*judgements, name=name), alerts_of(judgements, place))


def test_what_passed_is_listed_or_says_nothing_is_no_result(repository):
    quiet = [judgement(verdict, f"x/{verdict.value}") for verdict in Verdict if not verdict.is_red()]
    (document,) = written(repository, scan_of(repository, *quiet, judgement(Verdict.CRASH, embargo=True)))
    assert [run["results"] for run in document["runs"]] == [[]]
    assert document["runs"][0]["tool"]["driver"]["rules"] == []


def test_one_finding_is_one_alert_with_its_other_places_however_often_it_shows(repository):
    shown = [
        judgement(parameters=(("bit", "3"),)), judgement(parameters=(("bit", "4"),)), judgement(profile="no-qos"),
        judgement(role="initiator"), judgement(Verdict.CRASH, check="x/z"), judgement(check="x/w", profile="no-qos"),
    ]  # fmt: skip
    (document,) = written(repository, scan_of(repository, *shown))
    crash, deviates = document["runs"][0]["results"]
    messages = [result["message"]["text"] for result in (crash, deviates)]
    assert messages[0].startswith("crash: ")
    where = "x/y; responder; profile default, no-qos; 3 of its values; and 2 other checks"
    assert f"({where}). Repeat: zconform run x" in messages[1]
    assert all("](" not in text for text in messages)
    related = [one["message"]["text"].rpartition(" (")[2] for one in deviates["relatedLocations"]]
    assert related == ["x/y; initiator)", "x/w; responder)"]
    assert "relatedLocations" not in crash


def test_two_findings_that_one_check_shows_first_are_two_alerts(repository):
    shown = [judgement(check="x/b"), judgement(Verdict.CRASH, check="x/b", profile="no-qos")]
    (document,) = written(repository, scan_of(repository, *shown))
    results = document["runs"][0]["results"]
    assert [one["message"]["text"].partition(":")[0] for one in results] == ["crash", "fail"]
    first, second = (one["partialFingerprints"]["primaryLocationLineHash"] for one in results)
    assert (first.removesuffix(":1"), second.removesuffix(":2")) == (first[:-2], first[:-2])


def test_an_alert_that_was_open_before_findings_stays_that_of_its_first_place():
    """The fingerprints of one alert for each check and role, of which that of the first place still stands."""
    shown = [judgement(check="x/a"), judgement(check="x/b", profile="no-qos")]
    (alert,) = alerts_of(shown, FileLine("x"))
    words = '["t", "responder", "session-establishment/cookie-echo", "x/a", ""]'
    assert code_scanning.fingerprint(alert) == sha256(words.encode()).hexdigest()[:32]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("verdict", Verdict, ids=lambda verdict: verdict.value)
def test_what_fails_the_run_is_an_alert(verdict, strict):
    assert bool(alerts_of([judgement(verdict)], FileLine("x"), strict=strict)) is verdict.is_red(strict=strict)


def test_an_alert_stays_the_same_from_version_to_version_and_cause_to_cause():
    place = FileLine("x")
    one = judgement()
    later = replace(one, key=replace(one.key, version="2", profile="no-qos"), cause="another", verdict=Verdict.HANG)
    (before,), (after,) = alerts_of([one], place), alerts_of([later], place)
    assert code_scanning.fingerprint(before) == code_scanning.fingerprint(after)


def test_a_place_is_relative_to_the_repository_and_a_uri(repository, tmp_path_factory):
    assert place_in_repository(repository / "ci/my node.toml", 2) == FileLine("ci/my%20node.toml", 2)
    outside = tmp_path_factory.mktemp("elsewhere") / "results.jsonl"
    assert place_in_repository(outside).uri == outside.as_uri()


def test_twenty_runs_stand_in_a_file_and_the_rest_in_the_next(repository):
    scans = [scan_of(repository, judgement(), name=f"node {number % 7}") for number in range(45)]
    files = code_scanning.write(scans, repository / "gate.sarif")
    assert [file.name for file in files] == ["gate.sarif", "gate-2.sarif", "gate-3.sarif"]
    documents = [check_for_hosts(file, repository) for file in files]
    assert [len(document["runs"]) for document in documents] == [20, 20, 5]


def test_a_run_of_more_results_than_a_host_stores_keeps_the_gravest(repository, monkeypatch):
    assert LIMITS["shown"] == code_scanning.MOST_RESULTS
    monkeypatch.setattr(code_scanning, "MOST_RESULTS", 50)
    many = [judgement(requirement=f"x/{number}") for number in range(50 + 10)]
    (document,) = written(repository, scan_of(repository, *many, judgement(Verdict.CRASH, check="x/last")))
    (run,) = document["runs"]
    assert len(run["results"]) == 50
    assert run["results"][0]["message"]["text"].startswith("crash")
    assert run["properties"]["leftOut"] == 11


def test_the_complete_form_keeps_to_the_standard_and_would_open_an_alert_for_everything(repository):
    known = {"known": {"reason": "it is so"}}
    everything = [judgement(verdict, details=known if verdict is Verdict.KNOWN else {}) for verdict in Verdict]
    document = sarif.document([results_of(*everything)])
    check_form(document)
    places = [one["properties"].get("places", [0]) for one in document["runs"][0]["results"]]
    assert sum(map(len, places)) == len(Verdict) - 1
    listed = next(one for one in document["runs"][0]["results"] if "suppressions" in one)
    with pytest.raises(AssertionError, match="opens an alert for what is suppressed"):
        check_result(listed, repository)
    silent = next(one for one in document["runs"][0]["results"] if one["kind"] == "notApplicable")
    with pytest.raises(AssertionError, match="opens an alert for every kind"):
        check_result(silent, repository)
