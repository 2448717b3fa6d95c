"""Ports that are chosen now and bound later."""

import socket
import subprocess
import sys

import pytest

from zenoh_harness.programs import ports

OTHER = "from zenoh_harness.programs.ports import free_port; print(free_port(), flush=True); input()"


@pytest.fixture(autouse=True)
def no_reservations(monkeypatch):
    """Reservations of the test alone, released at its end."""
    monkeypatch.setattr(ports, "_reserved", type(ports._reserved)())
    yield
    for lock in ports._reserved:
        lock.close()


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
    ports._reserved.pop().close()
    choose_from(monkeypatch, taken, taken + 1)
    with socket.create_server(("127.0.0.1", taken)):
        assert ports.free_port() != taken
    assert ports.free_port() == taken


def test_old_reservations_are_released():
    chosen = [ports.free_port() for _ in range(ports._KEPT + 3)]
    assert len(ports._reserved) <= ports._KEPT
    assert all(chosen)


@pytest.mark.parametrize("range_file", ["", "not a number", None])
def test_the_kernel_chooses_where_its_range_is_not_known(range_file, tmp_path, monkeypatch):
    if range_file is not None:
        (tmp_path / "range").write_text(range_file)
    monkeypatch.setattr(ports, "_EPHEMERAL", tmp_path / "range")
    assert ports.free_port() > 0
    assert not ports._reserved


@pytest.mark.needs("linux")
def test_the_newest_reservations_are_kept(monkeypatch):
    """A program that was started a moment ago may not have bound its port yet."""
    monkeypatch.setattr(ports, "_KEPT", 2)
    locks = [ports._lock(port) for port in [ports.free_port() for _ in range(3)]]
    assert [lock is None for lock in locks] == [False, True, True]
    locks[0].close()
