"""Faults planted in what a whole node in memory reads are red in the checks that the table names."""

from __future__ import annotations

import pytest
from mutation import in_reading

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.run.vectors.seen_rows import read_on

SHOWN = 4
"""So many rows of each role are looked at; the soak derives all."""


@pytest.mark.parametrize("role", Side)
def test_a_misreading_is_red_where_the_table_says(role):
    table = read_on()[role.value]
    for row in list(table)[:: max(1, len(table) // SHOWN)]:
        faults = [one for one in in_reading.every_fault(role) if one.requirement == row]
        named = frozenset(check for checks in table[row] for check in checks)
        cases = frozenset(filter(all_cases().get, named))  # where only laws are named, all cases are tried
        assert any(set(in_reading.checks_that_show(one, role, cases)) & named for one in faults), row


@pytest.mark.soak
@pytest.mark.parametrize("role", Side)
def test_the_table_is_what_is_derived(role):
    derived = in_reading.judged_by_checks(role, in_reading.every_fault(role))
    assert {row: tuple(map(tuple, faults)) for row, faults in derived.items()} == dict(read_on()[role.value])
