"""A part of a run in a forked copy of the process: the same judgements, the same ends."""

import os
import signal
import threading

import pytest
from run_fakes import REQUIREMENT, World

from zenoh_conformance.cases.case import Case
from zenoh_conformance.judging.variation import Dimension
from zenoh_conformance.judging.verdict import Exit
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import TargetError
from zenoh_harness.run import forks
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.forks import Forked, can_fork
from zenoh_harness.run.runner import run_target

OTHER = "short-lease"

pytestmark = pytest.mark.needs("linux")


def here(process):
    """An act that deviates in the process of that id."""
    return lambda _times, _world: "here" if os.getpid() == process else None


def world(tmp_path, **more):
    made = World(tmp_path, profiles=("default", OTHER), **more)
    made.target.can_run_beside = True
    return made


def judged(made, *, forks=True, **options):
    ran = made.run(forks=forks, **options)
    return ran, {one.key.check: one.verdict.value for one in ran.judgements}


@pytest.fixture(autouse=True)
def _no_other_thread(monkeypatch):
    """A worker of pytest-xdist has threads of its own, which a copy made by a test may do without."""
    threads = threading.active_count()
    monkeypatch.setattr(forks.threading, "active_count", lambda: 1 + len(threading.enumerate()) - threads)


def test_the_first_profile_is_judged_here_and_the_others_in_a_copy(tmp_path):
    made = world(tmp_path)
    made.case("first", here(os.getpid()))
    made.case("later", here(os.getpid()), profile=OTHER)

    _, verdicts = judged(made)

    assert (verdicts["fake/first"], verdicts["fake/later"]) == ("fail", "pass")


def test_cases_that_must_be_alone_are_judged_in_the_copy(tmp_path):
    made = world(tmp_path)
    made.case("plain", here(os.getpid()))
    made.case("alone", here(os.getpid()), alone=True)
    made.case("red", lambda _times, _world: "always", alone=True)

    ran, verdicts = judged(made)

    assert verdicts["fake/plain"] == "fail"
    assert (verdicts["fake/alone"], verdicts["fake/red"]) == ("pass", "fail")
    assert not ran.footer.pending


def meeting(barrier):
    """An act that deviates unless another one is under way at the same time, in the same process."""

    def act(_times, _world):
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            return "alone"
        return None

    return act


def test_profiles_whose_cases_wait_are_judged_at_the_same_time(tmp_path):
    made = World(tmp_path, profiles=("default", OTHER, "low-latency"))
    made.target.can_run_beside = True
    barrier = threading.Barrier(2, timeout=20)
    made.case("first")
    made.case("waits", meeting(barrier), profile=OTHER, timed=True)
    made.case("waits-too", meeting(barrier), profile="low-latency", timed=True)

    _, verdicts = judged(made)

    assert (verdicts["fake/waits"], verdicts["fake/waits-too"]) == ("pass", "pass")


LANE = Dimension.of("lane", "in lane {}", 5, 1)


def test_a_case_in_many_circumstances_goes_on_beside_the_others(tmp_path):
    made, begun, goes_on = world(tmp_path), threading.Event(), threading.Event()

    def plain(_times, _world):
        begun.set()
        return None if goes_on.wait(20) else "alone"

    def varied(_scene, _variation):
        if begun.wait(20):
            goes_on.set()

    made.case("plain", plain)
    made.cases.append(
        Case(
            id="fake/long", requirement=REQUIREMENT, function=varied, about="long", role=Side.RESPONDER, varies=(LANE,)
        )
    )

    _, verdicts = judged(made)

    assert verdicts["fake/plain"] == "pass"


def test_those_that_must_be_alone_have_two_instances(tmp_path):
    made, meet = world(tmp_path), meeting(threading.Barrier(2, timeout=20))
    made.case("plain")
    made.case("alone", meet, alone=True)
    made.case("alone-too", meet, alone=True)

    _, verdicts = judged(made)

    assert (verdicts["fake/alone"], verdicts["fake/alone-too"]) == ("pass", "pass")


def test_the_vectors_are_played_in_the_copy(tmp_path):
    made, player = world(tmp_path), tmp_path / "player"
    made.case("plain", lambda _times, _world: None)
    made.case("later", lambda _times, _world: None, profile=OTHER)
    part = made.part(forks=True)
    part.vectors["default"].run = lambda *_given, **_named: player.write_text(str(os.getpid()))

    run_target(part.reach, part.options, [part])

    assert player.read_text() not in ("", str(os.getpid()))


def test_cases_that_must_be_alone_do_not_wait_for_the_vectors(tmp_path):
    """Each has an instance of its own; what either does was half of the time of a run in which the other waited."""
    made, meet = world(tmp_path), meeting(threading.Barrier(2, timeout=20))
    made.case("plain")
    made.case("alone", meet, alone=True)
    part = made.part(forks=True, depth="quick")
    part.vectors["default"].run = lambda *_given: meet(0, made)

    ran = run_target(part.reach, part.options, [part])

    assert {one.key.check: one.verdict.value for one in ran.judgements}["fake/alone"] == "pass"


