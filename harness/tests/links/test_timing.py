"""Patience on a busy machine."""

import os

import pytest

from zenoh_harness.links import timing
from zenoh_harness.links.timing import MOST_STRAIN, UnstarvedDeadline, strain


@pytest.mark.parametrize(
    ("load", "cores", "times"), [(0.0, 2, 1.0), (4.0, 2, 1.0), (8.0, 2, 3.0), (400.0, 2, MOST_STRAIN), (8.0, 8, 1.0)]
)
def test_silence_is_waited_for_as_long_as_the_machine_is_busy(load, cores, times, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: cores)

    assert strain() == times


def test_where_no_load_is_told_nothing_is_stretched(monkeypatch):
    monkeypatch.delattr(os, "getloadavg")

    assert strain() == 1.0


@pytest.mark.parametrize(
    ("starved", "now", "left"), [(0, 9, 1), (0, 10, 0), (3, 9, 1), (3, 10, 3), (3, 13, 0), (70, 10, 20)]
)
def test_a_deadline_moves_by_what_a_program_waited_for_a_processor(starved, now, left, monkeypatch):
    monkeypatch.setattr(timing.time, "monotonic", lambda: float(now))
    deadline = UnstarvedDeadline(10.0, lambda: starved, most=20.0)
    assert (deadline.remaining(), deadline.passed) == (left, not left)
    assert deadline.or_sooner(1000.0).remaining() == left
