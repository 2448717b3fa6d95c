"""The first look at a target: what the study left behind is no fault, and what never comes is told before anything is judged."""

from dataclasses import replace

import pytest
from run_fakes import World

from zenoh_conformance.conversation import Conversation, Side
from zenoh_conformance.verdict import Verdict
from zenoh_harness.errors import TargetError
from zenoh_harness.run.health import Health
from zenoh_harness.run.lifecycle import Lifecycle
from zenoh_harness.targets.habits import UNKNOWN
from zenoh_harness.targets.target import Grade, Vitals


def looks_of(*verdicts):
    """Looks that find these, one after the other, at a program that runs."""
    left = list(verdicts)

    def examine(node, budget=None):
        return Health(
            grade=Grade.PROCESS, verdict=left.pop(0), cause="it does not come back to us", latency=0.0,
            vitals=Vitals(running=True), conversation=Conversation(),
        )  # fmt: skip

    return examine


def test_one_that_the_study_left_behind_is_started_anew_for_the_first_look(tmp_path):
    """A node of which a reset session makes one that never comes back, once in a while, is judged all the same."""
    world = World(tmp_path, side=Side.INITIATOR)
    assert Lifecycle(world.target, "default", looks_of(Verdict.HANG, Verdict.PASS)).begin() is None
    assert len(world.target.nodes) == 2


def test_one_that_does_not_come_at_all_cannot_be_judged(tmp_path):
    world = World(tmp_path, side=Side.INITIATOR)
    with pytest.raises(TargetError, match="does not work in profile"):
        Lifecycle(world.target, "default", looks_of(Verdict.HANG, Verdict.HANG)).begin()


def test_one_that_holds_a_session_is_given_time_before_the_first_look_too(tmp_path):
    world = World(tmp_path)
    lifecycle = Lifecycle(
        world.target, "default", looks_of(Verdict.ZOMBIE, Verdict.PASS), habits=replace(UNKNOWN, sessions=1)
    )
    assert lifecycle.begin() is None
    assert len(world.target.nodes) == 1
