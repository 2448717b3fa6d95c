"""Health: each grade, each verdict, each by a node that deserves it."""

import os
import shlex
import signal
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import NetworkOam
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Happened
from zenoh_conformance.talking.dialogue import Dialogue
from zenoh_conformance.wire import vle
from zenoh_conformance.wire.layer import Enc
from zenoh_harness.errors import AgentError, CannotConnect, CannotStart, NotZenoh
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import provoke
from zenoh_harness.links.timing import Deadline
from zenoh_harness.links.wires import Recorder
from zenoh_harness.reference import Reference
from zenoh_harness.run.node import health
from zenoh_harness.run.node.health import Budget
from zenoh_harness.targets import agent, target
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import Grade

NODE = Path(__file__).parents[1] / "misbehaving_node.py"
NO_NODE = Path(__file__).parents[1] / "no_node.py"


def bad(how):
    return target.open_target(parse(f"exec:{shlex.join([sys.executable, str(NODE), how])} {{port}}"))


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(health, "PATIENCE", 0.5)


@pytest.fixture
def router():
    with target.open_target(parse("wheel:1.10.2")).start() as node:
        yield node


def test_a_stopped_router_hangs_and_is_well_again(router):
    os.kill(router.program.pid, signal.SIGSTOP)
    found = health.check(router)
    assert (found.verdict, found.cause) == (Verdict.HANG, "its process is stopped by a signal")
    os.kill(router.program.pid, signal.SIGCONT)
    assert health.check(router).well


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGTERM])
def test_a_killed_router_crashed(router, number):
    os.kill(router.program.pid, number)
    found = health.check(router)
    assert (found.verdict, found.grade) == (Verdict.CRASH, Grade.GONE)
    assert found.cause == f"signal {number.value} ({number.name})"


def test_a_healthy_router_leaves_evidence_of_it(router):
    found = health.check(router)
    assert found.grade is Grade.FUNCTIONAL
    assert {event.connection for event in found.conversation} == {"first", "second"}
    assert found.latency > 0
    assert found.usage.memory > 1 << 20
    assert found.usage.threads > 1


def test_health_leaves_no_session_behind(router):
    before = router.program.usage().descriptors
    for _ in range(20):
        assert health.check(router).well
    deadline = Deadline.after(10)
    while router.program.usage().descriptors > before + 8:
        assert not deadline.passed


@pytest.mark.parametrize(("version", "verdict"), [("1.9.0", Verdict.CRASH), ("1.10.2", Verdict.PASS)])
def test_a_string_that_promises_too_much_aborts_an_old_release(version, verdict):
    """A public bug of an old release: what a QUERY's parameters claim to be long is allocated before it is there."""
    with target.open_target(parse(f"wheel:{version}")).start() as node:
        us = Dialogue(Recorder().wire(node, "us", Deadline.after(5)), zid=b"\1\2\3", unit=2.0, requirement="x/y")
        us.open()
        us.send(encode(us.frame()) + bytes.fromhex("7c01000161 43") + vle.encode(1 << 62))
        us.expect_end()
        found = health.check(node)
    assert found.verdict is verdict
    assert ("memory allocation of" in found.cause) is (verdict is Verdict.CRASH)


def test_a_router_poisoned_by_a_link_state_is_a_zombie():
    """A public bug of an old release: the handshake goes on, the work does not."""
    with target.open_target(parse("wheel:1.0.4")).start() as old:
        us = Dialogue(Recorder().wire(old, "us", Deadline.after(5)), zid=b"\1\2\3", unit=0.3, requirement="x/y")
        us.open()
        us.say(NetworkOam(id=1, enc=Enc.ZBUF, body=b"\xff"))
        with pytest.raises(Deviation):
            us.fence()
        found = health.check(old)
    assert (found.verdict, found.grade) == (Verdict.ZOMBIE, Grade.HANDSHAKE)
    assert found.cause == "a declaration is not dealt with: silence, after signs of panic in its output"
    assert found.vitals.running
    assert found.vitals.signs[0].kind == "panic"


@pytest.mark.parametrize(("times", "verdict"), [(1, Verdict.PASS), (2, Verdict.PASS), (3, Verdict.ZOMBIE)])
@pytest.mark.parametrize("end", [{"closed": 0}, {"ended": Happened.RESET}])
@pytest.mark.parametrize("speaks", [True, False], ids=["with-agent", "without-agent"])
def test_one_that_ends_a_session_has_another_go(times, verdict, end, speaks, monkeypatch):
    """A client of 1.10 may refuse a session while it lets go of the one before; one that always does is a zombie."""
    name = "_function_of_agent" if speaks else "_plain"
    work, closed = getattr(health._Check, name), []

    def closes(self, us):
        if len(closed) < times:
            closed.append(us)
            vars(us).update(end)
            self._step(lambda: us.deviate(expected="ResponseFinal", got="Close(GENERIC)"), "a query is not finished")
        work(self, us)

    monkeypatch.setattr(health._Check, name, closes)
    with target.open_target(parse("wheel:1.10.2?role=client")).start() as node:
        node.agent = node.agent if speaks else None
        found = health.check(node)
    assert found.verdict is verdict
    assert {event.connection for event in found.conversation} == {"first", "again", "again1"} - (
        {"again1"} if times == 1 else set()
    )


REFUSED = AgentError("the agent refuses put", step="agent put", seen="session not ready")
SILENT = AgentError("the agent does not answer put", step="agent put", seen=agent.SILENT)


