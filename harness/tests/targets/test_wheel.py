"""The real zenoh-rust 1.10.2, started in every profile and every role, and ended."""

import math
import os
import signal
from dataclasses import replace

import psutil
import pytest

from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import CannotStart, UsageError
from zenoh_harness.links.timing import Deadline
from zenoh_harness.profiles import PROFILES
from zenoh_harness.programs import processes
from zenoh_harness.run.node import health
from zenoh_harness.targets import target
from zenoh_harness.targets.adapters.wheel import WheelTarget, patience_of
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import Grade, NodeTarget

VERSION = "1.10.2"


def wheel(options=""):
    return target.open_target(parse(f"wheel:{VERSION}{options}"))


def test_is_a_node_target_with_every_profile():
    router = wheel()
    assert isinstance(router, NodeTarget)
    assert list(router.profiles) == list(PROFILES)
    assert (router.identity.name, router.identity.version, router.side) == ("zenoh-rust", VERSION, Side.RESPONDER)


@pytest.mark.parametrize("profile", PROFILES)
def test_works_in_every_profile(profile):
    with wheel().start(profile) as node:
        found = health.check(node)
    assert (found.grade, found.verdict.value, found.cause) == (Grade.FUNCTIONAL, "pass", "")
    assert node.program.ended
    assert not processes.running()


@pytest.mark.parametrize("options", ["?role=client", "?role=peer", "?role=router&as=initiator"])
def test_comes_to_us_as_initiator(options):
    with wheel(options).start() as node:
        assert node.side is Side.INITIATOR
        for _ in range(3):
            assert health.check(node).verdict.value == "pass"


def test_a_peer_may_listen_too():
    with wheel("?role=peer&as=responder").start() as node:
        assert node.side is Side.RESPONDER
        assert health.check(node).grade is Grade.FUNCTIONAL


def test_says_the_version_that_its_package_has():
    """The release that was asked for is what the harness takes it for until the node has said so."""
    node = wheel()
    node.identity = replace(node.identity, version="unknown")

    node.start().stop()

    assert node.identity.version == VERSION


def test_has_the_id_that_was_asked_for():
    with wheel("?zid=c0ffee").start() as node:
        assert node.zid == "c0ffee"
        assert node.agent.zid == "c0ffee"


@pytest.mark.parametrize("version", ["1.0.0", VERSION])
def test_an_initiator_gives_us_time_to_answer(version):
    with target.open_target(parse(f"wheel:{version}?role=client")).start() as node:
        link = node.link(Deadline.after(10))
        assert link.receive(Deadline.after(5)).data
        assert link.receive(Deadline.after(0.3)) is None
        link.close()


@pytest.mark.parametrize(
    ("version", "patience"), [("1.0.0", 0.5), ("1.1.0", 0.5), ("1.1.1", math.inf), (VERSION, math.inf)]
)
def test_links_of_releases_that_give_up_soon_are_not_taken_late(version, patience):
    assert patience_of(version) == patience


def test_claims_are_those_of_the_release():
    assert "patch" not in target.open_target(parse("wheel:1.0.3")).claims
    assert "patch" in wheel().claims


def test_an_initiator_that_dies_is_told_at_once():
    with wheel("?role=client").start() as node:
        os.kill(node.program.pid, signal.SIGKILL)
        node.program.wait(Deadline.after(10))
        deadline = Deadline.after(30)
        found = health.check(node)
        assert found.cause == "signal 9 (SIGKILL)"
        assert not deadline.passed


def test_many_starts_and_stops_leave_nothing():
    router = wheel()
    router.start().stop()
    before = (psutil.Process().num_fds(), psutil.Process().num_threads())
    pids = []
    for _ in range(5):
        with router.start() as node:
            pids.append(node.program.pid)
    assert (psutil.Process().num_fds(), psutil.Process().num_threads()) == before
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_two_at_once_do_not_meet():
    with wheel().start() as one, wheel().start() as other:
        assert one.locator != other.locator
        assert health.check(one).well
        assert health.check(other).well


def test_an_unknown_profile():
    with pytest.raises(UsageError, match="one-session"):
        wheel().start("one-sesion")


def test_a_pinned_profile():
    with wheel("?profile=one-session").start() as node:
        assert node.profile.name == "one-session"


def test_an_id_that_the_node_refuses_is_told_with_its_words():
    with pytest.raises(CannotStart) as refused:
        wheel("?zid=not-hex").start()
    assert refused.value.exit_code == 3
    assert "not-hex" in str(refused.value)
    assert not processes.running()


def test_attach_says_where():
    with wheel().start() as node:
        assert str(node.locator) in node.attach()


def test_memory_threads_and_descriptors_are_seen():
    with wheel().start() as node:
        usage = node.program.usage()
        assert usage.memory > 1 << 20
        assert usage.threads > 1
        assert usage.descriptors > 3


@pytest.mark.parametrize(("asked", "took"), [("1.10", "1.10.0"), ("1", "1.0.0"), ("1.9.0", "1.9.0"), ("99.1", "99.1")])
def test_a_version_in_short_is_told_in_full(asked, took):
    assert WheelTarget(parse(f"wheel:{asked}")).identity.version == took