def test_the_other_role_is_judged_in_the_copy(tmp_path):
    parts = []
    for name, side in (("one", Side.RESPONDER), ("two", Side.INITIATOR)):
        made = World(tmp_path / name, side=side)
        made.target.can_run_beside = True
        made.case(name, here(os.getpid()))
        parts.append(made.part(forks=True))

    ran = run_target(parts[0].reach, parts[0].options, parts)

    verdicts = {one.key.check: one.verdict.value for one in ran.judgements}
    assert (verdicts["fake/one"], verdicts["fake/two"]) == ("fail", "pass")
    assert not ran.footer.pending


@pytest.mark.parametrize("forks", [True, False])
def test_verdicts_are_the_same_with_and_without_a_copy(tmp_path, forks):
    made = world(tmp_path)
    made.case("held")
    made.case("red", lambda _times, _world: "always", profile=OTHER)
    made.case("once", lambda times, _world: "once" if times == 0 else None, profile=OTHER)
    made.case("kills", made.kills(), alone=True)

    ran, verdicts = judged(made, forks=forks)

    names = ("held", "red", "once", "kills")
    assert [verdicts[f"fake/{name}"] for name in names] == ["pass", "fail", "flaky", "crash"]
    assert ran.exit is Exit.NOT_CONFORMING
    assert not ran.footer.pending


def test_what_is_said_to_a_person_in_the_copy_is_said_here(tmp_path):
    steps, notes = [], []
    made = world(tmp_path)
    made.case("first")
    made.case("later", made.kills(), profile=OTHER)

    judged(made, advance=lambda _step, where: steps.append((os.getpid(), where)), told=notes.append)

    assert sorted(steps) == [(os.getpid(), "fake/first"), (os.getpid(), "fake/later")]
    assert any(OTHER in note for note in notes)


def test_a_target_that_cannot_be_had_again_in_the_copy_ends_the_run(tmp_path):
    made = world(tmp_path)
    made.case("first")
    made.case("kills", made.kills(), profile=OTHER)
    made.target.starts_left = 2

    ran, verdicts = judged(made)

    assert ran.exit is Exit.CANNOT_GO_ON
    assert verdicts["fake/first"] == "pass"


def test_a_first_profile_that_cannot_be_had_leaves_the_others_to_us(tmp_path):
    made = world(tmp_path, without=("default",))
    made.case("first")
    made.case("later", here(os.getpid()), profile=OTHER)

    _, verdicts = judged(made)

    assert verdicts["fake/later"] == "fail"
    assert verdicts["target/stays-up"] in ("error", "pass")


def test_a_copy_that_is_killed_ends_the_run(tmp_path):
    made = world(tmp_path)
    made.case("first")
    mine = os.getpid()
    made.case(
        "later",
        lambda _times, _world: os.kill(os.getpid(), signal.SIGKILL) if os.getpid() != mine else None,
        profile=OTHER,
    )

    ran, _ = judged(made)

    assert ran.exit is Exit.CANNOT_GO_ON
    assert "ended before its work" in str(ran.stopped)
    assert ran.footer.pending


def test_a_block_that_fails_stops_the_copy():
    stopped = threading.Event()

    def until_stopped(_inside):
        assert stopped.wait(20)

    def run():
        with Forked(until_stopped, [], Options(out=None), cases={}, stop=stopped.set):
            raise KeyError

    with pytest.raises(KeyError):
        run()
    assert not stopped.is_set(), "it is set in the copy only"


def test_the_error_of_a_copy_is_raised_at_the_end_of_the_block():
    def fails(_inside):
        raise TargetError("gone", step="there", hint="none")

    done = []
    with (
        pytest.raises(TargetError, match=r"gone \(step: there\)"),
        Forked(fails, [], Options(out=None), cases={}, stop=lambda: None),
    ):
        done.append(1)

    assert done


def test_an_error_that_cannot_be_sent_is_told_by_its_text():
    def fails(_inside):
        error = ValueError("held a lock")
        error.lock = threading.Lock()
        raise error

    with (
        pytest.raises(RuntimeError, match="ValueError: held a lock"),
        Forked(fails, [], Options(out=None), cases={}, stop=lambda: None),
    ):
        pass


def test_a_copy_does_not_outlive_us(tmp_path):
    """The process that made a copy is killed: the copy ends, too."""
    read, write = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.close(read)
        with Forked(lambda _inside: threading.Event().wait(60), [], Options(out=None), cases={}, stop=lambda: None):
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(write)
    os.waitpid(middle, 0)

    assert os.read(read, 1) == b"", "its end closes when the last process that has it is gone"
    os.close(read)


def test_a_process_with_other_threads_is_not_copied():
    assert can_fork()
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        assert not can_fork()
    finally:
        stop.set()
        other.join()
    assert can_fork()
