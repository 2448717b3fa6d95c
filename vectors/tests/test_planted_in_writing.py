"""Faults planted in what a whole node in memory writes are red in the checks that the table names."""

from __future__ import annotations

import pytest
from mutation import in_writing

from zenoh_conformance.messages import Close
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.run.vectors.seen_rows import written_on

SHOWN = [
    ("push/put-payload", "another value", Side.RESPONDER),
    ("declarations/token-id", "another id", Side.RESPONDER),
    ("message-reference/declare-interest-id", "another value", Side.RESPONDER),
    ("reply/err-payload", "another value", Side.INITIATOR),
]


@pytest.fixture(scope="module")
def faults():
    return {(fault.requirement, fault.name): fault for fault in in_writing.every_fault()}


@pytest.mark.parametrize(("row", "name", "role"), SHOWN)
def test_a_mis_writing_is_red_where_the_table_says(faults, row, name, role):
    named = frozenset(check for checks in written_on()[role.value][row] for check in checks)
    red = in_writing.checks_that_show(faults[row, name], role, named)
    assert red and set(red) & named


def test_a_batch_is_changed_in_its_row_alone(faults):
    batch = encode(Close(reason=2))
    assert in_writing.miswrite(batch, faults["close/reason-invalid", "another one"]) == encode(Close(reason=3))
    assert in_writing.miswrite(batch, faults["push/put-payload", "another value"]) == batch
