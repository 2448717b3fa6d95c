"""`--format json`: every command takes it, prints one document on standard output, and nothing else there."""

import json
import shlex
import subprocess
import sys

import click
import pytest

from zenoh_harness.cli import command, invoke

OTHERWISE = {"codec": "speaks JSON already, a line a request"}
"""Commands without the option, and why."""
HIDDEN = "requirements settle"
CASE = "establishment-cookie/a-cookie-of-another-link-is-refused"


def every(group, context, name=""):
    """Each command that does something, by its words."""
    for word in group.list_commands(context):
        found, words = group.get_command(context, word), f"{name} {word}".strip()
        if isinstance(found, click.Group):
            yield from every(found, click.Context(found, parent=context), words)
        else:
            yield words, found


def test_every_command_has_it_in_one_form():
    """The same option with the same choice everywhere, and a `shell` that takes it."""
    lacking = []
    for name, found in every(command, click.Context(command)):
        options = {each: param for param in found.params for each in param.opts}
        param = options.get("--format")
        if param is None or list(param.type.choices) != ["text", "json"] or param.default != "text":
            lacking.append(name)
    assert lacking == [*OTHERWISE, HIDDEN]


ENTRY = """\
[[deviation]]
check = "establishment-cookie/a-changed-cookie-is-refused"
verdict = "fail"
cause = "x"
reason = "due: y"
owner = "us"
"""


@pytest.mark.parametrize(
    ("line", "code", "has"),
    [
        ("gate check right.known.toml", 0, {"entries": 1, "due": 1}),
        ("gate check wrong.known.toml", 2, {"line": 1}),
        ("peer --faults", 0, {"name", "about", "caught_by"}),
        ("requirements table", 0, {"id", "level", "standing"}),
        ("vectors export given", 0, {"destination": "given"}),
        ("report results --out site", 0, {"runs": 1, "unread": []}),
        ("report results --check", 1, {"complete": False}),
        ("completion show fish", 0, {"shell": "fish"}),
    ],
)
def test_one_document(line, code, has, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "right.known.toml").write_text(ENTRY)
    (tmp_path / "wrong.known.toml").write_text("nonsense\n")
    if "results" in line:
        assert invoke(["run", "reference", "--only", CASE, "--depth", "quick", "-q", "--out", "results"]) == 0
        capsys.readouterr()
    assert invoke([*shlex.split(line), "--format", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    one = document[0] if isinstance(document, list) else document
    assert has <= one.keys() if isinstance(has, set) else has.items() <= one.items()


def test_the_gate_writes_its_lists_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line = f"reference --known r.known.toml --only {CASE} --fresh --timeout 20s --format json"
    assert invoke(["gate", "init", *line.split()]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "file": "r.known.toml", "written": True, "exit": 0, "entries": 0, "due": 0, "left_out": [], "embargoed": 0,
    }  # fmt: skip
    assert invoke(["gate", *line.split()]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["update"].endswith(f"--only {CASE} --fresh --timeout 20s")


def test_a_tap_and_a_peer_tell_programs(tmp_path):
    """A peer says where it listens; a tap, when it leaves, what went by and what the laws say."""
    zconform = [sys.executable, "-m", "zenoh_harness.cli"]
    peer = subprocess.Popen(
        [*zconform, "peer", "--listen", "tcp/127.0.0.1:0", "--format", "json"], stdout=subprocess.PIPE, text=True
    )
    try:
        where = json.loads(peer.stdout.readline())["listening"]
        tap = [*zconform, "tap", "--listen", "tcp/127.0.0.1:0", "--to", where, "--links", "1", "--laws"]
        tapping = subprocess.Popen(
            [*tap, "--record", str(tmp_path / "t.jsonl"), "--format", "json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            here = tapping.stderr.readline().split()[2].rstrip(",")
            speak(here)
            told, _ = tapping.communicate(timeout=30)
        finally:
            tapping.kill()
            tapping.wait()
    finally:
        peer.terminate()
        peer.wait()
        peer.stdout.close()
    document = json.loads(told)
    assert [link["reached"] for link in document["links"]] == [True]
    assert document["recording"] == str(tmp_path / "t.jsonl")
    assert document["findings"] == []


def speak(where):
    """Connect, and leave again."""
    import socket

    host, _, port = where.removeprefix("tcp/").rpartition(":")
    socket.create_connection((host, int(port)), timeout=10).close()
