"""Ranges expand to versions in order; the same is run against several targets, and what changed is told and kept."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from zenoh_harness.cli import invoke
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.files.evidence import slug
from zenoh_harness.scripting.shipped import shipped_scripts
from zenoh_harness.versions import matrix
from zenoh_harness.versions.matrix import Matrix, expand, room
from zenoh_harness.versions.table import LEGEND, MARKS, table

COOKIES = ("--only", "establishment-cookie/*")
CHANGED = "establishment-cookie/a-changed-cookie-is-refused"
WRONG = "faulty:believes-any-cookie?role=router"
RIGHT = "reference?role=router"
LOST = "exec:/no/such/program {port}"


def test_a_range_is_every_version_between_its_ends():
    assert expand(["wheel:1.9.0..1.10.1"]) == ["wheel:1.9.0", "wheel:1.10.0", "wheel:1.10.1"]
    assert expand(["wheel:1.0.3..1.1.0?as=initiator"]) == [
        f"wheel:{v}?as=initiator" for v in ("1.0.3", "1.0.4", "1.1.0")
    ]
    mixed = ["reference", "wheel:1.9.0..1.10.0", "reference", "wheel:1.9.0"]
    assert expand(mixed) == ["reference", "wheel:1.9.0", "wheel:1.10.0"]


@pytest.mark.parametrize(
    "target", ["wheel:soon..1.10.2", "wheel:..1.10.2", "wheel:5.0.0..6.0.0", "wheel:1.10.2..1.0.0"]
)
def test_a_range_without_versions_is_refused(target):
    with pytest.raises(UsageError):
        expand([target])


def test_there_is_room_for_as_many_as_memory_holds(monkeypatch):
    assert 1 <= room() <= len(os.sched_getaffinity(0))
    monkeypatch.setattr(matrix, "MEMORY", 1 << 60)
    assert room() == 1


def ran(tmp_path, capsys, *words):
    again = () if "--again" in words else ("--again", "0")
    code = invoke(["matrix", *words, *again, "--out", str(tmp_path / "m")])
    return code, capsys.readouterr()


def test_what_differs_is_told_with_its_cause(tmp_path, capsys):
    code, said = ran(tmp_path, capsys, RIGHT, WRONG, *COOKIES)
    assert code == 1
    assert ".F  session-establishment/cookie-must-match" in said.out
    assert LEGEND in said.out
    assert f"{RIGHT} -> {WRONG}" in said.out
    assert "  worse  session-establishment/cookie-must-match  (MUST, responder)" in said.out
    assert "pass  ->  fail: stage open: OpenAck where a refusal is required" in said.out
    assert "2 of 3 requirements have different verdicts on 2 targets" in said.out
    assert f"/2  {RIGHT}" in said.err
    for reach in (RIGHT, WRONG):
        assert results.read(tmp_path / "m" / slug(reach)).complete


def test_all_of_it_is_kept_as_one_document(tmp_path, capsys):
    code, said = ran(tmp_path, capsys, WRONG, RIGHT, *COOKIES, "--format", "json")
    text = json.loads(said.out)
    assert code == 1
    assert text == json.loads((tmp_path / "m" / "matrix.json").read_text())
    assert text["requirements"]["session-establishment/cookie-must-match"] == ["fail", "pass"]
    assert [one["exit"] for one in text["targets"]] == [1, 0]
    [step] = text["changes"]
    assert (step["before"], step["after"]) == (WRONG, RIGHT)
    assert {one["way"] for one in step["changes"]} == {"for the better"}
    assert all((tmp_path / "m" / slug(WRONG) / one["evidence"]).exists() for one in step["changes"])


def test_one_that_cannot_be_had_is_told_and_costs_the_others_nothing(tmp_path, capsys):
    code, said = ran(tmp_path, capsys, LOST, RIGHT, *COOKIES)
    assert code == 3
    assert "/no/such/program" in said.err
    assert re.search(r"reference.* s  \d+ pass$", said.err, re.MULTILINE)


def test_what_an_earlier_matrix_left_does_not_stand_for_one_that_cannot_be_had(tmp_path, capsys):
    ran(tmp_path, capsys, RIGHT, "--only", CHANGED)
    done = Matrix(tmp_path / "m", ["--depth", "no-such-depth"]).one(RIGHT)
    assert (done.code, done.results) == (2, None)
    assert "no-such-depth" in done.text


@pytest.mark.parametrize("words", [(*COOKIES[:1], "no/such-check"), ("--depth", "deep"), ("--bisect", "no/such-check")])
def test_what_does_not_exist_is_told_before_anything_runs(words, tmp_path, capsys):
    code, said = ran(tmp_path, capsys, "reference", *words)
    assert code == 2
    assert "/1  reference" not in said.err
    assert not (tmp_path / "m").exists()


def test_columns_are_headed_by_versions_or_numbers():
    rows = {"close/x": ["known", "pass"], "close/y": ["", "not-observed"]}
    of_versions = list(table(["wheel:1.9.0", "wheel:1.10.2"], rows))
    of_others = list(table(["reference", "faulty:a-very-wrong-one"], rows))
    assert of_versions == ["", " 1", "1.", ".1", "90", "..", "02", "k.  close/x", " -  close/y"]
    assert of_others[1:4] == ["1  reference", "2  faulty:a-very-wrong-one", "12"]
    assert list(table(["reference"], {})) == []


def test_every_verdict_has_its_letter():
    assert all(f"{mark} " in LEGEND for mark in MARKS.values())


def bisected(tmp_path, capsys, check, *targets):
    code = invoke(["matrix", *targets, "--bisect", str(check), "--out", str(tmp_path / "m")])
    return code, capsys.readouterr()


def test_where_a_check_turns_is_found(tmp_path, capsys):
    """A deviation that is listed is one all the same; what cannot be had is neither good nor bad."""
    known = tmp_path / "known.toml"
    known.write_text(
        f'[[deviation]]\ncheck="{CHANGED}"\nverdict="fail"\ncause="stage open: OpenAck *"\nreason="so"\nowner="us"\n'
    )
    code, said = bisected(tmp_path, capsys, CHANGED, RIGHT, LOST, WRONG, f"{WRONG}&zid=e", "--known", str(known))
    assert code == 0
    assert f"first bad: {WRONG} (known); last good: {RIGHT}; not judged: {LOST}" in said.out
    assert "judged 4 of 4 targets" in said.out
    assert f"{WRONG}&zid=e  known" in said.err
    assert f"{LOST}  error" in said.err


def test_a_check_that_nobody_can_be_asked_for_is_4(tmp_path, capsys):
    code = invoke(["matrix", LOST, "--bisect", CHANGED, "--out", str(tmp_path / "m"), "--format", "json"])
    assert code == 4
    text = json.loads(capsys.readouterr().out)
    assert (text["asked"], text["turns"]) == ({LOST: "error"}, [])


def test_a_script_file_can_be_asked_for(tmp_path, capsys):
    script = tmp_path / "mine.script"
    script.write_text(shipped_scripts()["two-frames-in-one-batch"].read_text())
    code, said = bisected(tmp_path, capsys, script, RIGHT)
    assert code == 0
    assert f"{script} has the same verdict from {RIGHT} to {RIGHT}: pass" in said.out


def test_a_script_that_ships_can_be_called_by_its_name(tmp_path, capsys):
    code, said = bisected(tmp_path, capsys, "two-frames-in-one-batch", RIGHT)
    assert code == 0
    assert f"has the same verdict from {RIGHT} to {RIGHT}: pass" in said.out


def below(pid):
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_matrix_that_is_ended_takes_its_runs_along(number, tmp_path):
    """In order where it can, and at once where it cannot: no run, no target and no file of theirs outlives it."""
    ours = tmp_path / "tmp"
    ours.mkdir()
    command = [sys.executable, "-m", "zenoh_harness.cli", "matrix", RIGHT, WRONG, "--out", str(tmp_path / "m")]
    environment = {**os.environ, "TMPDIR": str(ours)}
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment)
    try:
        file = tmp_path / "m" / slug(RIGHT) / "results.jsonl"
        while running.poll() is None and not (file.exists() and file.read_text().count("\n") > 3):
            time.sleep(0.02)
        family = below(running.pid)
        assert len(family) > 2
        running.send_signal(number)
        assert running.communicate(timeout=60)[1].count("interrupted") == (number == signal.SIGTERM)
        gone, left = psutil.wait_procs(family, timeout=30)
        assert not left
        assert gone
        assert [*ours.iterdir()] == []
    finally:
        running.kill()
        running.wait()
    read = results.read(file)
    assert not read.complete
    assert (read.footer is not None) == (number == signal.SIGTERM)
