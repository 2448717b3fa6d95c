"""The first look at a target: what the study left behind is no fault, and what never comes is told before anything is judged."""

from dataclasses import replace

import pytest
from run_fakes import FakeNode, World

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness.errors import CannotConnect, TargetError
from zenoh_harness.programs.processes import ProcessEnd
from zenoh_harness.programs.signs import Sign
from zenoh_harness.run.node import lifecycle
from zenoh_harness.run.node.health import Budget, Health, check
from zenoh_harness.run.node.lifecycle import Lifecycle
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


@pytest.mark.parametrize("again", [Verdict.PASS, Verdict.ZOMBIE])
def test_one_that_does_its_work_when_it_is_asked_again_is_not_dead(tmp_path, again):
    """It lost a message: a query that came with our OPEN, of a client that lost one in 25."""
    lifecycle = Lifecycle(World(tmp_path).target, "default", looks_of(Verdict.PASS, Verdict.ZOMBIE, again))
    lifecycle.begin()
    lifecycle.hold_to((None, Grade.FUNCTIONAL))
    assert (lifecycle.unhealthy() is None) is (again is Verdict.PASS)
    assert len(lifecycle.lost) == (again is Verdict.PASS)


def test_one_that_lost_the_query_of_the_first_look_is_not_dead_from_the_start(tmp_path):
    lifecycle = Lifecycle(World(tmp_path).target, "default", looks_of(Verdict.ZOMBIE, Verdict.PASS))
    assert lifecycle.begin() is None
    assert len(lifecycle.lost) == 1


@pytest.mark.parametrize(
    ("first", "later", "worse"),
    [
        ((Verdict.ZOMBIE, Grade.HANDSHAKE), (Verdict.ZOMBIE, Grade.HANDSHAKE), False),
        ((Verdict.ZOMBIE, Grade.SOCKET), (Verdict.ZOMBIE, Grade.HANDSHAKE), False),
        ((Verdict.ZOMBIE, Grade.HANDSHAKE), (Verdict.ZOMBIE, Grade.SOCKET), True),
        ((Verdict.PASS, Grade.FUNCTIONAL), (Verdict.ZOMBIE, Grade.HANDSHAKE), True),
        ((Verdict.ZOMBIE, Grade.HANDSHAKE), (Verdict.PASS, Grade.FUNCTIONAL), False),
        ((Verdict.ZOMBIE, Grade.HANDSHAKE), (Verdict.PANIC, Grade.HANDSHAKE), True),
        ((Verdict.ZOMBIE, Grade.HANDSHAKE), (Verdict.CRASH, Grade.HANDSHAKE), True),
    ],
    ids=str,
)
def test_no_target_is_worse_than_it_was_from_the_start(tmp_path, first, later, worse):
    looks = [first, *[first] * (first[0] is Verdict.ZOMBIE), later]

    def examine(node, budget=None):
        verdict, grade = looks.pop(0) if len(looks) > 1 else looks[0]
        return Health(
            grade=grade,
            verdict=verdict,
            cause="so",
            latency=0.0,
            vitals=Vitals(running=True),
            conversation=Conversation(),
        )

    looked = Lifecycle(World(tmp_path).target, "default", examine)
    ill = looked.begin()
    assert (ill is None) is (first[0] is Verdict.PASS)
    found = looked.unhealthy()
    assert (None if found is None else found.verdict) == (later[0] if worse else None)


PANIC = Sign("panic", "stderr", "thread 'main' panicked at src/config.rs:7:1:")


def test_a_panic_that_was_there_from_the_start_is_charged_to_no_case(tmp_path, monkeypatch):
    """Each later health check gets the panics that the output held before the first case."""
    budgets = []

    def examine(node, budget=None):
        budgets.append(budget)
        return Health(
            grade=Grade.FUNCTIONAL, verdict=Verdict.PASS, cause="", latency=0.0, conversation=Conversation(),
            vitals=Vitals(running=True, signs=(PANIC,)),
        )  # fmt: skip

    monkeypatch.setattr(lifecycle, "check", examine)
    monkeypatch.setattr(lifecycle, "study", lambda node: UNKNOWN)
    monkeypatch.setattr(lifecycle, "learn", lambda node: Budget(calm=0.1))
    kept = Lifecycle(World(tmp_path).target, "default", examine)
    assert kept.begin() is None
    assert kept.unhealthy() is None
    assert budgets[-1] == Budget(calm=0.1, panics=frozenset({PANIC.cause}))


