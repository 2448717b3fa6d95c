"""Patience on a busy machine."""

import os

import pytest

from zenoh_harness.links.timing import MOST_STRAIN, strain


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
