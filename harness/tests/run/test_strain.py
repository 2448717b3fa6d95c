"""A machine that is strained: whoever is late there is not red, and what a moment tells is not observed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.cases.establishing import calm
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages import KeepAlive
from zenoh_harness.links.timing import MOST_STRAIN, SCALE_VARIABLE, Deadline, scaled, strain, stretched
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link
from zenoh_harness.reference.memory import MemoryScene
from zenoh_harness.run.attempt.attempt import Conditions, attempt
from zenoh_harness.run.judge.decide import decide
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.targets.adapters import launched
from zenoh_harness.targets.reach import parse
from zenoh_harness.targets.target import NodeInstance, open_target


def strained(monkeypatch: pytest.MonkeyPatch, times: float = MOST_STRAIN) -> None:
    """Let so much want to run that all takes so many times as long."""
    load = (times + 1) * (os.cpu_count() or 1)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))


# --- what a moment tells, on a clock in memory ------------------------------------------------------------------------


class Here(MemoryScene):
    """A scene in memory that is as patient as one on this machine."""

    @property
    def unit(self) -> float:
        return super().unit * strain()

    def fact(self, name: str, default: Any = None) -> Any:
        return strain() if name == "strain" else super().fact(name, default)


class ExpiresLate(Reference):
    """Ends a silent session three seconds after its lease: later than on a calm machine is waited for."""

    def lease_of(self, link: Link) -> float:
        return super().lease_of(link) + 3.0


class SpeaksLate(Reference):
    """States a lease of ten seconds, and says something every four and three quarters."""

    def send(self, link: Link, *messages: object) -> None:
        if messages != (KeepAlive(),) or self.now - link.last_said >= 4.75:
            super().send(link, *messages)


LATE = {
    "establishment-limits/a-silent-session-expires": ExpiresLate,
    "settled-terms/a-stated-lease-is-kept": SpeaksLate,
    "settled-terms/its-stated-lease-is-kept": SpeaksLate,
}
"""What is judged by the moment at which it comes, and who is late."""


def found(check: str, node: type[Reference]) -> Finding | None:
    """By what the node deviates in the first round of a case."""
    case = all_cases()[check]
    try:
        case.run(Here(case.requirement, node, role=case.role, profile=case.profile), case.parameters[0])
    except Deviation as deviation:
        return deviation.finding
    return None


@pytest.mark.parametrize("check", LATE)
def test_who_is_late_is_red_on_a_calm_machine_and_not_observed_on_a_strained_one(
    check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = found(check, LATE[check])
    assert late is not None
    assert late.reached

    strained(monkeypatch)
    late = found(check, LATE[check])
    assert late is not None
    assert not late.reached
    assert late.expected == "a machine that is not busy"


@pytest.mark.parametrize("check", LATE)
def test_who_is_right_is_held_until_the_machine_is_strained(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    strained(monkeypatch, 3.0)
    assert found(check, Reference) is None

    strained(monkeypatch, 3.1)
    told = found(check, Reference)
    assert told is not None
    assert not told.reached


# --- late answers, over a socket --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def late() -> Iterator[NodeInstance]:
    """A node that says everything 900 ms late."""
    with open_target(parse("variant:answers-after-900-ms")).start() as node:
        yield node


def verdict(case: Case, node: NodeInstance) -> Verdict:
    item = Item(case, case.parameters[0])
    return decide(item, [attempt(item, Conditions(node=node))]).verdict


@pytest.mark.parametrize(
    ("check", "on_a_calm_one"),
    [
        ("establishment-sane/a-sane-handshake-is-accepted", Verdict.FAIL),
        ("establishment-cookie/a-changed-cookie-is-refused", Verdict.NOT_OBSERVED),
    ],
)
def test_an_answer_that_is_too_late_on_a_calm_machine_is_in_time_on_a_strained_one(
    check: str, on_a_calm_one: Verdict, late: NodeInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We wait for 0.8 s, or for five times as long where it may have had no processor; red where the answer is what is judged."""
    monkeypatch.setenv(SCALE_VARIABLE, "0.4")
    assert verdict(all_cases()[check], late) is on_a_calm_one

    strained(monkeypatch)
    monkeypatch.setattr(late, "held_up", lambda _since: 0.0)
    assert verdict(all_cases()[check], late) is on_a_calm_one

    monkeypatch.setattr(late, "held_up", lambda _since: 0.5)
    assert verdict(all_cases()[check], late) is Verdict.PASS


def test_a_case_is_told_how_strained_the_machine_was_when_it_began(
    late: NodeInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = Case(id="strain/asks", requirement="target/habits", about="Asks whether the machine is calm.", function=calm)
    assert verdict(asks, late) is Verdict.PASS

    strained(monkeypatch)
    assert verdict(asks, late) is Verdict.NOT_OBSERVED


@pytest.mark.parametrize("times", [1.0, MOST_STRAIN])
def test_who_comes_back_has_the_longer_to_let_go_the_more_strained_the_machine_is(
    times: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two links of a node that comes to us its program gets a moment."""
    strained(monkeypatch, times)
    waits: list[Deadline] = []
    with open_target(parse("wheel:1.10.2?role=client")).start() as node:
        first = node.link(Deadline.after(5))
        first.close()
        program = node.program
        assert program is not None
        monkeypatch.setattr(program, "wait", waits.append)
        node.link(Deadline.after(5)).close()
        over = first.over
        assert over is not None
    assert waits[0].at - over == pytest.approx(stretched(launched._LETS_GO))
    assert stretched(launched._LETS_GO) == pytest.approx(times * scaled(launched._LETS_GO))
