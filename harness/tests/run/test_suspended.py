"""A target that is suspended in mid-run is not blamed for its silence."""

import os
import signal
import sys

import pytest
from awaiting import awaited
from run_fakes import World, examine

from zenoh_harness import cli
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files import results
from zenoh_harness.programs import processes
from zenoh_harness.run import profile
from zenoh_harness.run.attempt import attempt, suspension
from zenoh_harness.run.attempt.suspension import SUSPENDED
from zenoh_harness.run.node import health, lifecycle

pytestmark = pytest.mark.spread

NODE = f"exec:{sys.executable} -m zenoh_harness.commands.peer --listen tcp/127.0.0.1:{{port}}"
FEW = (
    "--only", "establishment-sane/*", "--only", "establishment-cookie/a-changed*", "--only", "keep-alive/*",
    "--depth", "quick",
)  # fmt: skip
MOMENTS = {
    "attempt": (attempt, "_performed", lambda item, stage: stage._node),
    "look": (lifecycle, "learn", lambda node: node),
    "probe": (profile, "ability", lambda target, node, *_: node),
}


def suspend(node):
    """Suspend the node's process, and wait until that is seen."""
    before = node.program.suspensions()
    os.kill(node.program.pid, signal.SIGSTOP)
    awaited(lambda: node.program.suspended() and node.program.suspensions() > before)


@pytest.fixture
def suspending(monkeypatch):
    """A function that makes a function suspend the node, the first so many times that it is called; `goes_on`: until it returns."""
    done = []

    def suspending(moment, times, goes_on):
        module, name, node_of = MOMENTS[moment]
        original = getattr(module, name)

        def disturbed(*given):
            if len(done) >= times:
                return original(*given)
            done.append(name)
            node = node_of(*given)
            suspend(node)
            try:
                return original(*given)
            finally:
                if goes_on:
                    os.kill(node.program.pid, signal.SIGCONT)
                    awaited(lambda: not node.program.suspended())

        monkeypatch.setattr(module, name, disturbed)
        return done

    monkeypatch.setattr(health, "PATIENCE", 0.3)
    return suspending


@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "stays so"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_target_that_is_suspended_once_is_judged_as_if_it_never_was(moment, goes_on, suspending, tmp_path):
    done = suspending(moment, 1, goes_on)
    code = cli.invoke(["run", NODE, *FEW, "--out", str(tmp_path / "r"), "-q"])
    found = results.read(tmp_path / "r")
    assert done
    assert {one.verdict.value for one in found.judgements} <= {"pass", "not-observed", "not-applicable"}
    assert code == 0
    assert found.footer.embargoed == 0


def test_a_check_during_which_it_is_always_suspended_is_not_observed(suspending, tmp_path):
    suspending("attempt", 99, True)
    only = ("--only", "establishment-sane/a-sane-handshake-is-accepted", "--timeout", "2s")
    cli.invoke(["run", NODE, *only, "--out", str(tmp_path / "r"), "-q"])
    judged = {one.key.check: one for one in results.read(tmp_path / "r").judgements}
    one = judged["establishment-sane/a-sane-handshake-is-accepted"]
    assert (one.verdict.value, one.cause) == ("not-observed", SUSPENDED)
    assert judged["target/stays-up"].verdict.value == "pass"


def test_one_that_is_suspended_at_each_look_ends_the_run(suspending, tmp_path, capsys):
    suspending("look", 99, True)
    assert cli.invoke(["run", NODE, *FEW, "--out", str(tmp_path / "r"), "-q"]) == CannotGoOn.exit_code
    assert SUSPENDED in capsys.readouterr().err


def test_a_supervisor_tells_of_a_stop_that_is_over():
    with processes.start(["sleep", "600"]) as program:
        for number in (1, 3):
            os.kill(program.pid, signal.SIGSTOP)
            awaited(lambda count=number: program.suspensions() == count)
            os.kill(program.pid, signal.SIGCONT)
            awaited(lambda count=number + 1: program.suspensions() == count)
        assert not program.suspended()


class Stoppable:
    """What the supervisor of a program has reported of its stops."""

    ended = None
    halted = False
    reports = 0

    def suspensions(self):
        return self.reports

    def suspended(self):
        return self.halted


class StoppableWorld(World):
    """A target whose stops are reported when a case is attempted, or at the look after its first attempt."""

    late = False

    def examine(self, node, budget=None):
        node.program.reports += self.late and self.ran[("case",)] == 1
        return examine(node, budget)

    def part(self, *given, **options):
        part = super().part(*given, **options)
        part._examine, start = self.examine, self.target.start

        def with_program(profile):
            node = start(profile)
            node.program = Stoppable()
            return node

        self.target.start = with_program
        return part


@pytest.mark.parametrize(
    ("reds", "stops", "verdict"),
    [
        ((0,), (0,), "pass"),  # suspended once, and right when it is repeated
        ((0, 1), (0,), "pass"),  # red once more while it recovers
        ((0, 1, 2), (0,), "fail"),  # red twice in calm
        ((0, 2), (0, 1), "pass"),
        (range(9), (), "fail"),
        (range(9), range(9), "not-observed"),
        (range(9), range(4), "not-observed"),  # red once in calm, and the last attempt
        ((0,), (), "flaky"),
    ],
)
def test_a_red_right_after_a_suspension_is_repeated(reds, stops, verdict, tmp_path):
    world = StoppableWorld(tmp_path)

    def act(times, world):
        world.here.node.program.reports += times in stops
        return "no cookie" if times in reds else None

    world.case("case", act)
    assert world.verdicts()["fake/case",] == verdict


def test_a_stop_that_is_reported_after_the_attempt_excuses_it(tmp_path):
    world = StoppableWorld(tmp_path)
    world.late = True
    world.case("case", lambda times, world: "silence" if times == 0 else None)
    assert world.verdicts()["fake/case",] == "pass"


def test_a_case_that_begins_while_the_target_is_suspended_is_disturbed(tmp_path):
    world = StoppableWorld(tmp_path)

    def act(times, world):
        world.here.node.program.halted = False
        return "silence" if times == 0 else None

    world.case("halts", lambda times, world: setattr(world.here.node.program, "halted", True))
    world.case("case", act, alone=True)
    assert world.verdicts()["fake/case",] == "pass"


@pytest.mark.parametrize(("recovers", "verdict"), [(1000.0, "pass"), (0.0, "flaky")])
def test_a_check_that_begins_right_after_a_stop_is_repeated(recovers, verdict, tmp_path, monkeypatch):
    """The target goes on again, and first lets go of what has timed out meanwhile."""
    monkeypatch.setattr(suspension, "RECOVERS", recovers)
    world = StoppableWorld(tmp_path)
    world.case("stops", lambda times, world: setattr(world.here.node.program, "reports", 2), alone=True)
    world.case("then", lambda times, world: "link shut" if times == 0 else None, alone=True)
    assert world.verdicts()["fake/then",] == verdict


def test_who_is_always_red_after_a_stop_is_at_fault(tmp_path):
    world = StoppableWorld(tmp_path)
    world.case("stops", lambda times, world: setattr(world.here.node.program, "reports", 2), alone=True)
    world.case("then", lambda times, world: "link shut", alone=True)
    assert world.verdicts()["fake/then",] == "fail"
