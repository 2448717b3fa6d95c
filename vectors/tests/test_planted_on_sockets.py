"""Faults planted in the codec of a whole node are found by the vectors of a run over a socket, which knows nothing of them."""

from __future__ import annotations

import pytest
from mutation import by_hand, in_nodes
from mutation.on_socket import reds_on_socket
from mutation.unseen import UNSEEN

from zenoh_harness.run.vectors.rows import RECEIVER, ROUTER

LEAST = {ROUTER: 0.9, RECEIVER: 0.5}
"""Of the faults that a session can show, this share at least is noticed."""

SHOWN = [
    ("push/put-payload: another value", ROUTER),
    ("primitives/string: parameters are Latin-1", RECEIVER),
]


def seen_in_sessions():
    """The faults made by hand but those of messages that no session has, and those that nothing shows at the reference."""
    return [
        fault
        for fault in by_hand.mutants()
        if fault.name not in UNSEEN and not fault.requirement.startswith(in_nodes.UNHEARD)
    ]


@pytest.mark.parametrize(("name", "kind"), SHOWN)
def test_a_planted_fault_is_noticed_over_a_socket(tmp_path, name, kind):
    row = name.partition(":")[0]
    assert row in reds_on_socket(name, kind, tmp_path, f"vectors/{row}", depth="quick")


@pytest.mark.soak
@pytest.mark.parametrize("kind", LEAST)
def test_the_share_that_vectors_notice(tmp_path, capsys, kind):
    assert reds_on_socket("", kind, tmp_path / "none") == set()
    faults, missed, by_row = seen_in_sessions(), [], 0
    for number, fault in enumerate(faults):
        red = reds_on_socket(fault.name, kind, tmp_path / str(number))
        by_row += fault.requirement in red
        if not red:
            missed.append(fault.name)
    with capsys.disabled():
        print(f"\n{kind}: {len(faults) - len(missed)} of {len(faults)} noticed, {by_row} in their row; not {missed}")
    assert len(faults) - len(missed) >= LEAST[kind] * len(faults)
