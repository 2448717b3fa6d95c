"""Models as cases: the run that deviates is the evidence, time that runs out is no fault, what cannot be repeated says so."""

import itertools
from dataclasses import replace

import pytest
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import RuleBasedStateMachine, rule
from hypothesis.strategies import integers

from zenoh_conformance.judging.finding import OVERSLEPT, Deviation, Finding
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.run.attempt.model_cases import EXAMPLES, explore, model_cases
from zenoh_harness.run.attempt.scenes import Overtime
from zenoh_harness.targets.habits import Return, SessionEnd, TargetHabits


class FakeStage:
    """Counts the scenes that a machine takes, and which of them it is left with."""

    role, requirement, stopped, habits = Side.RESPONDER, "a/b", False, TargetHabits()

    def __init__(self, number=0):
        self.number, self.made, self.adopted, self.closed = number, [], None, False

    def fact(self, name, default=None):
        return default

    def another(self, number):
        self.made.append(FakeStage(number))
        return self.made[-1]

    def adopt(self, other):
        self.adopted = other

    def close(self):
        self.closed = True


def machine_that(act):
    def machine(stage, known):
        class Machine(RuleBasedStateMachine):
            def __init__(self):
                super().__init__()
                self.scene = stage()

            @rule()
            def go(self):
                act(self.scene)

        return Machine

    return machine


def deviates(_scene):
    raise Deviation(Finding(requirement="a/b", sender=Side.RESPONDER, why="as planted"))


def test_what_holds_is_run_as_often_as_asked_and_every_scene_is_let_go():
    stage = FakeStage()
    explore(machine_that(lambda scene: None), 7, 0, stage)
    assert len(stage.made) >= 1
    assert all(scene.closed for scene in stage.made)


def test_what_deviates_is_raised_and_its_scene_is_the_evidence():
    stage = FakeStage()
    with pytest.raises(Deviation, match="as planted"):
        explore(machine_that(deviates), 7, 0, stage)
    assert stage.adopted is stage.made[-1]


def test_what_deviates_once_only_is_told_as_not_repeatable():
    seen = itertools.count()
    stage = FakeStage()
    with pytest.raises(Deviation, match="did not deviate again: as planted"):
        explore(machine_that(lambda scene: deviates(scene) if next(seen) == 0 else None), 7, 0, stage)
    assert stage.adopted is stage.made[0]  # what was said that once, and not what was said when all went well


def oversleeps(_scene):
    raise Deviation(
        Finding(requirement="a/b", sender=Side.RESPONDER, path=OVERSLEPT, expected="a PUSH", got="link shut")
    )


def test_what_is_not_reached_once_says_nothing():
    """We were silent for too long that once: it is no fault of the target that it was otherwise the second time."""
    seen, stage = itertools.count(), FakeStage()
    with pytest.raises(Deviation) as found:
        explore(machine_that(lambda scene: oversleeps(scene) if next(seen) == 0 else None), 7, 0, stage)
    assert not found.value.finding.reached
    assert stage.adopted is stage.made[0]


@pytest.mark.parametrize("acts", [(oversleeps, deviates), (deviates, oversleeps)])
def test_what_is_not_reached_hides_nothing_that_was(acts, monkeypatch):
    """Of several deviations that did not come again, one that says something is told."""

    def come_and_go(*_machine, **_how):
        raise FlakyFailure("as Hypothesis tells it", [raised(act) for act in acts])

    monkeypatch.setattr("hypothesis.stateful.run_state_machine_as_test", come_and_go)
    with pytest.raises(Deviation, match="did not deviate again: as planted") as told:
        explore(machine_that(deviates), 7, 0, FakeStage())
    assert told.value.finding.reached


def raised(act):
    with pytest.raises(Deviation) as found:
        act(None)
    return found.value


def test_what_only_the_laws_find_once_is_kept_too():
    """Laws judge when a run is over."""
    seen, stage = itertools.count(), FakeStage()

    def machine(stage, known):
        class Machine(machine_that(lambda scene: None)(stage, known)):
            def teardown(self):
                if next(seen) == 0:
                    deviates(self.scene)

        return Machine

    with pytest.raises(Deviation, match="did not deviate again: as planted"):
        explore(machine, 7, 0, stage)
    assert stage.adopted is stage.made[0]


def test_time_that_runs_out_early_is_overtime():
    def late(_scene):
        raise Overtime

    with pytest.raises(Overtime):
        explore(machine_that(late), 7, 0, FakeStage())


@pytest.mark.parametrize(("seconds", "runs"), [(0.04, 30), (1.0, 10), (60.0, 5)])
def test_one_that_comes_back_late_has_fewer_runs(seconds, runs):
    stage = FakeStage()
    stage.habits = replace(TargetHabits(), returns={SessionEnd.CLOSE: Return(after=seconds)})
    explore(machine_that(lambda _scene: None), 30, 0, stage)
    assert len(stage.made) == runs


def test_each_model_is_a_case_of_its_requirement():
    cases = model_cases("quick", 0)
    assert "models/establishment" in {case.id for case in cases}
    assert all(case.requirement and case.alone for case in cases)
    assert EXAMPLES["quick"] < EXAMPLES["full"] < EXAMPLES["nightly"]


def test_time_that_runs_out_in_the_middle_is_not_repeated_and_no_deviation():
    """What would be tried again after the end of the time ends elsewhere, and would look like a fault that comes and goes."""
    seen = itertools.count()

    def late(_scene):
        if next(seen) >= 100:
            raise Overtime

    stage = FakeStage()
    explore(machine_that(late), 25, 0, stage)
    assert next(seen) == 101
    assert len(stage.made) < 25


def machine_of_two(act):
    """It draws a number before it goes, and goes on after that."""

    def machine(stage, known):
        class Machine(RuleBasedStateMachine):
            def __init__(self):
                super().__init__()
                self.scene = stage()

            @rule(number=integers(0, 1))
            def go(self, number):
                act(self.scene)

        return Machine

    return machine


@pytest.mark.parametrize("seed", range(5))
def test_time_that_runs_out_where_more_was_drawn_before_is_no_deviation(seed):
    """Hypothesis says that the data were drawn otherwise; nothing deviated."""
    seen = itertools.count()

    def late(_scene):
        if next(seen) >= 100:
            raise Overtime

    explore(machine_of_two(late), 200, seed, FakeStage())


def test_time_that_runs_out_so_before_much_was_tried_is_overtime():
    seen = itertools.count()

    def late(_scene):
        if next(seen) >= 12:
            raise Overtime

    with pytest.raises(Overtime):
        explore(machine_of_two(late), 200, 0, FakeStage())
