"""Profiles and parts that go on beside each other: at the same time where that is in order, one after the other where not."""

from threading import Barrier, BrokenBarrierError, Event

import pytest
from run_fakes import World

from zenoh_conformance.judging.verdict import Exit, Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking.budget import DECODING
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.attempt.threads import Beside
from zenoh_harness.run.runner import run_target

OTHER = "short-lease"


def meeting(barrier):
    """An act that deviates unless somebody else is there at the same time."""

    def act(_times, _world):
        try:
            barrier.wait()
        except BrokenBarrierError:
            return "alone"
        return None

    return act


def two_profiles(tmp_path, patience, **target):
    """A world in which a case of each of two profiles waits for the other so long."""
    world, barrier = World(tmp_path, profiles=("default", OTHER), **target), Barrier(2, timeout=patience)
    world.target.can_run_beside = True
    world.case("here", meeting(barrier))
    world.case("there", meeting(barrier), profile=OTHER)
    return world


def test_profiles_are_visited_at_the_same_time(tmp_path):
    assert set(two_profiles(tmp_path, 20).verdicts().values()) == {"pass"}


@pytest.mark.parametrize("how", [{"max_fail": 9}, {"fresh": True}])
def test_who_wants_them_in_order_has_them_in_order(tmp_path, how):
    verdicts = two_profiles(tmp_path, 0.05).verdicts(**how)

    assert [verdicts["fake/here",], verdicts["fake/there",]] == ["fail", "fail"]


def test_profiles_of_a_target_that_is_ill_from_the_start_come_in_order(tmp_path):
    world = two_profiles(tmp_path, 0.05)
    start = world.target.start

    def ill(profile="default"):
        node = start(profile)
        node.state = Verdict.ZOMBIE
        return node

    world.target.start = ill
    verdicts = world.verdicts()

    assert [verdicts["fake/here",], verdicts["fake/there",]] == ["fail", "fail"]


def test_instances_in_each_others_way_come_in_order(tmp_path):
    world = two_profiles(tmp_path, 0.05)
    world.target.can_run_beside = False

    assert world.verdicts()["fake/here",] == "fail"


def test_both_roles_are_judged_at_the_same_time(tmp_path):
    barrier = Barrier(2, timeout=20)
    parts = []
    for name, side in (("one", Side.RESPONDER), ("two", Side.INITIATOR)):
        world = World(tmp_path / name, side=side)
        world.target.can_run_beside = True
        world.case(name, meeting(barrier))
        parts.append(world.part())

    ran = run_target(parts[0].reach, Options(out=tmp_path / "out"), parts)

    assert {one.verdict.value for one in ran.judgements if one.key.check.startswith("fake/")} == {"pass"}
    assert ran.exit is Exit.CONFORMING
    assert not ran.footer.pending


def test_a_part_that_cannot_go_on_stops_the_one_beside_it(tmp_path):
    parts, begun = [], Barrier(2, timeout=20)
    for name in ("first", "second"):
        world = World(tmp_path / name)
        world.target.can_run_beside = True
        world.case(name)
        parts.append(world.part())

    def fails(register):
        begun.wait()
        raise CannotGoOn("it is gone")

    def goes_on(register):
        begun.wait()
        assert parts[1].stop.wait(20)

    parts[0].run, parts[1].run = fails, goes_on
    ran = run_target(parts[0].reach, Options(out=tmp_path / "out"), parts)

    assert (ran.exit, str(ran.stopped)) == (Exit.CANNOT_GO_ON, "it is gone")
    assert parts[1].stop.is_set()


def test_a_profile_that_goes_under_costs_the_other_nothing(tmp_path):
    world = World(tmp_path, profiles=("default", OTHER), starts_left=2)
    world.target.can_run_beside = True
    world.case("fine")
    world.case("kills", world.kills(), profile=OTHER)

    ran = world.run()

    assert ran.exit is Exit.CANNOT_GO_ON
    assert {one.key.check: one.verdict.value for one in ran.judgements}["fake/fine"] == "pass"


def test_the_error_beside_is_raised_at_the_end():
    def fails():
        raise ValueError("beside")

    done = []
    with pytest.raises(ValueError, match="beside"), Beside(fails, Event()):
        done.append("all of the block")

    assert done


def test_a_block_that_fails_stops_what_is_beside_and_its_own_error_counts():
    stop = Event()

    def until_stopped():
        assert stop.wait(20)
        raise ValueError("beside")

    with pytest.raises(KeyError), Beside(until_stopped, stop):
        raise KeyError


def test_the_checks_on_a_target_decode_large_input_two_at_a_time(tmp_path):
    part = World(tmp_path).part()
    with part._budgets.one() as budget:
        taken = [budget.turn.acquire(blocking=False) for _ in range(DECODING + 1)]
    assert taken == [True] * DECODING + [False]
