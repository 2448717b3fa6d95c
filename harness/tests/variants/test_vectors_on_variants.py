"""Golden vectors played to every conforming variant, in both roles: none is red on any of them."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import HarnessError
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene, able
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.play import Player
from zenoh_harness.run.vectors.rows import KINDS, choose_vectors, noticing_vectors, rows
from zenoh_harness.variants import all_variants

HARD = (
    "drops-what-may-be-dropped", "urgent-goes-first", "batch-64", "answers-after-900-ms", "passes-over-what-is-odd-in-a-session",
    "takes-one-link-at-a-time", "answers-nothing-in-a-session",
)  # fmt: skip
"""Variants on which little can be seen of what is read."""


def played(node, side, every=1, of=""):
    """The answers of a node for the vectors of a quick run; `of`: how their ids begin."""
    player = Player(
        lambda number: nullcontext(MemoryScene("", node, role=side, seed=number)),
        routes="routing" in able("default", node),
        side=side,
        exchanged=noticing_vectors({*rows(Selection(), side)}, 1, KINDS[side]),
    )
    quick = choose_vectors(golden(), rows(Selection(), side), "quick", side)[::every]
    chosen = [vector for vector in quick if vector.id.startswith(of)]
    try:
        return [(vector.id, answer) for vector, answer in player.play(chosen, golden())]
    except HarnessError as stopped:
        return [(str(stopped), None)]


def red(answers):
    """What is red."""
    return [(ident, answer.cause) for ident, answer in answers if answer is not None and answer.verdict.is_wrong]


@pytest.mark.parametrize("name", HARD)
def test_no_vector_is_red_on_a_hard_one(name):
    assert red(played(all_variants()[name].node, Side.RESPONDER, 3)) == []


def test_no_vector_is_red_on_an_initiator_that_leaves_as_soon_as_a_session_is_open():
    """It was charged to each vector that the session ended, though no session without one went on."""
    assert red(played(all_variants()["leaves-every-other-session"].node, Side.INITIATOR, 4)) == []


@pytest.mark.parametrize("side", Side)
def test_numbers_that_a_session_does_not_have_are_not_played(side):
    answers = played(all_variants()["numbers-of-8-bits"].node, side, of="fragment/")

    assert red(answers) == []
    assert [ident for ident, answer in answers if answer is not None and answer.verdict is Verdict.PASS]


def test_a_hard_one_is_judged_on_fewer():
    plain, silent = (
        sum(answer.verdict is Verdict.PASS for _, answer in played(node, Side.RESPONDER, 3))
        for node in (Reference, all_variants()["answers-nothing-in-a-session"].node)
    )
    assert silent < plain


@pytest.mark.soak
@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("name", sorted(all_variants()))
def test_no_vector_is_red_on_any(name, side):
    assert red(played(all_variants()[name].node, side)) == []
