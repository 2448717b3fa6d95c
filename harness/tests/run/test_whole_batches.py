"""Vectors that are whole batches, chains of FRAGMENTs or key expressions, played to nodes in memory."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import Fragment
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.profiles import DEFAULT, PROFILES
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.vectors.codec_run import golden
from zenoh_harness.run.vectors.play import Player
from zenoh_harness.run.vectors.standing import VectorInSession, standing

LAYERS = ("batch", "stream", "lowlatency", "keyexpr", "conversation")


def played(node, side=Side.RESPONDER, profile=DEFAULT):
    """The answers of a node for all vectors that are no single message, by their ids."""
    player = Player(
        lambda number: nullcontext(MemoryScene("", node, role=side, profile=profile, seed=number)),
        routes=True,
        side=side,
        profile=PROFILES[profile],
    )
    some = [one for one in golden() if one.layer in LAYERS and isinstance(standing(one, side), VectorInSession)]
    return {vector.id: answer for vector, answer in player.play(some, golden())}


def reds(answers):
    """The ids and causes of what is red."""
    return {ident: answer.cause for ident, answer in answers.items() if answer.verdict.is_wrong}


@pytest.mark.parametrize(("side", "profile"), [(side, DEFAULT) for side in Side] + [(Side.RESPONDER, "low-latency")])
def test_none_is_red_on_the_reference(side, profile):
    assert reds(played(Reference, side, profile)) == {}


def test_batches_and_keys_are_judged_by_what_is_passed_on():
    answers = played(Reference)
    assert all(answers[one].verdict is Verdict.PASS for one in ("batch/two-frames", "fragments/3", "keyexpr/star"))
    assert answers["keyexpr/hash"].cause.startswith("survived"), "a node may drop it and go on"


def test_a_chain_that_is_not_reassembled_is_found():
    class ForgetsFragments(Reference):
        def on_session(self, link, message):
            if not isinstance(message, Fragment):
                super().on_session(link, message)

    found = reds(played(ForgetsFragments))
    assert found == {
        "fragments/together-in-a-batch": "nothing is passed on"
    }  # what markers mean is left open in the others


def test_a_frame_is_no_batch_of_a_low_latency_session():
    answers = played(Reference, profile="low-latency")
    assert answers["lowlatency/frame"].verdict is Verdict.PASS
    assert answers["lowlatency/push"].verdict is Verdict.PASS
