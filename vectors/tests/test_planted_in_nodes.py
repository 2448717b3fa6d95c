"""Faults planted in the codec of a whole node in memory are noticed by vectors that are played to it."""

from __future__ import annotations

import pytest
from mutation import in_nodes
from mutation.engine import Mutant

SHOWN = {
    "push/put-payload: another value": "router",
    "reply/reply-id: another id": "router",
    "declarations/undeclare-subscriber-id: another id": "router",
    "declarations/token-id: another id": "router",
    "push/del-id: another id": "receiver",
}


@pytest.fixture(scope="module")
def faults():
    return {fault.name: fault for fault in in_nodes.every_fault()}


@pytest.mark.parametrize("name", SHOWN)
def test_a_planted_fault_is_noticed_at_a_node(vectors, faults, name):
    assert next(in_nodes.shown(faults[name], SHOWN[name], vectors), None) is not None


@pytest.mark.parametrize("kind", in_nodes.KINDS)
def test_a_node_without_a_fault_is_not_red(vectors, kind):
    assert [*in_nodes.shown(Mutant("none", ()), kind, [one for one in vectors if one.core])] == []
