"""The smoke: an honest adapter passes, each dishonest one is told what to fix."""

import json
import shlex
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from zenoh_harness.cli import invoke
from zenoh_harness.programs import processes
from zenoh_harness.run.node import health
from zenoh_harness.targets.adapters import command

NODE = Path(__file__).parents[1] / "misbehaving_node.py"
STUB = files("zenoh_harness") / "targets" / "nodes" / "agent_stub.py"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(health, "PATIENCE", 0.5)


@pytest.mark.parametrize("reach", ["wheel:1.10.2", "wheel:1.10.2?role=client"])
def test_the_wheel_is_honest(reach, capsys):
    assert invoke(["smoke", reach]) == 0
    text = capsys.readouterr().out
    assert "FIX" not in text
    assert "made-up capability: not claimed" in text
    assert "Nothing to fix" in text
    assert not processes.running()


@pytest.mark.parametrize(("stream", "ends"), [("stdout", True), ("stderr", True), ("stderr", False)])
def test_one_that_connects_where_it_should_listen_is_told_of_its_role(stream, ends, capsys, monkeypatch):
    """A client of an own make, given as a program that listens: its output says what is wrong."""
    monkeypatch.setattr(command, "READY", 1.0)
    tries = f"print(OSError(111, 'Connection refused'), file=sys.{stream}, flush=True); time.sleep({0 if ends else 60})"
    program = shlex.join([sys.executable, "-c", f"import sys, time; {tries}", "{locator}"])
    assert invoke(["smoke", f"exec:{program}"]) == 3
    said = capsys.readouterr().out
    assert "Connection refused" in said
    assert "add ?role=client (or role=peer)" in said


def test_as_json(capsys):
    assert invoke(["smoke", "wheel:1.10.2", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["well"]
    assert [step["name"] for step in document["steps"]][:4] == ["start", "habits", "profiles", "works"]


HABITUAL = Path(__file__).parents[1] / "habitual_node.py"
DYING = Path(__file__).parents[1] / "dying_node.py"


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("low", 1, "FIX   claims: it died during questions about what it offers: signal 11 (SIGSEGV)"),
        ("ends", 0, "ended by signal 11 (SIGSEGV), which is a crash: no check is about the end of a program"),
    ],
)
def test_a_program_that_dies_is_told(fault, code, says, capsys):
    assert invoke(["smoke", f"exec:{sys.executable} {DYING} {{port}} {fault}"]) == code
    assert says in capsys.readouterr().out


def test_a_run_tells_of_a_program_that_crashes_when_it_is_asked_to_end(tmp_path, capsys):
    only = ("--only", "establishment-cookie/an-invented-cookie-is-refused", "--depth", "quick")
    node = f"exec:{sys.executable} {DYING} {{port}} ends"
    assert invoke(["run", node, *only, "--out", str(tmp_path / "r")]) == 0
    assert (
        "ended by signal 11 (SIGSEGV) when it was asked to end: no check is charged with it" in capsys.readouterr().err
    )


def test_what_the_only_answer_states_is_told_where_no_further_link_is_taken(tmp_path, capsys):
    """Version 0 and the role of a client say more about such a node than that it accepts no link."""
    node = f"exec:{sys.executable} {HABITUAL} once 127.0.0.1 {{port}}"
    says = "its InitAck states version 0, role client"
    assert invoke(["smoke", node]) == 1
    assert f"none was learnt: no sane handshake came to its end\n      {says}" in capsys.readouterr().out
    assert invoke(["run", node, "--depth", "quick", "--out", str(tmp_path / "r")]) == 3
    assert says in capsys.readouterr().err
    assert invoke(["probe", node]) == 0
    assert "version 0, role client" in capsys.readouterr().out


def test_a_node_that_does_not_work_is_told(capsys):
    command = shlex.join([sys.executable, str(NODE), "closes-after-open"])
    assert invoke(["smoke", f"exec:{command} {{port}}"]) == 1
    text = capsys.readouterr().out
    assert "FIX   works: zombie" in text
    assert "1 to fix" in text


@pytest.mark.parametrize(
    ("reach", "code", "says"),
    [
        ("exec:no-such-program {port}", 3, "No such file"),
        ("exec:no-such-program", 2, "{port}"),
        ("exec:x {prot}", 2, "{port}"),
        ("tcp/127.0.0.1:1", 3, "refused"),
        ("weel", 2, "wheel"),
    ],
)
def test_what_cannot_be_had(reach, code, says, capsys):
    assert invoke(["smoke", reach]) == code
    text = capsys.readouterr()
    assert says in text.out + text.err


UNKNOWN = '{"ok": False, "unimplemented": True}'
BOASTER = STUB.read_text().replace('and line["name"] in COMMANDS', "")
LIAR = STUB.read_text().replace(UNKNOWN, '{"ok": True}')
SHY = STUB.read_text().replace('return {"ok": True}', f"return {UNKNOWN}", 1)
NEIGHBOUR = """
import subprocess, sys
subprocess.Popen([sys.executable, {node!r}, "works-never", sys.argv[1]])
exec(open({agent!r}).read())
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOASTER, "claims the capability 'levitate'"),
        (LIAR, "answers ok to the command 'levitate'"),
        (SHY, "denied when asked"),
    ],
)
def test_a_dishonest_agent_is_told_what_to_fix(text, says, tmp_path, capsys):
    assert text != STUB.read_text()
    agent = tmp_path / "agent.py"
    agent.write_text(text)
    node = tmp_path / "node.py"
    node.write_text(NEIGHBOUR.format(node=str(NODE), agent=str(agent)))
    command = shlex.join([sys.executable, str(node)])
    assert invoke(["smoke", f"exec:{command} {{port}}?agent=stdio"]) == 1
    assert says in capsys.readouterr().out
    assert not processes.running()


def test_our_own_codec(capsys):
    command = shlex.join([sys.executable, "-m", "zenoh_harness.cli", "codec"])
    code = invoke(["smoke", f"stdio:{command}"])
    assert (code, "FIX  " in capsys.readouterr().out) == (0, False)