def test_the_panics_of_a_node_that_is_ill_from_the_start_are_kept_too(tmp_path):
    budgets = []

    def examine(node, budget=None):
        budgets.append(budget)
        return Health(
            grade=Grade.HANDSHAKE, verdict=Verdict.PANIC, cause=PANIC.cause, latency=0.0, conversation=Conversation(),
            vitals=Vitals(running=True, signs=(PANIC,)),
        )  # fmt: skip

    kept = Lifecycle(World(tmp_path).target, "default", examine)
    assert kept.begin().cause == f"from the start: {PANIC.cause}"
    kept.unhealthy()
    assert budgets[-1] == Budget(calm=0.0, enough=Grade.HANDSHAKE, panics=frozenset({PANIC.cause}))


@pytest.mark.parametrize(("usual", "verdict"), [({PANIC.cause}, Verdict.HANG), (set(), Verdict.PANIC)])
def test_a_health_check_ignores_the_panics_of_the_start(tmp_path, monkeypatch, usual, verdict):
    def link(node, deadline, observer=None):
        raise CannotConnect("nobody listens", step="connect")

    monkeypatch.setattr(FakeNode, "link", link, raising=False)
    monkeypatch.setattr(FakeNode, "vitals", lambda node: Vitals(running=True, signs=(PANIC,)))
    node = World(tmp_path).target.start()
    assert check(node, Budget(calm=0.0, panics=frozenset(usual))).verdict is verdict


class EndsSoon:
    """A program whose end is seen only after a wait."""

    ended = False

    def wait(self, deadline):
        self.ended = True

    def usage(self):
        return None

    def last_lines(self, count, stream):
        return ()


def test_a_node_that_has_just_ended_crashed_and_does_not_hang(tmp_path, monkeypatch):
    """The kernel shuts a program's links before it reports its end, so that the check waits a moment."""

    def link(node, deadline, observer=None):
        raise CannotConnect("nobody listens", step="connect")

    def vitals(node):
        ended = node.program.ended
        return Vitals(running=not ended, ended=ProcessEnd(-9, 0) if ended else None)

    monkeypatch.setattr(FakeNode, "link", link, raising=False)
    monkeypatch.setattr(FakeNode, "vitals", vitals)
    node = World(tmp_path).target.start()
    node.program = EndsSoon()
    found = check(node)
    assert (found.verdict, found.grade) == (Verdict.CRASH, Grade.GONE)


@pytest.mark.parametrize(
    ("running", "signs", "due"),
    [
        (True, (PANIC,), (Verdict.PANIC, f"in sane sessions: {PANIC.cause}")),
        (False, (PANIC,), (Verdict.CRASH, f"signal 9 (SIGKILL): {PANIC.cause}")),
        (False, (), (Verdict.CRASH, "signal 9 (SIGKILL)")),
        (True, (), None),
    ],
    ids=["panics", "panics-and-ends", "ends", "well"],
)
def test_a_death_while_habits_are_learnt_is_a_crash_and_a_panic_that_is_survived_is_none(
    tmp_path, monkeypatch, running, signs, due
):
    world = World(tmp_path)

    def dies(node):
        ended = None if running else ProcessEnd(-9, 0)
        node.vitals = lambda: Vitals(running=running, ended=ended, signs=signs)
        return UNKNOWN

    examine = looks_of(*[Verdict.PASS] * 3)
    monkeypatch.setattr(lifecycle, "check", examine)
    monkeypatch.setattr(lifecycle, "study", dies)
    monkeypatch.setattr(lifecycle, "learn", lambda node: Budget(calm=0.1))
    died = Lifecycle(world.target, "default", examine).begin()
    assert (died and (died.verdict, died.cause)) == due
    assert len(world.target.nodes) == (1 if due is None else 2)
