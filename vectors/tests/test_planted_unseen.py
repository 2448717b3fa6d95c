"""Each fault made by hand is noticed at a node in memory by vectors or a case, or it is known why nothing shows it."""

from __future__ import annotations

import pytest
from mutation import by_hand, in_nodes, in_writing
from mutation.engine import compiled
from mutation.unseen import BY_CASES, UNSEEN

from zenoh_conformance.cases.case import all_cases
from zenoh_harness.reference import Reference


@pytest.fixture(scope="module")
def faults():
    return {fault.name: fault for fault in by_hand.mutants()}


@pytest.mark.parametrize("name", BY_CASES)
def test_a_case_shows_what_vectors_do_not(faults, name):
    case, node = all_cases()[BY_CASES[name]], in_nodes.with_fault(Reference, compiled(faults[name]))
    every = case.parameters or ({},)
    assert any(in_writing.reds_of(case, one, node)[0] - in_writing.reds_of(case, one, Reference)[0] for one in every)


@pytest.mark.soak
def test_vectors_of_a_quick_run_show_all_others(faults, capsys):
    missed = {
        name for name, fault in faults.items() if not any(in_nodes.red_in_run(fault, kind) for kind in in_nodes.KINDS)
    }
    with capsys.disabled():
        print(
            f"\n{len(faults) - len(missed)} of {len(faults)} by vectors, {len(BY_CASES)} by cases, {len(UNSEEN)} by nothing"
        )
    assert missed == {*BY_CASES, *UNSEEN}
