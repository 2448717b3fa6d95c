"""Ports that are chosen now and bound later."""

import contextlib
import socket
import subprocess
import sys

import pytest

from zenoh_harness.programs import ports

OTHER = """
from zenoh_harness.programs.ports import reserved_port
with reserved_port() as port:
    print(port, flush=True)
    input()
"""


def choose_from(monkeypatch, first, end):
    """Let there be the ports from `first` to before `end` only."""
    monkeypatch.setattr(ports, "_LOWEST", first)
    monkeypatch.setattr(ports, "_first_ephemeral", lambda: end)


@pytest.mark.needs("linux")
def test_the_kernel_never_gives_a_chosen_port_to_another_program():
    assert ports._LOWEST <= ports.free_port() < ports._first_ephemeral()


@pytest.mark.needs("linux")
def test_two_processes_never_choose_the_same_port(monkeypatch):
    with subprocess.Popen([sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        theirs = int(other.stdout.readline())
        choose_from(monkeypatch, theirs, theirs + 1)
        assert ports.free_port() != theirs
        other.communicate(b"\n")
    assert ports.free_port() == theirs


@pytest.mark.needs("linux")
def test_a_port_at_which_somebody_listens_is_not_chosen(monkeypatch):
    taken = ports.free_port()
    choose_from(monkeypatch, taken, taken + 1)
    with socket.create_server(("127.0.0.1", taken)):
        assert ports.free_port() != taken
    assert ports.free_port() == taken


@pytest.mark.needs("linux")
@pytest.mark.parametrize("error", [None, OSError])
def test_a_port_is_held_while_the_block_runs_and_then_given_back(error):
    with contextlib.suppress(OSError), ports.reserved_port() as port:
        assert ports._lock(port) is None
        if error:
            raise error
    with contextlib.closing(ports._lock(port)) as lock:
        assert lock is not None


@pytest.mark.parametrize("range_file", ["", "not a number", None])
def test_the_kernel_chooses_where_its_range_is_not_known(range_file, tmp_path, monkeypatch):
    if range_file is not None:
        (tmp_path / "range").write_text(range_file)
    monkeypatch.setattr(ports, "_EPHEMERAL", tmp_path / "range")
    with ports.reserved_port() as port:
        assert port > 0
