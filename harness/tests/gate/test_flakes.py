"""What was right in one run and wrong in another, over several results files."""

import json

import pytest

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.files.results import Header, ResultsWriter

REQUIREMENT, CHECK = "session-establishment/cookie-must-match", "establishment-cookie/an-invented-cookie-is-refused"
QUARANTINE = '[[deviation]]\ncheck = "{check}"\nverdict = "flaky"\ncause = "*silence*"\nreason = "r"\nowner = "ann"\nexpires = {day}\n'


def run(folder, verdict, *, day=1, version="1.0", harness="h", repeated=None, name="mine", check=CHECK):
    """One results file with one judgement."""
    header = Header(
        reach="reference",
        name=name,
        version=version,
        role="responder",
        kind="wheel",
        harness=harness,
        date=f"2026-01-{day:02}T00:00:00Z",
    )
    key = Key(
        target=name,
        version=version,
        role="responder",
        profile="default",
        link="tcp",
        requirement=REQUIREMENT,
        check=check,
    )
    details = {"repeated": {"times": sum(repeated.values()), "verdicts": repeated}} if repeated else {}
    cause = "" if verdict in ("pass", "not-observed") else "stage open: silence"
    judgement = Judgement(key=key, level="MUST", verdict=Verdict(verdict), cause=cause, details=details)
    with ResultsWriter(folder / "results.jsonl", header, [f"responder default {check}"]) as writer:
        writer.judgement(judgement)
        writer.footer(0)
    return str(folder)


@pytest.fixture
def flakes(tmp_path, capsys):
    """Write runs, count over them: exit code and what was told as data, and as text."""

    def of(*rows, known=""):
        paths = [run(tmp_path / str(number), **row) for number, row in enumerate(rows)]
        more = []
        if known:
            (tmp_path / "k.toml").write_text(known)
            more = ["--known", str(tmp_path / "k.toml")]
        code = invoke(["gate", "flakes", *paths, *more, "--format", "json"])
        printed = capsys.readouterr()
        assert invoke(["gate", "flakes", *paths, *more]) == code
        return code, json.loads(printed.out) if printed.out else printed.err, capsys.readouterr().out

    return of


def test_right_and_wrong_of_one_version_is_counted_since_when_and_with_its_causes(flakes):
    rows = [
        {"verdict": "pass", "day": 1},
        {"verdict": "fail", "day": 3},
        {"verdict": "pass", "day": 2},
        {"verdict": "pass", "day": 4},
    ]
    code, told, text = flakes(*rows)
    [one] = told["flaky"]
    assert code == told["exit"] == 1
    assert (one["times"], one["wrong"], one["rate"], one["first"]) == (4, 1, 0.25, "2026-01-03T00:00:00Z")
    assert one["causes"] == {"stage open: silence": 1}
    assert "failed   1 of 4 times, 25.0%, since 2026-01-03" in text
    assert "owner    none" in text


@pytest.mark.parametrize(
    "rows",
    [
        [{"verdict": "pass"}, {"verdict": "fail", "version": "1.1"}],
        [{"verdict": "pass"}, {"verdict": "fail", "harness": "another"}],
        [{"verdict": "fail"}, {"verdict": "fail"}],
        [{"verdict": "pass"}, {"verdict": "not-observed"}],
    ],
    ids=["another-version", "another-harness", "always-wrong", "said-nothing"],
)
def test_what_is_not_unsteady(flakes, rows):
    assert flakes(*rows)[0] == 0


def test_a_repetition_counts_as_often_as_it_was_repeated(flakes):
    code, told, _ = flakes({"verdict": "flaky", "repeated": {"pass": 18, "fail": 2}}, {"verdict": "pass"})
    assert (code, told["flaky"][0]["times"], told["flaky"][0]["wrong"], told["judged"]) == (1, 21, 2, 21)


def test_a_check_that_was_flaky_in_its_only_run_is_told(flakes):
    code, told, _ = flakes({"verdict": "flaky"})
    assert (code, [one["verdicts"] for one in told["flaky"]]) == (1, [{"flaky": 1}])


@pytest.mark.parametrize(
    ("day", "code", "whose"), [("2999-01-01", 0, "ann, until 2999"), ("2026-01-02", 1, "quarantine ended")]
)
def test_a_quarantine_covers_until_its_day(flakes, day, code, whose):
    seen, told, text = flakes({"verdict": "pass"}, {"verdict": "fail"}, known=QUARANTINE.format(check=CHECK, day=day))
    assert seen == code
    assert told["flaky"][0]["quarantine"]["owner"] == "ann"
    assert whose in text


def test_what_was_steady_may_leave_its_quarantine(flakes):
    code, told, text = flakes(
        {"verdict": "pass"}, {"verdict": "pass"}, known=QUARANTINE.format(check=CHECK, day="2999-01-01")
    )
    assert code == 0
    assert told["quarantine_over"] == [line for line in text.splitlines() if "was steady 2 times" in line]


def test_several_targets_and_nothing_at_all_are_told(flakes, tmp_path, capsys):
    assert flakes({"verdict": "not-observed"})[0] == 4
    code, told, _ = flakes({"verdict": "pass"}, {"verdict": "pass", "name": "other"})
    assert (code, "results of several targets: mine, other" in told) == (2, True)
