"""Groups of cases: which attempts decide after a death, which are repeated, and what each of them gets."""

import time
from collections import Counter
from dataclasses import replace
from threading import Barrier, BrokenBarrierError

import pytest
from run_fakes import REQUIREMENT, World, examine

from zenoh_conformance.cases.case import Case, grid
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.talking.budget import ALL, FEW
from zenoh_harness.errors import AgentGone, CannotConnect
from zenoh_harness.run.attempt import attempt as attempting
from zenoh_harness.run.attempt.attempt import Conditions, attempt
from zenoh_harness.run.attempt.scenes import Overtime
from zenoh_harness.run.group import CONFIRMED, Group
from zenoh_harness.run.judge.law_results import LawResults
from zenoh_harness.run.node.lifecycle import Lifecycle
from zenoh_harness.run.plan.allowance import Allowance
from zenoh_harness.run.plan.plan import GROUP, Item
from zenoh_harness.run.profile import waits
from zenoh_harness.scripting.binder import Elsewhere


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def deviates(*attempts):
    """An act that deviates in these attempts, counted from 0."""
    return lambda times, world: "late" if times in attempts else None


@pytest.mark.parametrize(
    ("attempts", "verdict", "counted"),
    [
        ((0,), "pass", 1),
        ((0, 1, 2), "fail", 2),
        ((0, 1), "flaky", 2),
        ((1, 2), "flaky", 3),
        ((), "pass", 2),
    ],
    ids=["dying", "always", "red-then-green", "green-then-red", "never"],
)
def test_after_a_death_all_attempts_on_a_living_target_decide(world, attempts, verdict, counted):
    """Attempt 0 ran while the target died: it counts if it held, and does not if it deviated."""
    world.case("killer", world.kills())
    world.case("other", deviates(*attempts))
    ran = {one.key.check: one for one in world.run().judgements}
    assert ran["fake/killer"].verdict.value == "crash"
    assert ran["target/stays-up"].verdict.value == "pass", "a case is charged with the only death"
    assert (ran["fake/other"].verdict.value, ran["fake/other"].attempts) == (verdict, counted)


def ends_it(_times, world):
    """An act that ends the target."""
    world.here.node.state = Verdict.CRASH


class Heard(LawResults):
    """Keeps the attempts that the laws hear."""

    def __init__(self):
        super().__init__()
        self.labels = []

    def add(self, outcome):
        self.labels.append(outcome.item.label)


def test_after_a_death_those_for_whom_there_is_no_time_are_left_out(world):
    """A target that ends again and again has a fresh one for each item, which could take hours."""
    allowance = Allowance.of(0.5)

    def kills_and_takes_its_time(_times, world):
        world.here.node.state = Verdict.CRASH
        while not allowance.over():
            time.sleep(0.01)

    world.case("killer", kills_and_takes_its_time)
    world.case("other")
    causes = {one.cause for one in world.run(allowance=allowance).judgements if one.key.check.startswith("fake/")}

    assert world.ran == {("killer",): 1, ("other",): 1}
    assert causes == {"left out: the budget of 0.5 s was over"}


@pytest.mark.parametrize(
    ("acts", "heard"),
    [
        ({"x": deviates(), "y": deviates()}, {"fake/x": 1, "fake/y": 1}),
        ({"x": deviates(0), "y": deviates()}, {"fake/x": 2, "fake/y": 1}),
        ({"x": deviates(), "y": ends_it}, {"fake/x": 1}),
        ({"x": deviates(1), "y": ends_it}, {"fake/x": 2}),
        ({"x": ends_it, "y": ends_it}, {}),
    ],
    ids=["all hold", "one is repeated", "the target dies", "it dies beside one that deviates then", "both end it"],
)
def test_laws_hear_no_attempt_during_which_the_target_died(world, acts, heard):
    """What a dying target says is no answer."""
    items = [Item(world.case(name, act), {}) for name, act in acts.items()]
    lifecycle, laws = Lifecycle(world.target, "default", examine), Heard()
    list(Group(lifecycle, lambda: Conditions(node=lifecycle.node), 4, laws).run(items))
    assert Counter(laws.labels) == heard


def test_only_the_first_deviations_of_a_cause_are_repeated(world):
    """Each repetition on a silent target takes its full timeout."""
    world.case("bad", deviates(0, 1), parameters=grid(at=range(CONFIRMED + 3)))
    ran = world.run()
    assert {one.verdict.value for one in ran.judgements[:-1]} == {"fail"}
    assert sorted(world.ran.values()) == [1] * 3 + [2] * CONFIRMED


def test_repetitions_that_hold_confirm_nothing(world):
    """A deviation that did not come again does not spare the others of its cause their repetition."""
    world.case("late", deviates(0), parameters=grid(at=range(CONFIRMED + 3)))
    ran = world.run()
    assert {one.verdict.value for one in ran.judgements[:-1]} == {"flaky"}
    assert set(world.ran.values()) == {2}


