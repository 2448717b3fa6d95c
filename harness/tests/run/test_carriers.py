"""The same vector in each carrier: nodes that misread it in one of them only are found, and the carrier is named."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from zenoh_conformance.messages import CloseReason, Del, Frame, Put
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Refused
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.vectors.carriers import CARRIERS, PACKINGS, SMALL, carriers_at
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.play import Player

SOME = [one for one in golden() if one.core and one.layer == "network" and len(one.data) <= SMALL]


def in_fragments(node, link):
    return not isinstance(node.carried_by, Frame)


def in_frame_with_others(node, link):
    return isinstance(node.carried_by, Frame) and len(node.carried_by.messages) > 1


def in_mixed_batch(node, link):
    return node.in_batch > 1


def compressed(node, link):
    return link.terms.compression


def bare(node, link):
    return link.terms.lowlatency


WHERE = {
    "in FRAGMENTs": (in_fragments, "default"),
    "in one FRAME with others": (in_frame_with_others, "default"),
    "in a batch with other messages": (in_mixed_batch, "default"),
    "in a session with Compression": (compressed, "compression"),
    "in a session with LowLatency": (bare, "low-latency"),
}
"""The carrier, as it is named, to when a node is in it, and the profile that it needs."""


class Carried(Reference):
    """Knows by what a message came, and is wrong in `where` only."""

    carried_by = None
    in_batch = 0
    where = staticmethod(lambda node, link: False)

    def received(self, *given):
        self.in_batch = 0
        return super().received(*given)

    def on_session(self, link, message):
        self.carried_by, self.in_batch = message, self.in_batch + 1
        super().on_session(link, message)


class EndsAtDel(Carried):
    def on_push(self, link, push, **options):
        if isinstance(push.body, Del) and self.where(self, link):
            raise Refused(CloseReason.INVALID, "what is a DEL?")
        super().on_push(link, push, **options)


class CutsPayloads(Carried):
    def on_push(self, link, push, **options):
        if isinstance(push.body, Put) and self.where(self, link):
            push = replace(push, body=replace(push.body, payload=push.body.payload[1:]))
        super().on_push(link, push, **options)


def reds(base, where, *, routes, profile):
    """What is red, by id, on a node that is wrong there."""
    receives = {} if routes else {"receivers": lambda self, link, key: []}
    node = type("Node", (base,), {"where": staticmethod(where), **receives})
    scene = lambda number: nullcontext(MemoryScene("", node, seed=number, profile=profile))  # noqa: E731
    player = Player(scene, routes=routes, rows=carriers_at("full"), few=2)
    answers = player.play(SOME, golden())
    return {one.id: answer.cause for one, answer in answers if answer.verdict.is_wrong}, player.carried


@pytest.mark.parametrize("routes", [True, False], ids=["router", "receiver"])
@pytest.mark.parametrize("name", WHERE)
def test_a_node_that_ends_at_del_in_one_carrier_is_found_and_the_carrier_named(name, routes):
    where, profile = WHERE[name]
    found, _ = reds(EndsAtDel, where, routes=routes, profile=profile)
    assert found and all(ident.startswith("del/") for ident in found)
    assert set(found.values()) == {f"refused: Close(INVALID) (only {name})"}


@pytest.mark.parametrize("name", WHERE)
def test_a_router_that_reads_another_value_in_one_carrier_is_found(name):
    where, profile = WHERE[name]
    found, _ = reds(CutsPayloads, where, routes=True, profile=profile)
    assert any(cause.startswith("push.put.payload: ") for cause in found.values())
    assert all(cause.endswith(f"(only {name})") for cause in found.values())


@pytest.mark.parametrize("profile", ["default", "compression", "low-latency"])
def test_the_reference_reads_the_same_in_each_carrier_that_it_settles(profile):
    found, carried = reds(Carried, lambda node, link: False, routes=True, profile=profile)
    assert found == {} and min(carried.values()) > 8
    assert len(carried) == {"default": 3, "compression": 7, "low-latency": 4}[profile]


def test_a_carrier_that_a_node_cannot_read_at_all_is_no_fault_of_each_row():
    class NoFragments(Carried):
        def on_fragment(self, link, fragment):
            raise Refused(CloseReason.INVALID, "no fragments")

    found, carried = reds(NoFragments, lambda node, link: False, routes=True, profile="default")
    assert found == {} and len(carried) == 2


@pytest.mark.parametrize("routes", [True, False], ids=["router", "receiver"])
def test_a_node_that_reads_only_the_first_frame_of_a_batch_is_charged_with_no_row(routes):
    """wheel:1.5.1 does so, which a script of its own shows: 32 rows were red."""

    class ReadsOneFrame(Carried):
        def on_session(self, link, message):
            if not (isinstance(message, Frame) and self.in_batch > 1):
                super().on_session(link, message)

    found, carried = reds(ReadsOneFrame, lambda node, link: False, routes=routes, profile="default")
    assert found == {} and len(carried) == 2


def test_each_value_of_the_dimension_has_a_way_of_packing():
    assert {*map(str, CARRIERS[1].values)} == {*PACKINGS}
