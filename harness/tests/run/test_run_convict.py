"""The script of what ended a target: tried on a fresh one, and what does not repeat it is said to the user."""

import io
import shlex
import sys
from pathlib import Path

import pytest
from rich.console import Console
from run_fakes import FakeNode, World

from zenoh_conformance.cases.case import grid
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Connection, Event, Happened, Side
from zenoh_harness.errors import CannotConnect
from zenoh_harness.files import conversations, scripts
from zenoh_harness.run.judge import judgement_script
from zenoh_harness.run.judge.decide import ended
from zenoh_harness.run.judge.judgement_script import NOT_REPEATED, NOT_TRIED, TRIES
from zenoh_harness.run.node.health import check
from zenoh_harness.run.node.lifecycle import Unhealthy
from zenoh_harness.run.records import NO_CASE
from zenoh_harness.run.report import summary
from zenoh_harness.targets import target
from zenoh_harness.targets.reach import parse


class Dies(World):
    """Its case kills the target, and says something first; links of a script end it as `by_link` says."""

    by_link: Verdict | None = None

    def killer(self, name="killer", state=Verdict.CRASH, **more):
        made = self.case(name, self.kills(state), **more)
        function = made.function

        def said(scene, **parameters):
            scene.conversation.connections["us"] = Connection("us", "tcp", initiator="harness", responder="target")
            scene.conversation.events.append(Event(0.0, "us", Side.INITIATOR, Happened.OPEN))
            function(scene, **parameters)

        object.__setattr__(made, "function", said)


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = Dies(tmp_path)

    def link(self, deadline, observer=None):
        self.state = world.by_link or self.state
        raise CannotConnect("nobody listens", step="connect")

    monkeypatch.setattr(FakeNode, "link", link, raising=False)
    return world


def found(ran):
    return {one.key.check: one.details.get("script") for one in ran.judgements}


def test_a_script_that_repeats_it_has_nothing_to_say(world):
    world.by_link = Verdict.CRASH
    world.killer()
    assert found(world.run())["fake/killer"] is None


@pytest.mark.parametrize(("by_link", "says"), [(None, NOT_REPEATED), (Verdict.ZOMBIE, f"{NOT_REPEATED}: zombie")])
def test_a_script_that_does_not_repeat_it_says_so(world, by_link, says):
    world.by_link = by_link
    world.killer()
    ran = world.run()
    assert found(ran)["fake/killer"] == says
    out = io.StringIO()
    summary.show(ran, Console(file=out, width=200))
    assert f"script   {says}" in out.getvalue()


def test_of_many_alike_some_are_tried(world):
    world.by_link = Verdict.CRASH
    world.killer(parameters=grid(at=tuple(range(TRIES + 2))))
    said = [one.details.get("script") for one in world.run().judgements[:-1]]
    assert said == [None] * TRIES + [NOT_TRIED] * 2


def test_a_death_that_no_case_repeats_says_so(world):
    world.case("struck", lambda times, world: None if times else world.kills()(times, world))
    assert found(world.run())["target/stays-up"] == NO_CASE


def test_a_script_that_cannot_be_read_again_says_so(world, monkeypatch):
    world.killer()
    monkeypatch.setattr(judgement_script, "text", lambda script: "script 9\n")
    assert "cannot be read again" in found(world.run())["fake/killer"]


def test_the_script_of_an_end_is_held_to_the_target_alone(world):
    world.killer()
    ran = world.run()
    evidence = world.out / next(one.evidence for one in ran.judgements if one.evidence)
    assert scripts.read(evidence.with_suffix(".script")).header["check"] == scripts.STAYS_UP
    assert conversations.read(evidence).about["ended"] == "seen crash"


def test_a_crash_keeps_the_last_words():
    """What a program wrote last stands in the evidence, with how it ended."""
    node = Path(__file__).parents[1] / "misbehaving_node.py"
    command = shlex.join([sys.executable, str(node), "dies"])
    with target.open_target(parse(f"exec:{command} {{port}}")).start() as node:
        health = check(node)
    assert health.verdict is Verdict.CRASH
    assert health.wrote[:2] == ("one", "two")
    assert "last words" in health.wrote
    about = ended(Unhealthy(health.verdict, health.cause, health.conversation, health.wrote))
    assert about["ended"].startswith("signal 6 (SIGABRT)")
    assert about["wrote"].startswith("one\ntwo\nlast words")
