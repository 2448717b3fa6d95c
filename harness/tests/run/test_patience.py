"""A target that gives a handshake up while we are late is not blamed, and passes nothing."""

import sys
import time

import pytest
from run_fakes import World

from zenoh_conformance.cases.case import Case, find_case
from zenoh_conformance.judging.finding import KEPT_WAITING, OVERSLEPT
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_harness.run.attempt.attempt import Conditions, attempt
from zenoh_harness.run.attempt.limiter import prompt_threads
from zenoh_harness.run.attempt.scenes import Pause
from zenoh_harness.run.judge.decide import decide
from zenoh_harness.run.node import health, lifecycle
from zenoh_harness.run.node.health import Health, check
from zenoh_harness.run.node.lifecycle import Lifecycle
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.targets.habits import TargetHabits
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import Grade, Vitals, open_target

LATE = 0.25
"""Seconds by which we are late: the node waits for 100 ms, and looks every 50 ms."""

HASTY = TargetHabits(answer=0.01, waits={"the link's opening": 0.1, "InitAck": 0.1})


@pytest.fixture
def node():
    with open_target(parse("variant:waits-100-ms-as-listener?as=responder")).start() as started:
        started.habits = HASTY
        yield started


def tried(node, name, late, **parameters):
    """The decision on one attempt at a case, of which each step comes late, or is not held up."""
    item = Item(find_case(name), parameters)
    pause = Pause(item.label, lambda *_step: time.sleep(LATE)) if late else None
    outcome = attempt(item, Conditions(node=node, pause=pause))
    assert late <= all(not judged.findings for judged in outcome.laws)
    return decide(item, [outcome])


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("establishment-sane/a-sane-handshake-is-accepted", {}),
        ("establishment-init/an-unknown-version-is-closed", {"version": 8}),
        ("establishment-order/nothing-but-init-syn-begins", {"what": "garbage"}),
    ],
)
def test_nothing_is_judged_where_we_were_late(node, name, parameters):
    """Neither a handshake that could not come about, nor the end of the link that looks like a refusal."""
    decision = tried(node, name, True, **parameters)
    assert decision.verdict is Verdict.NOT_OBSERVED
    assert decision.cause.startswith(f"{KEPT_WAITING}: we answered ")
    assert decision.cause.endswith(" ms after the link's opening, the target waits 100 ms")
    assert tried(node, name, False, **parameters).verdict in (Verdict.PASS, Verdict.NOT_OBSERVED)


@pytest.mark.parametrize(("silent", "verdict"), [(1.3, Verdict.NOT_OBSERVED), (0.0, Verdict.FAIL)])
def test_nothing_is_judged_where_another_session_of_ours_expired_meanwhile(silent, verdict):
    """What the target says elsewhere may come of that end: it ends a query whose source is gone."""

    def deviates(scene):
        another, us = scene.dialogue("another"), scene.session("us")
        another.ask(another.open_syn(another.ask(another.init_syn(), expect=InitAck), lease=1), expect=OpenAck)
        time.sleep(silent)
        us.fence()
        us.deviate(expected="no ResponseFinal yet", got="ResponseFinal")

    case = Case(
        id="of/its-own", requirement="reply/final-always-comes", function=deviates, about="x", role=Side.RESPONDER
    )
    with open_target(parse("reference")).start() as node:
        decision = decide(Item(case, {}), [attempt(Item(case, {}), Conditions(node=node))])
    assert decision.verdict is verdict
    assert decision.cause.startswith(OVERSLEPT) is (silent > 0)


def test_a_look_that_came_too_late_is_no_zombie(node, monkeypatch):
    opened = health.open_session

    def late(dialogue, profile):
        time.sleep(LATE)
        return opened(dialogue, profile)

    monkeypatch.setattr(health, "open_session", late)
    found = check(node)
    assert found.verdict is Verdict.NOT_OBSERVED
    node.habits = TargetHabits()
    assert check(node).verdict is Verdict.ZOMBIE


def test_a_look_is_taken_until_one_is_in_time(tmp_path, monkeypatch):
    verdicts = []

    def examine(node, budget=None):
        verdict = Verdict.NOT_OBSERVED if len(verdicts) < late else Verdict.ZOMBIE
        verdicts.append(verdict)
        return Health(
            grade=Grade.SOCKET,
            verdict=verdict,
            cause="so",
            latency=0.0,
            vitals=Vitals(running=True),
            conversation=Conversation(),
        )

    monkeypatch.setattr(lifecycle, "LATE_LOOKS", 3)
    looked = Lifecycle(World(tmp_path).target, "default", examine)
    late = 4
    assert looked.begin() is None
    assert looked.unhealthy().verdict is Verdict.ZOMBIE
    late, verdicts[:] = 99, []
    assert looked.unhealthy() is None
    assert len(verdicts) == 4


def test_threads_are_prompt_only_where_it_is_wanted():
    before = sys.getswitchinterval()
    for wanted in (True, False):
        with prompt_threads(wanted):
            assert (sys.getswitchinterval() < before) is wanted
        assert sys.getswitchinterval() == before
