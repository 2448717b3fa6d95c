"""pytest's own view: judgements are items, a deviation fails in its own words, what is known is an expected failure."""

import sys
from pathlib import Path

import pytest
from imported import import_all_of_a_run

from zenoh_harness.run import nodes

pytestmark = pytest.mark.long(20)

pytest_plugins = "pytester"

ONE = "establishment-cookie/an-invented-cookie-is-refused"


@pytest.fixture(scope="module", autouse=True)
def _imported():
    import_all_of_a_run()


def run(pytester, *words):
    """pytest in this process, which has imported what it needs: another process takes two seconds for that."""
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "--target-results", "out", *words)


def test_a_codec_is_judged_vector_by_vector(pytester):
    result = run(pytester, "--target", "reference?face=codec", "--target-only", "vectors/close/*", "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*reference?face=codec::codec default vectors/close/*PASSED*"])


def test_a_deviation_fails_and_tells_how_to_repeat_it(pytester):
    result = run(pytester, "--target", "faulty:believes-any-cookie?role=router", "--target-only", ONE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*fail: session-establishment/cookie-must-match (MUST)*",
            "*seen *OpenAck where*",
            f"*repeat *zconform run*{ONE}*",
        ]
    )
    assert (pytester.path / "out").exists()


def test_a_known_deviation_is_an_expected_failure(pytester):
    pytester.path.joinpath("k.toml").write_text(
        f'[[deviation]]\ncheck="{ONE}"\nverdict="fail"\ncause="stage open: OpenAck *"\nreason="planted"\nowner="us"\n'
    )
    target = ("--target", "faulty:believes-any-cookie?role=router", "--target-only", ONE)
    result = run(pytester, *target, "--target-known", "k.toml")
    assert result.ret == 0
    result.assert_outcomes(xfailed=1, passed=1)


def test_what_is_under_embargo_is_only_counted(pytester, monkeypatch):
    monkeypatch.setattr(nodes, "guarded", lambda target: True)
    monkeypatch.setenv("XDG_DATA_HOME", str(pytester.path / "data"))
    node = f"exec:{sys.executable} {Path(__file__).with_name('dying_node.py')} {{port}} dies"
    sane = ("--target-only", "establishment-sane/a-sane-handshake-is-accepted")
    result = run(pytester, "--target", node, "--target-only", ONE, *sane, "-v", "--junitxml", "j.xml")
    assert result.ret == 1
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*under embargo*: 1"])
    shown = [
        result.stdout.str(),
        result.stderr.str(),
        *(path.read_text() for path in (pytester.path / "out").rglob("*.jsonl")),
    ]
    assert not [
        text for text in (*shown, pytester.path.joinpath("j.xml").read_text()) if ONE in text or "SIGABRT" in text
    ]
    assert ONE in next((pytester.path / "data").rglob("judgements.jsonl")).read_text()


def test_selected_by_k_only_those_are_run(pytester):
    only = ("--target", "reference?face=codec", "--target-only", "vectors/close/*")
    result = run(pytester, *only, "-k", "reason")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] > 0
    assert outcomes["deselected"] > 0


def test_an_unknown_target_is_a_usage_error_with_the_nearest(pytester):
    result = run(pytester, "--target", "whel")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*did you mean wheel*"])


def test_files_that_are_asked_for_stay(pytester):
    path = pytester.makepyfile("def test_it(): pass")
    result = run(pytester, str(path), "--target", "reference?face=codec", "--target-only", "vectors/close/*reason*")
    assert result.parseoutcomes()["passed"] > 1


def test_two_workers_share_no_target(pytester):
    target = ("--target", "reference?role=router", "--target-only", "establishment-cookie/*")
    result = run(pytester, "-n", "2", *target)
    assert result.ret == 0
    assert set(result.parseoutcomes()) == {"passed"}


def test_what_failed_last_runs_again_and_nothing_else(pytester):
    target = ("--target", "faulty:believes-any-cookie?role=router", "--target-only", "establishment-cookie/*")
    words = ("--target-results", "out", *target)
    first = pytester.runpytest_inprocess(*words).parseoutcomes()
    again = pytester.runpytest_inprocess("--lf", *words).parseoutcomes()
    assert first["failed"] == again["failed"] > 3
    assert again["deselected"] == first["passed"]


def test_a_target_that_cannot_be_had_is_one_error(pytester):
    result = run(pytester, "--target", "tcp/127.0.0.1:1", "--target-only", "establishment-cookie/*")
    outcomes = result.parseoutcomes()
    assert (result.ret, outcomes["errors"], outcomes.get("failed")) == (1, 1, None)
    result.stdout.fnmatch_lines(["*cannot open a link to tcp/127.0.0.1:1*"])
