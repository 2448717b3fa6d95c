"""A process and all below it, as the kernel lists them."""

import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from zenoh_harness.programs.processes import process_and_descendants, usage_of

FORKS = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=0); print(p.pid, flush=True); p.wait()"


@pytest.fixture
def parent():
    """A process with one child; its pid and the child's."""
    with subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        yield program.pid, int(program.stdout.readline())
        program.stdin.close()


def test_a_child_counts(parent):
    assert [process.pid for process in process_and_descendants(parent[0])] == list(parent)
    usage = usage_of(parent[0])
    assert usage.processes == 2
    assert usage.memory > usage_of(parent[1]).memory > 0


def test_a_child_that_a_thread_started_counts(parent):
    mine = []
    thread = threading.Thread(
        target=lambda: mine.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))
    )
    thread.start()
    thread.join()
    [child] = mine
    try:
        assert child.pid in [process.pid for process in process_and_descendants(psutil.Process().pid)]
    finally:
        child.stdin.close()
        child.wait()


def test_what_goes_during_the_look_has_no_usage(monkeypatch):
    """Its folder of threads was there a moment ago."""

    def gone(_path, _pattern):
        raise FileNotFoundError

    with subprocess.Popen(["true"]) as ended:
        pass
    monkeypatch.setattr(Path, "glob", gone)
    assert usage_of(ended.pid) is None


def test_what_is_gone_has_no_usage():
    with subprocess.Popen(["true"]) as gone:
        pass
    assert usage_of(gone.pid) is None