@pytest.mark.parametrize(
    ("ask", "told", "awaited"),
    [
        (REFUSED, (), ""),
        (SILENT, (), "an answer of the agent"),
        (None, ("query",), "Push"),
        (None, ("sample",), "Request"),
    ],
)
def test_what_an_application_misses_is_the_message_of_which_it_is_told(ask, told, awaited, monkeypatch):
    """A client that called itself not ready some milliseconds after the handshake had lost ` `."""
    monkeypatch.setattr(health._Check, "_told", lambda *_: {*told})
    with target.open_target(parse("wheel:1.10.2?role=client")).start() as node:
        if ask is not None:
            monkeypatch.setattr(type(node.agent), "ask", Mock(side_effect=ask))
        found = health.check(node)
    assert (found.verdict, found.awaited) == (Verdict.ZOMBIE, awaited)


def test_an_application_that_is_not_ready_for_a_moment_is_asked_again(monkeypatch):
    """A client whose library was not ready for some milliseconds after it had reconnected was a zombie seven times."""
    ask, left = agent.AgentClient.ask, [REFUSED, REFUSED]

    def asked(self, command, **arguments):
        if left:
            raise left.pop()
        return ask(self, command, **arguments)

    monkeypatch.setattr(agent.AgentClient, "ask", asked)
    with target.open_target(parse("wheel:1.10.2?role=client")).start() as node:
        assert health.check(node).verdict is Verdict.PASS
    assert not left


def test_slow_is_past_the_budget(router, monkeypatch):
    monkeypatch.setattr(health, "FLOOR", 0.0)
    assert health.check(router, Budget(calm=0.0)).verdict is Verdict.SLOW
    assert health.check(router, Budget(calm=10.0)).verdict is Verdict.PASS


def test_a_budget_is_learnt(router):
    budget = health.learn(router)
    assert 0 < budget.calm < 1
    assert budget.slow >= health.FLOOR
    assert budget.patience >= 2 * budget.slow


@pytest.mark.parametrize(
    ("how", "verdict", "grade", "says"),
    [
        ("closes-after-open", Verdict.ZOMBIE, Grade.HANDSHAKE, "link shut"),
        ("says-close", Verdict.ZOMBIE, Grade.HANDSHAKE, "Close(GENERIC)"),
        ("works-never", Verdict.ZOMBIE, Grade.HANDSHAKE, "silence"),
        ("finishes-queries-only", Verdict.ZOMBIE, Grade.HANDSHAKE, "a push does not arrive"),
        ("passes-pushes-only", Verdict.ZOMBIE, Grade.HANDSHAKE, "a query does not arrive"),
        ("stalls-at-open", Verdict.HANG, Grade.SOCKET, "OpenAck"),
    ],
)
def test_alive_is_not_healthy(how, verdict, grade, says):
    with bad(how).start() as node:
        found = health.check(node)
    assert (found.verdict, found.grade) == (verdict, grade)
    assert says in found.cause


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ("exits", CannotStart, "cannot find my config"),
        ("daemon", CannotStart, "background"),
        ("elsewhere", CannotConnect, "listens at"),
        ("nowhere", CannotConnect, "has no listening socket"),
        ("http", NotZenoh, "HTTP/1.1 400"),
        ("mute", NotZenoh, "does not answer"),
    ],
)
def test_what_is_no_node_is_told_with_its_step(how, error, says, monkeypatch):
    monkeypatch.setattr("zenoh_harness.targets.adapters.command.READY", 2.0)
    command = shlex.join([sys.executable, "-I", "-S", str(NO_NODE), how])
    with pytest.raises(error) as refused:
        target.open_target(parse(f"exec:{command} {{port}}")).start()
    assert says in str(refused.value)
    assert refused.value.step
    assert refused.value.exit_code == 3


def test_a_late_listener_is_waited_for():
    with bad("late").start() as node:
        assert node.program.poll() is None


@pytest.mark.parametrize(("reach", "sessions"), [("variant:a-peer", {"first"}), ("reference", {"first", "second"})])
def test_who_states_that_it_is_no_router_passes_nothing_on(reach, sessions, monkeypatch):
    """A program may be started without a word of its role; its InitAck says what it is."""
    with target.open_target(parse(reach)).start() as node:
        monkeypatch.setattr(type(node), "role", "router", raising=False)
        found = health.check(node)
    assert found.well
    assert {event.connection for event in found.conversation} == sessions


@pytest.mark.parametrize(
    ("name", "verdict"), [("counts-leases-as-milliseconds", Verdict.NOT_OBSERVED), ("", Verdict.ZOMBIE)]
)
def test_a_node_that_takes_a_lease_for_over_is_not_dead(monkeypatch, name, verdict):
    """It was a zombie in five places, and kept back as one; the law about EXPIRED judges it."""
    node = all_faulty_nodes()[name].node if name else Reference
    case = all_cases()["establishment-limits/a-silent-session-expires"]
    said = provoke(case, {"seconds": True}, node)[1].conversation

    def falls_ill(look):
        look.recorder.conversation = said
        raise health._Ill(Verdict.ZOMBIE, "a declaration is not dealt with: Close(EXPIRED)")

    monkeypatch.setattr(health._Check, "_steps", falls_ill)
    with target.open_target(parse("reference")).start() as live:
        found = health.check(live)

    assert found.verdict is verdict
    assert found.cause.startswith("a declaration is not dealt with: Close(EXPIRED)")
    assert ("which law/expired-needs-a-lease judges" in found.cause) is bool(name)
