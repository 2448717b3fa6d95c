"""What a run does not wait for at its end: what is shown again, and beside what."""

import threading

import pytest
from run_fakes import World

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.console import Shell
from zenoh_harness.files.known import Known, ListedDeviation


@pytest.mark.parametrize(("cause", "times", "verdict"), [("always", 1, "known"), ("another cause", 2, "fail")])
def test_a_deviation_is_shown_again_unless_it_is_listed_as_it_is(tmp_path, cause, times, verdict):
    world = World(tmp_path)
    world.case("red", lambda _times, _world: "always")
    listed = ListedDeviation(check="fake/red", verdict=Verdict.FAIL, cause=cause, reason="so it is")

    verdicts = world.verdicts(known=Known([listed]))

    assert verdicts["fake/red",] == verdict
    assert world.ran["red",] == times


def test_a_timed_case_is_shown_again_while_others_are_judged(tmp_path):
    world, again = World(tmp_path), threading.Event()

    def waits(times, _world):
        if times:
            again.set()
        return "always"

    world.case("waits", waits, timed=True)
    for number in range(33):  # a second group
        world.case(f"first{number:02}", lambda _times, _world: None)
    world.case("last", lambda _times, _world: None if again.wait(20) else "nothing was shown again yet")

    assert world.verdicts()["fake/last",] == "pass"
    assert world.verdicts()["fake/waits",] == "fail"


def test_a_timed_case_that_holds_the_second_time_is_flaky(tmp_path):
    world = World(tmp_path)
    world.case("waits", lambda times, _world: None if times else "once", timed=True)

    assert world.verdicts()["fake/waits",] == "flaky"


def test_a_timed_case_of_an_initiator_keeps_no_group_waiting(tmp_path):
    world, passed = World(tmp_path, side=Side.INITIATOR), threading.Event()
    world.case("a-wait", lambda _times, _world: None if passed.wait(20) else "the others waited", timed=True)
    for number in range(40):
        world.case(f"x{number:02}")
    world.case("z-last", lambda _times, _world: passed.set())

    assert world.verdicts(jobs=8)["fake/a-wait",] == "pass"


def test_a_progress_bar_starts_no_thread(monkeypatch):
    shell, before = Shell(), threading.active_count()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    with shell.progress(2, "what") as advance:
        advance(1, "here")
        during = threading.active_count()

    assert during == before