@pytest.mark.parametrize(
    ("ends", "verdict", "times"),
    [
        (Overtime(), "fail", 2),
        (CannotConnect("no link", step="connect"), "fail", 2),
        (AgentGone("the agent has exited", step="agent put"), "fail", 2),
        (Elsewhere("not reached"), "not-observed", 1),
        (ZeroDivisionError(), "error", 1),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_ends_an_attempt_decides_whether_it_is_repeated(world, ends, verdict, times):
    """The second attempt deviates."""

    def act(before, _world):
        if before:
            return "late"
        raise ends

    world.case("x", act)
    assert (world.verdicts()[("fake/x",)], world.ran[("x",)]) == (verdict, times)


@pytest.mark.parametrize("timed", [False, True])
def test_our_delay_excuses_no_case_that_is_about_time(world, monkeypatch, timed):
    excused = "not reached: we kept it waiting in the handshake"
    monkeypatch.setattr(attempting, "as_seen_in_time", lambda _said, finding, _waits: replace(finding, path=excused))
    made = attempt(Item(world.case("x", deviates(0), timed=timed), {}), Conditions(node=world.target.start()))
    assert made.findings[0].reached is timed


def test_a_target_that_spent_three_budgets_gets_a_small_one(world):
    """The run goes on to its end, in bounded time."""
    budgets = []

    def spends(scene):
        budgets.append(scene.budget.most)
        scene.budget.bytes = 1 << 40

    conditions = Conditions(node=world.target.start())
    item = Item(Case(id="fake/floods", requirement=REQUIREMENT, function=spends, about="It floods."), {})
    for _ in range(4):
        attempt(item, conditions)
    assert budgets == [ALL] * 3 + [FEW]


@pytest.mark.parametrize(("alone", "meet"), [([False, False], True), ([True, False], False), ([True, True], False)])
def test_a_case_that_must_be_alone_runs_alone_in_any_group(world, alone, meet):
    barrier, met = Barrier(2, timeout=20 if meet else 0.1), []

    def meets(_times, _world):
        try:
            barrier.wait()
        except BrokenBarrierError:
            return
        met.append(True)

    items = [Item(world.case(f"x{at}", meets, alone=each), {}) for at, each in enumerate(alone)]
    lifecycle = Lifecycle(world.target, "default", examine)
    Group(lifecycle, lambda: Conditions(node=lifecycle.node), 4, LawResults()).side_by_side(items, 4)
    assert bool(met) is meet


@pytest.mark.parametrize(
    ("how", "beside"),
    [
        ({}, False),
        ({"timed": True}, True),
        ({"timed": True, "needs": ("qos",)}, True),
        ({"timed": True, "needs": ("agent.put",)}, False),
        ({"timed": True, "alone": True}, False),
        ({"needs": ("agent",)}, False),
    ],
)
def test_only_a_timed_case_without_agent_waits_beside_others(world, how, beside):
    """A node has one application: cases that use it take turns."""
    assert waits(Item(world.case("x", **how), {})) is beside


def test_what_rests_on_a_red_check_is_attempted_once(tmp_path):
    world = World(tmp_path)
    world.case("bad", lambda times, world: "no cookie")
    for number in range(GROUP):
        world.case(f"good-{number}")
    world.case("rests", lambda times, world: "wrong", control="fake/bad")
    world.case("stands", lambda times, world: "wrong", control="fake/good-0")
    verdicts = world.verdicts()
    assert (verdicts["fake/rests",], verdicts["fake/stands",]) == ("not-observed", "fail")
    assert (world.ran["bad",], world.ran["rests",], world.ran["stands",]) == (2, 1, 2)


def test_what_rests_on_a_red_check_of_its_own_group_is_attempted_once(tmp_path):
    """Repetitions come in waves: the control is decided before anybody repeats what rests on it."""
    world = World(tmp_path)
    world.case("bad", lambda times, world: "no cookie")
    world.case("rests", lambda times, world: "wrong", control="fake/bad")
    world.case("rests-on-that", lambda times, world: "wrong, too", control="fake/rests")
    verdicts = world.verdicts()
    assert (verdicts["fake/rests",], verdicts["fake/rests-on-that",]) == ("not-observed", "not-observed")
    assert [world.ran[name,] for name in ("bad", "rests", "rests-on-that")] == [2, 1, 1]


def test_what_rests_in_vain_waits_for_no_answer_long(world):
    """It still sends what it sends: a death counts whatever the control came to."""
    units = []
    item = Item(
        Case(id="fake/rests", requirement=REQUIREMENT, function=lambda scene: units.append(scene.unit), about="x"), {}
    )
    node = world.target.start()
    for in_vain in (False, True):
        attempt(item, Conditions(node=node, rests_in_vain=lambda _item, vain=in_vain: vain))
    assert units[0] > 4 * units[1]
