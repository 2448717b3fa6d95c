"""Faults planted in the codec of a whole node in memory are noticed by vectors that are played to it."""

from __future__ import annotations

import pytest
from mutation import in_nodes
from mutation.engine import compiled

from zenoh_harness.run.vectors.carriers import carriers_at
from zenoh_harness.run.vectors.effects import NOT_PLAYED
from zenoh_harness.run.vectors.rows import also_shown, judged_on

SHOWN = {
    "push/put-payload: another value": "router",
    "reply/reply-id: another id": "router",
    "declarations/undeclare-subscriber-id: another id": "router",
    "declarations/token-id: another id": "router",
    "push/del-id: another id": "receiver",
    "primitives/vle-ninth-byte: a tenth byte follows": "receiver",
    "primitives/z64-width: nine bytes are too many": "receiver",
    "message-reference/network-id-range: an unassigned network id is taken": "receiver",
    "message-reference/data-ids-scoped-to-body: QUERY in PUSH": "router",
    "message-reference/data-ids-scoped-to-body: PUT in REQUEST": "router",
    "primitives/strings-are-utf8: what is no UTF-8 is replaced": "router",
    "primitives/key-expression-grammar: a chunk may be empty": "router",
    "primitives/extension-encoding-3-not-used: ENC 11 of OAM is a unit": "receiver",
    "message-reference/id-ranges-disjoint: a network message is taken for a transport message": "receiver",
    "primitives/truncated-is-refused: Open: a cookie that is cut short is what there is": "receiver",
    "message-reference/id-ranges-disjoint: a transport message is taken for a network message": "router",
    "framings: one message a batch": "router",
    "bodies: M of FRAGMENT the other way round": "router",
    "writers: FRAGMENT's M and R changed over": "router",
    "writers: FRAGMENT's bytes behind a length": "router",
    "primitives/extension-id: three bits of the id": "router",
    "primitives/vle-ninth-byte: ten bytes, as the pseudo-code has it": "router",
    "values: the lease is thirty-two bits": "router",
    "batching/low-latency-framing: no KEEP_ALIVE in a low-latency batch": "low-latency",
    "primitives/zid-length: at most eight bytes": "multicast",
    "primitives/whatami-3-refused: Join: role 3 is a client": "multicast",
    "bodies: JOIN's T is OPEN's": "multicast",
    "join/qos-eight-pairs: JOIN's pairs the other way round": "multicast-qos",
    "join/qos-eight-pairs: JOIN's pairs are seven": "multicast-qos",
}


@pytest.fixture(scope="module")
def faults():
    return {fault.name: fault for fault in in_nodes.every_fault()}


@pytest.mark.parametrize("name", SHOWN)
def test_a_planted_fault_is_noticed_at_a_node(vectors, faults, name):
    assert next(in_nodes.shown(faults[name], SHOWN[name], vectors), None) is not None


@pytest.mark.parametrize("kind", in_nodes.KINDS)
def test_a_node_without_a_fault_is_not_red(kind):
    some = [one for one in in_nodes.playable(kind) if one.core or kind in in_nodes.IN_PROFILES]
    answers = in_nodes.player_for(kind, in_nodes.BASES[kind]).play(some, in_nodes.controls(in_nodes.KINDS[kind]))
    assert [one.id for one, answer in answers if answer.verdict.is_wrong] == []


def table_of(kind):
    """The table by which runs judge, as the derivation makes it."""
    return {row: list(ids) for row, ids in judged_on()[kind].items()}


@pytest.mark.parametrize("kind", in_nodes.KINDS)
def test_some_rows_of_the_table_are_what_is_derived(vectors, kind):
    table = table_of(kind)
    some = list(table)[min(5, len(table) - 1) :: max(1, len(table) // 2)]
    assert in_nodes.judged_on(kind, vectors, some) == {row: table[row] for row in some}


@pytest.mark.parametrize("kind", in_nodes.KINDS)
def test_a_quick_run_plays_what_shows_the_other_faults(kind):
    also = {ident for ids in also_shown()[kind].values() for ident in ids}
    assert also <= {one.id for one in in_nodes.of_a_run("quick", kind)}


def test_what_takes_bytes_of_the_next_message_is_noticed_in_one_frame(vectors, faults):
    node = in_nodes.with_fault(in_nodes.BASES["router"], compiled(faults["strings: DEL with a payload"]))
    some = [one for one in vectors if one.id in ("push/carries-del", "push/ext-node-id-alone")]
    played = in_nodes.player_for("router", node, rows=carriers_at("quick")).play(some)
    assert [one.id for one, answer in played if answer.verdict.is_wrong] == ["push/carries-del"]


@pytest.mark.parametrize("kind", ["router", "receiver", "initiator"])
def test_numbers_of_the_node_are_said_as_ours(vectors, kind):
    side = in_nodes.KINDS[kind]
    some = [
        one for one in vectors if one.id in ("push/key-scope-128", "interest/key-scope-128", "d-token/key-scope-128")
    ]
    played = in_nodes.player_for(kind, in_nodes.BASES[kind]).play(some, in_nodes.controls(side))
    assert [answer.verdict.is_wrong or answer.cause.startswith(NOT_PLAYED) for _, answer in played] == [False] * 3


@pytest.mark.soak
@pytest.mark.parametrize("kind", in_nodes.KINDS)
def test_the_table_is_what_is_derived(vectors, kind):
    assert in_nodes.judged_on(kind, vectors) == table_of(kind)


IN_RUNS = (
    "push/del-id: another id",
    "primitives/vle-ninth-byte: a tenth byte follows",
    "primitives/z64-width: nine bytes are too many",
    "primitives/vle-seven-bits: high group first",
    "primitives/string: parameters are Latin-1",
    "primitives/strings-are-utf8: what is no UTF-8 is escaped",
    "interests/final-carries-only-id: a final INTEREST has options",
    "bodies: M of FRAGMENT the other way round",
)
"""Faults that the vectors of a quick run show at a receiver, which forwards nothing and has no agent."""


@pytest.mark.parametrize("name", IN_RUNS)
def test_a_quick_run_notices_at_a_receiver(faults, name):
    assert in_nodes.red_in_run(faults[name], "receiver")


def test_what_shows_an_effect_may_not_work_either(faults):
    """A node that answers no query of ours ended the play with an error of ours."""
    assert in_nodes.red_in_run(faults["primitives/vle-seven-bits: eight bits a group"], "router")
