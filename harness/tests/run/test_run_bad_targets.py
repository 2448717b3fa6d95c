"""`zconform run` on what is no target, or a bad one: a clear word, exit 2 or 3, and nothing left of it."""

import gc
import shlex
import socket
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest
from awaiting import awaited

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness import cli
from zenoh_harness.files import results
from zenoh_harness.programs import processes

pytestmark = pytest.mark.long(20)

HERE = Path(__file__).parents[1]
SANE = ("--only", "establishment-sane/a-sane-handshake-is-accepted", "--only", "initiator-fields/our-role-is-taken")


def node(file, *arguments):
    return f"exec:{shlex.join([sys.executable, str(HERE / file), *arguments])}"


def no_node(how):
    return f"{node('no_node.py', how)} {{port}}"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run, after which nothing of ours is left: no process, thread, descriptor, temporary folder."""
    monkeypatch.setattr("zenoh_harness.targets.adapters.command.READY", 2.0)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    us = psutil.Process()
    before = set(us.children(recursive=True)), us.num_fds(), threading.active_count()

    def done(reach, *more):
        code = cli.invoke(["run", reach, *SANE, *more, "--out", str(tmp_path / "r")])
        assert not processes.running()
        assert not list((tmp_path / "tmp").iterdir())
        assert set(us.children(recursive=True)) <= before[0]
        gc.collect()  # the traceback of what was refused may hold a pipe
        awaited(lambda: us.num_fds() <= before[1] and threading.active_count() <= before[2])
        return code

    return done


@pytest.mark.parametrize(
    ("reach", "code", "says"),
    [
        ("weel", 2, "did you mean wheel"),
        ("execute:x", 2, "did you mean exec"),
        ("wheel:1.8.0", 2, "1.9.0"),
        ("exec:./node", 2, "names no address"),
        ("exec:/no/such/program {port}", 3, "/no/such/program"),
        (no_node("exits"), 3, "cannot find my config"),
        (no_node("daemon"), 3, "background"),
        (no_node("elsewhere"), 3, "instead"),
        (no_node("nowhere"), 3, "it has no listening socket"),
        (no_node("http"), 3, "HTTP/1.1 400"),
        (no_node("mute"), 3, "does not answer"),
        (f"{no_node('exits')}?as=initiator", 3, "the target did not connect"),
        ("exec:echo nonsense {port}?agent=stdio", 3, "the agent writes a line that is no JSON object"),
        ("exec:yes {port}?agent=stdio", 3, "the agent writes a line that is no JSON object"),
        ("exec:true {port}?agent=stdio", 3, "the agent has exited"),
        ("exec:cat {port}?agent=stdio", 3, "agent"),
        ("tcp/127.0.0.1:1", 3, "refused"),
    ],
)
def test_what_cannot_be_judged(run, reach, code, says, capsys, tmp_path):
    assert run(reach) == code
    text = capsys.readouterr()
    assert says in text.err
    assert "Traceback" not in text.err
    if code == 3:
        assert results.read(tmp_path / "r").pending


def test_bad_manners_are_no_deviation(run, tmp_path, monkeypatch):
    monkeypatch.setattr("zenoh_harness.targets.adapters.command.READY", 15.0)
    pids = tmp_path / "pids"
    assert run(f"{node('unruly_node.py')} {{port}} {pids}", "-q") == 0
    assert not [pid for pid in pids.read_text().split() if psutil.pid_exists(int(pid))]


def test_one_that_listens_late_is_waited_for(run):
    assert run(f"{node('misbehaving_node.py', 'late')} {{port}}", "-q") in (0, 1)


@pytest.fixture
def taken_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    "command", [no_node("http"), f"{node('unruly_node.py')} {{port}} /dev/null", no_node("nowhere")]
)
def test_of_two_programs_on_one_port_none_is_judged(command, taken_port, run, capsys):
    """Who answers is not who is started: whether that one ends, or stays and listens nowhere, it is told before."""
    assert run(f"{command}?listen=127.0.0.1:{taken_port}") == 3
    assert f"another program already listens at tcp/127.0.0.1:{taken_port}" in capsys.readouterr().err


def test_a_program_that_takes_long_to_start_is_waited_for(run, monkeypatch):
    monkeypatch.setattr("zenoh_harness.targets.adapters.command.READY", 15.0)
    slow = f"import runpy, sys, time; time.sleep(4); sys.argv = {[str(HERE / 'misbehaving_node.py'), 'late']!r} + sys.argv[1:]"
    command = shlex.join([sys.executable, "-c", f"{slow}; runpy.run_path(sys.argv[0], run_name='__main__')"])
    assert run(f"exec:{command} {{port}}", "-q") in (0, 1)


@pytest.mark.parametrize("reach", ["reference", "wheel", "exec:true {port}", "tcp/127.0.0.1:1"])
def test_a_profile_that_does_not_exist_is_told_before_anything_is_started(reach, run, capsys):
    assert run(f"{reach}?profile=nope") == 2
    assert "unknown profile 'nope'" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--junit", "--sarif"])
def test_a_file_that_cannot_be_written_is_told_before_the_run(option, run, tmp_path, capsys):
    assert run("reference", option, str(tmp_path / "none" / "x")) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert cli.invoke(["peer", "--listen", f"tcp/127.0.0.1:{taken.getsockname()[1]}"]) == 3
    assert "cannot listen at" in capsys.readouterr().err


def test_one_that_changes_its_habits_is_slow_and_no_more(tmp_path):
    """It comes back at once until it was judged for a while; then it takes longer than it was ever waited for."""
    reach = f"{node('habitual_node.py', 'tires')} {{host}} {{port}}?as=initiator&role=client"
    only = ("--only", "initiator-init-ack/a-refusal-is-taken", "--jobs", "1")
    assert cli.invoke(["run", reach, *only, "--out", str(tmp_path / "r"), "-q"]) == 0
    verdicts = {one.verdict.value for one in results.read(tmp_path / "r").judgements}
    assert verdicts <= {"pass", "slow", "not-observed"}
    assert "slow" in verdicts


def test_who_refuses_everything_passes_nothing(run, tmp_path, capsys):
    """Its one deviation is told once, by the first step that it does not take; what rests on that is not judged."""
    only = ("--only", "establishment-cookie/*", "--only", "establishment-sane/a-s*", "--only", "establishment-init/*")
    assert run(f"{node('refusing_node.py')} {{port}}", *only, "--out", str(tmp_path / "r")) == 1
    found = results.read(tmp_path / "r").judgements
    assert {one.key.check for one in found if one.verdict is Verdict.FAIL} == {
        "establishment-sane/a-sane-proposal-is-answered"
    }
    assert {one.verdict for one in found} <= {Verdict.FAIL, Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE}
    assert "seen     stage init: Close(INVALID)" in capsys.readouterr().out


def test_the_reason_comes_first_where_nothing_answers(tmp_path, capfd):
    assert cli.invoke(["run", "tcp/127.0.0.1:1", "--depth", "quick", "--out", str(tmp_path / "r")]) == 3

    told = capfd.readouterr()
    assert told.err.splitlines()[0] == "zconform: cannot open a link to tcp/127.0.0.1:1 (step: connect)"
    assert "pending" not in told.out
    assert told.out.splitlines()[-1] == "Exit 3: the harness or the target failed before the run was complete"


def test_one_that_never_began_has_no_tables(tmp_path, capsys):
    """What a program has not is no news where there is no program."""
    assert cli.invoke(["run", "exec:./nothere {port}", "--depth", "quick", "--out", str(tmp_path / "r")]) == 3

    told = "".join(capsys.readouterr())
    assert "cannot start ./nothere" in told
    assert "Not judged" not in told
    assert "not-applicable" not in told
