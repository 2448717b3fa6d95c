"""Hostile nodes: every run ends by itself, in bounded time and memory, and says what the node did."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from zenoh_harness import cli
from zenoh_harness.links.timing import scaled

NODE = Path(__file__).parents[1] / "hostile_node.py"
SANE = ("--only", "establishment-sane/a-sane-handshake-is-accepted", "--only", "keep-alive/*")
SECONDS, MEMORY = 60.0, 250 << 20
"""What a quick run of one may take: seconds on two idle cores, and bytes."""
EVIDENCE = 1 << 18
"""Bytes that are enough to show what it did in a look at its health."""

KINDS = {
    "keep_alives": "messages that nobody asked for",
    "fragments": "bytes that nobody asked for",
    "compressed": "8 Mi bytes unpacked that nobody asked for",
    "pushes": "bytes that nobody asked for",
    "subscribers": "messages that nobody asked for",
    "strangers": "messages that nobody asked for",
    "noise": "does not answer an InitSyn as Zenoh does",
    "one_by_one": "silence where InitAck is required",
    "extensions": "Exit 1: deviates from the specification",
    "long_cookie": "9223372036854775808 is beyond 65535",
    "one_byte": "ends the link instead of answering",
    "silent": "does not answer",
    "deaf": "session-establishment/session-live-after-open-ack",
    "half": "session-establishment/session-live-after-open-ack",
    "forks": "session-establishment/session-live-after-open-ack",
    "log_flood": "session-establishment/session-live-after-open-ack",
}


def reach(how):
    return f"exec:{shlex.join([sys.executable, str(NODE), how])} {{port}}"


@pytest.mark.parametrize("how", ["keep_alives", "fragments", "noise"])
def test_a_short_run_of_a_hostile_node_says_what_it_did(how, tmp_path, capsys):
    assert cli.invoke(["run", reach(how), *SANE, "--out", str(tmp_path / "r")]) in (1, 3, 4)
    shown = capsys.readouterr()
    assert KINDS[how] in shown.out + shown.err
    assert all(file.stat().st_size < EVIDENCE for file in tmp_path.glob("r/evidence/*stays-up*"))


@pytest.mark.soak
@pytest.mark.parametrize("how", KINDS)
def test_a_quick_run_of_a_hostile_node_ends_in_time(how, tmp_path):
    command = [
        sys.executable,
        "-m",
        "zenoh_harness.cli",
        "run",
        reach(how),
        "--depth",
        "quick",
        "--out",
        tmp_path / "r",
    ]
    with (tmp_path / "shown").open("wb") as shown:
        run = subprocess.Popen(["timeout", str(scaled(4 * SECONDS)), *command], stdout=shown, stderr=shown)
    _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    assert run.returncode in (0, 1, 3, 4)
    assert used.ru_utime + used.ru_stime < SECONDS
    assert used.ru_maxrss * 1024 < MEMORY
    assert KINDS[how] in (tmp_path / "shown").read_text()
