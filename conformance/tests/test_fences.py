"""Fences: each kind is passed by a node that can, and by no other."""

import pytest

from zenoh_conformance.conversation import Side
from zenoh_conformance.fences import BY_QUERY, Fence, Fencing
from zenoh_conformance.finding import Deviation
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.memory import MemoryScene


class Mute(Reference):
    """It opens sessions, and answers nothing in them."""

    def received(self, link, data, now):
        actions = super().received(link, data, now)
        return [
            action for action in actions if action.end or (len(action.data) > 2 and action.data[2] & 0x1F in (1, 2))
        ]


class Closing(Reference):
    """It ends each session at the first thing that is said in it, without an answer."""

    def received(self, link, data, now):
        was_live = link in self.links and self.links[link].live
        actions = super().received(link, data, now)
        return [Action(link=link, data=b"\x02\x00\x23\x00", end=True)] if was_live else actions


def fenced(node, how):
    us = MemoryScene("a/b", node, role=Side.RESPONDER).session()
    us.fencing = Fencing(how=how, quiet=0.5)
    return us.fence()


@pytest.mark.parametrize("how", list(Fence))
def test_a_usual_node_passes_every_fence(how):
    assert isinstance(fenced(Reference, how), list)


@pytest.mark.parametrize(
    ("node", "how", "says"),
    [
        (Mute, Fence.QUERY, "silence where ResponseFinal"),
        (Mute, Fence.INTEREST, "silence where Declare"),
        (Closing, Fence.QUERY, "Close"),
        (Closing, Fence.INTEREST, "Close"),
    ],
)
def test_who_does_not_answer_does_not_pass(node, how, says):
    with pytest.raises(Deviation, match=says):
        fenced(node, how)


@pytest.mark.parametrize("how", [Fence.QUIET, Fence.NOTHING])
def test_who_says_nothing_passes_a_quiet_time(how):
    assert fenced(Mute, how) == []


def test_who_ends_the_session_does_not_outlive_a_quiet_time():
    us = MemoryScene("a/b", Closing, role=Side.RESPONDER).session()
    us.fencing = Fencing(how=Fence.QUIET, quiet=0.5)
    us.publish("a", b"x")
    with pytest.raises(Deviation, match=r"close:0 where a session that goes on"):
        us.fence()


def test_a_fence_says_what_it_is():
    assert str(BY_QUERY) == "a query that nobody serves"
    assert str(Fencing(how=Fence.QUIET, quiet=0.25)) == "a quiet time of 0.25 s"
