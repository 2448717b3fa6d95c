"""The main job's exit code is the run's, whatever becomes of the report."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness import conform

FAKE = """
    import os, pathlib, signal, sys
    print(*sys.argv[1:], flush=True)
    if sys.argv[1] == "run":
        out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
        out.mkdir(parents=True, exist_ok=True)
        {run}
    {report}
"""
WRITES = '(out / "results.jsonl").write_text("{}")'


@pytest.fixture
def zconform(tmp_path, monkeypatch):
    """Makes a `zconform` whose subcommands do what is said, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def make(run: str, report: str = "") -> tuple[str, str]:
        script = tmp_path / "zconform.py"
        script.write_text(textwrap.dedent(FAKE).format(run=run, report=report))
        return sys.executable, str(script)

    return make


@pytest.mark.parametrize("code", [0, 1, 4])
def test_a_report_that_fails_costs_the_page_and_not_the_verdict(zconform, capfd, code):
    command = zconform(f"{WRITES}; sys.exit({code})", report="sys.exit(1)")
    assert conform.main([], command) == code
    said = capfd.readouterr()
    assert said.out.splitlines() == [
        "run wheel:1.10.2 --out out/conform",
        "report out/conform/results.jsonl --out out/conform/report --spark --tables out/conform/tables",
    ]
    assert "the verdict above and out/conform/results.jsonl are valid" in said.err


def test_arguments_are_those_of_a_run(zconform, capfd):
    assert conform.main(["wheel:1.9.0", "--out", "here", "--depth", "quick"], zconform(f"{WRITES}; sys.exit(0)")) == 0
    assert capfd.readouterr().out.splitlines() == [
        "run wheel:1.9.0 --out here --depth quick",
        "report here/results.jsonl --out here/report --spark --tables here/tables",
    ]


@pytest.mark.parametrize(("run", "code"), [("sys.exit(2)", 2), ("sys.exit(3)", 3), (f"{WRITES}; sys.exit(2)", 2)])
def test_without_new_results_there_is_no_report(zconform, capfd, run, code):
    assert conform.main([], zconform(run)) == code
    assert "report" not in capfd.readouterr().out


def test_results_of_an_earlier_run_are_not_reported_as_this_one(zconform, capfd, tmp_path):
    (tmp_path / "out/conform").mkdir(parents=True)
    (tmp_path / "out/conform/results.jsonl").touch()
    assert conform.main([], zconform("sys.exit(3)")) == 3
    assert "report" not in capfd.readouterr().out


def test_a_run_ended_by_a_signal_could_not_go_on(zconform):
    assert conform.main([], zconform("os.kill(os.getpid(), signal.SIGKILL)")) == Exit.CANNOT_GO_ON


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_itself_what_it_leaves_behind(zconform, tmp_path, number):
    caught = f"signal.signal({int(number)}, lambda *_: ({WRITES}, os._exit(3)))"
    waits = f"{caught}; print('ready', flush=True); signal.pause()"
    driver = f"import sys; from zenoh_harness import conform; sys.exit(conform.main([], {zconform(waits)!r}))"
    command = [sys.executable, "-c", driver]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True) as started:
        assert started.stdout is not None
        assert [started.stdout.readline() for _ in range(2)][1] == "ready\n"
        to = os.killpg if number == signal.SIGINT else os.kill  # a terminal: the group; a supervisor: the program
        to(started.pid, number)
        rest = started.stdout.read()
    assert (started.returncode, rest) == (3, "")
    assert Path(tmp_path / "out/conform/results.jsonl").exists()
