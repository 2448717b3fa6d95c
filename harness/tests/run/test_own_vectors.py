"""A user's own vectors in runs, gates, matrices and pytest: each has its judgement, and those that cannot be used are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from vectors_of_a_user import REFUSED, write_vectors

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.files import conversations
from zenoh_harness.files.results import read
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.own_rows import OwnRow
from zenoh_harness.run.vectors.rows import RECEIVER, ROUTER, judged_on

pytest_plugins = "pytester"

OTHER = {"Push": {"key": {"scope": 0, "suffix": "b", "mapping": False}, "body": {"Put": {"payload": "77"}}}}
"""The meaning of other bytes."""

NODE = "reference?role=router&as=responder"
ONLY = ["--only", "vectors/mine/*", "--vectors", "mine"]
COMMANDS = {
    "run": ["run", NODE, "--depth", "quick", "--out", "out", *ONLY],
    "gate init": ["gate", "init", NODE, "--known", "list.known.toml", "--out", "out", *ONLY],
    "matrix": ["matrix", NODE, "--depth", "quick", "--out", "out", *ONLY],
}


def folder(*changes):
    """The folder `mine`, with vectors like one of PUT."""
    Path("mine").mkdir()
    write_vectors(Path("mine"), *changes)


@pytest.mark.parametrize("name", ["run", "gate init", "matrix"])
def test_a_command_plays_what_can_be_used_and_names_the_rest(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    folder({}, {"bytes": "00"}, REFUSED, {"means": {"Push": {}}})
    assert invoke(COMMANDS[name]) == 2
    said = capsys.readouterr().err
    assert "mine.json:" in said and "mine/number-1: bytes" in said and "number-2: refuses" in said
    assert "number-3: means" in said
    [results] = Path("out").rglob("results.jsonl")
    judged = read(results).judgements
    assert {one.key.check for one in judged} >= {"vectors/mine/number-0"}
    assert {one.verdict for one in judged if one.key.check.startswith("vectors/")} == {Verdict.PASS}


def test_a_vector_of_the_user_that_fails_is_red_under_its_requirement_and_is_repeated_from_the_folder(
    tmp_path, monkeypatch
):
    """The bytes are a PUT with another payload than the meaning that the user wrote."""
    monkeypatch.chdir(tmp_path)
    folder({"covers": ["push/put-payload"], "means": OTHER})
    code = invoke(COMMANDS["run"])
    [one] = [one for one in read(Path("out")).judgements if one.key.check == "vectors/mine/number-0"]
    assert code == 1 and one.key.requirement == "push/put-payload" and one.verdict is Verdict.FAIL
    said = conversations.read(Path("out", one.evidence))
    assert any(bytes.fromhex(one.details["bytes"]) in event.data for event in said.events)
    assert one.repeat.endswith("mine/number-0 --vectors mine")


def test_a_gate_judges_a_users_vectors_against_its_list(tmp_path, monkeypatch, capsys):
    """A vector that the list has is no difference; one that turns red later is."""
    monkeypatch.chdir(tmp_path)
    wrong = {"covers": ["push/put-payload"], "means": OTHER}
    folder(wrong, {"covers": ["push/put-payload"]})
    judge = ["gate", "judge", NODE, "--known", "list.known.toml", "--out", "out", *ONLY]
    assert invoke(COMMANDS["gate init"]) == 0
    assert invoke(judge) == 0
    write_vectors(Path("mine"), wrong, wrong)
    capsys.readouterr()
    assert invoke(judge) == 1
    assert "mine/number-1" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [ROUTER, RECEIVER])
def test_a_row_passes_by_it_only_where_a_misreading_of_the_row_is_noticed(kind):
    vector, row = next(iter(golden())), "push/put-payload"
    verdict = OwnRow(vector, row).judge(VectorAnswer(Verdict.PASS), kind).verdict
    assert (verdict is Verdict.PASS) == (row in judged_on()[kind])


def test_a_folder_without_a_vector_is_a_mistake(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    assert invoke(COMMANDS["run"]) == 2
    assert "holds no vector file" in capsys.readouterr().err


def test_pytest_has_an_item_for_each_and_fails_for_those_that_cannot_be_used(pytester, monkeypatch):
    monkeypatch.chdir(pytester.path)
    folder({}, {"bytes": "00"})
    words = ["--target", NODE, "--target-only", "vectors/mine/*", "--target-vectors", "mine"]
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *words)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["cannot be used: mine.json:*: mine/number-1: bytes: *"])
