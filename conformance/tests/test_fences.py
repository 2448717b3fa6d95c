"""Fences: each kind is passed by a node that can, and by no other."""

from dataclasses import replace

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.cases.controls import Ground
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.reading.conversation import Happened, Side
from zenoh_conformance.talking.fences import BY_QUERY, Fence, Fencing, best, settle
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import Action
from zenoh_harness.reference.memory import MemoryScene, fencing_of
from zenoh_harness.variants import all_variants
from zenoh_harness.variants.table import Came, once


class Mute(Reference):
    """It opens sessions, and answers nothing in them."""

    def received(self, link, data, now):
        actions = super().received(link, data, now)
        return [
            action for action in actions if action.end or (len(action.data) > 2 and action.data[2] & 0x1F in (1, 2))
        ]


class FinishesAnother(Reference):
    """It ends each query with a RESPONSE_FINAL of another request id."""

    def on_request(self, link, request):
        super().on_request(link, replace(request, id=request.id + 1))


class EndsAnother(Reference):
    """It ends each interest in what is current with the DFINAL of another interest."""

    def on_interest(self, link, interest):
        super().on_interest(link, replace(interest, id=interest.id + 1))


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


@pytest.mark.parametrize("how", [how for how in Fence if how is not Fence.DECLARATION])
def test_a_usual_node_passes_every_fence_but_that_of_who_declares_back(how):
    assert isinstance(fenced(Reference, how), list)


def test_who_declares_back_is_fenced_by_a_declaration():
    assert [seen.kind for seen in fenced(ONLY[Fence.DECLARATION], Fence.DECLARATION)] == [
        "frame",
        "declare",
        "d_subscriber",
    ]


@pytest.mark.parametrize(
    ("node", "how", "says"),
    [
        (Mute, Fence.QUERY, "silence where ResponseFinal"),
        (FinishesAnother, Fence.QUERY, "silence where ResponseFinal"),
        (Mute, Fence.INTEREST, "silence where Declare"),
        (EndsAnother, Fence.INTEREST, "silence where Declare"),
        (Reference, Fence.DECLARATION, "silence where Declare"),
        (Closing, Fence.DECLARATION, "Close"),
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
    end = "the end of the link after our CLOSE, and until then a quiet time of 0.25 s"
    assert str(Fencing(how=Fence.END, quiet=0.25)) == end


# -- the variants that can be fenced in one way only

ONLY = {
    Fence.QUERY: all_variants()["answers-no-interests"].node,
    Fence.INTEREST: all_variants()["finishes-no-queries"].node,
    Fence.DECLARATION: all_variants()["declares-back"].node,
    Fence.END: all_variants()["answers-nothing-in-a-session"].node,
    Fence.QUIET: all_variants()["ends-links-in-its-own-time"].node,
}


class Deaf:
    """It is deaf in a session whose lease is stated in milliseconds."""

    def on_message(self, link, seen):
        if not (link.live and is_odd(link)):
            super().on_message(link, seen)


class Hasty:
    """It ends a session whose lease is stated in milliseconds, before long, or when something is said in it."""

    def on_message(self, link, seen):
        self.end(link) if link.live and is_odd(link) else super().on_message(link, seen)

    def on_time(self, link):
        self.end(link) if link.live and is_odd(link) else super().on_time(link)


def is_odd(link):
    return link.their_open is not None and not link.their_open.lease_in_seconds


@pytest.mark.parametrize("how", ONLY)
@pytest.mark.parametrize("role", list(Side))
def test_each_kind_is_learnt_of_a_node_that_can_be_fenced_so_only(how, role):
    assert fencing_of(ONLY[how], role, "default").how is how


class Starts(Reference):
    """It is busy when a session begins: of the first query there it says nothing."""

    def on_request(self, link, request):
        if link.name in self.known:
            super().on_request(link, request)
        self.known.add(link.name)

    def __init__(self, *text):
        super().__init__(*text)
        self.known = set()


def test_one_answer_that_is_missing_makes_no_other_node_of_it():
    us = MemoryScene("a/b", Starts, role=Side.RESPONDER).session()
    assert best(us, 0.5, 0.5) == (BY_QUERY, frozenset())


LEASES = {
    Side.RESPONDER: "establishment-sane/a-lease-in-either-unit-is-accepted",
    Side.INITIATOR: "initiator-open-ack/our-lease-is-taken-in-either-unit",
}
SECONDS, MILLISECONDS = {"seconds": True, "lease": 10}, {"seconds": False, "lease": 10_000}


def came(node, role, values):
    case = all_cases()[LEASES[role]]
    return once(case, values, node, Ground(all_cases()))[0].came


@pytest.mark.parametrize("how", ONLY)
@pytest.mark.parametrize("role", list(Side))
def test_each_kind_convicts_who_does_not_keep_a_session(how, role):
    """A quiet time alone knows nothing of who is deaf, but who ends his sessions does not outlive it."""
    faults = (Hasty,) if how is Fence.QUIET else (Deaf, Hasty)
    for fault in faults:
        node = type("Faulty", (fault, ONLY[how]), {})
        assert fencing_of(node, role, "default").how is how
        assert came(node, role, SECONDS) is Came.GREEN
        assert came(node, role, MILLISECONDS) is Came.RED


def test_the_end_of_links_is_asked_of_sessions_that_are_live_and_were_fenced():
    scene = MemoryScene("a/b", ONLY[Fence.END])
    fenced, left, never = scene.sessions("fenced", "left", "never")
    fenced.fence()
    left.fence()
    left.leave()
    settle(scene.dialogues)
    assert (fenced.ended, never.ended) == (Happened.EOF, None)
    assert fenced.left
    assert not never.left
