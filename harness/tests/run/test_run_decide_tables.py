"""From attempts to a verdict: each way that an attempt can go, at each level, on each side, and every mixture of attempts."""

from dataclasses import replace
from itertools import product

import pytest

from zenoh_conformance.cases.case import Case
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Went
from zenoh_harness.run.judge.decide import _of_all, charged, decide, is_beyond, level_of
from zenoh_harness.run.node.lifecycle import Unhealthy
from zenoh_harness.run.plan.plan import Item

OF_LEVEL = {"MUST": "fail", "MUST NOT": "fail", "LAYOUT": "fail", "SHOULD": "warn", "MAY": "warn"}
"""What a deviation from a requirement of that level is."""

HELD, DEVIATED, LOST = Went.HELD, Went.DEVIATED, Went.LOST
OVERTIME, BROKE, ELSEWHERE, STOPPED = Went.OVERTIME, Went.BROKE, Went.ELSEWHERE, Went.STOPPED
SUSPENDED = Went.SUSPENDED

ALONE = {
    # how it went: (the target listens, the target comes to us), of a MUST
    HELD: ("pass", "pass"),
    DEVIATED: ("fail", "fail"),
    LOST: ("fail", "slow"),
    OVERTIME: ("slow", "slow"),
    BROKE: ("error", "error"),
    ELSEWHERE: ("not-observed", "not-observed"),
    SUSPENDED: ("not-observed", "not-observed"),
}

ATTEMPTS = {
    # attempts in their order: the verdict of a MUST on a target that listens
    (HELD, HELD): "pass",
    (DEVIATED, DEVIATED): "fail",
    (LOST, DEVIATED): "fail",
    (DEVIATED, HELD): "flaky",
    (HELD, DEVIATED): "flaky",
    (DEVIATED, HELD, HELD): "flaky",
    (OVERTIME, HELD): "slow",
    (HELD, OVERTIME): "slow",
    (OVERTIME, DEVIATED): "fail",
    (DEVIATED, OVERTIME): "fail",
    (OVERTIME, DEVIATED, HELD): "flaky",
    (ELSEWHERE, HELD): "pass",
    (ELSEWHERE, DEVIATED): "fail",
    (ELSEWHERE, DEVIATED, HELD): "flaky",
    (SUSPENDED, HELD): "pass",
    (SUSPENDED, DEVIATED): "fail",
    (BROKE, HELD): "error",
    (HELD, DEVIATED, BROKE): "error",
    (BROKE, DEVIATED): "error",
    (DEVIATED, STOPPED): "fail",
    (STOPPED, HELD): "pass",
    (DEVIATED, HELD, STOPPED): "flaky",
}


def item(level="MUST"):
    requirement = next(one.id for one in requirements().values() if one.level == level)
    return Item(Case(id="some/case", requirement=requirement, function=print, about="some case"), {})


def outcome(went, number=1, level="MUST"):
    found = Finding(requirement=item(level).case.requirement, sender=Side.RESPONDER, why=f"why {number}")
    findings = (found,) if went is DEVIATED else ()
    cause = "" if went is HELD else f"why {number}"
    return AttemptOutcome(item=item(level), went=went, findings=findings, cause=cause, end=f"end {number}")


def once(level="MUST"):
    """An attempt of many runs, as of a model, in which one deviated, and did not when it was run again."""
    shown = outcome(DEVIATED, level=level)
    return replace(shown, findings=(replace(shown.findings[0], once=True),))


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ([once()], "flaky"),
        ([once(), once()], "flaky"),
        ([once(), outcome(HELD)], "flaky"),
        ([once(), outcome(DEVIATED, 2)], "fail"),
        ([outcome(DEVIATED, 2), once()], "fail"),
    ],
)
def test_what_came_once_is_flaky_and_hides_nothing_that_comes_each_time(outcomes, verdict):
    """A client lost a query in one run of a model: it was a failure, of what that run was about."""
    found = decide(item(), outcomes)
    assert found.verdict.value == verdict
    assert ("why 2" in found.cause) is (verdict == "fail")


def test_what_came_once_of_what_should_be_is_a_warning():
    assert decide(item("SHOULD"), [once("SHOULD")]).verdict is Verdict.WARN


def decided(*ways, side=Side.RESPONDER, level="MUST"):
    return decide(item(level), [outcome(went, number, level) for number, went in enumerate(ways, 1)], side)


def test_the_table_names_every_way_but_that_of_a_run_that_was_ended():
    assert {*ALONE, STOPPED} == set(Went)


@pytest.mark.parametrize(("went", "side"), list(product(ALONE, Side)))
def test_one_attempt(went, side):
    assert decided(went, side=side).verdict is Verdict(ALONE[went][side is Side.INITIATOR])


@pytest.mark.parametrize("level", OF_LEVEL)
@pytest.mark.parametrize("went", ALONE)
def test_the_level_weakens_a_deviation_and_nothing_else(went, level):
    due = OF_LEVEL[level] if went is DEVIATED else ALONE[went][0]
    assert decided(went, level=level).verdict is Verdict(due)


def test_every_level_that_a_requirement_has_is_in_the_table():
    assert {str(one.level) for one in requirements().values()} <= set(OF_LEVEL)
    assert level_of("no/such-requirement") == "MUST"


@pytest.mark.parametrize("ways", ATTEMPTS, ids=lambda ways: "-".join(went.value for went in ways))
def test_several_attempts(ways):
    assert decided(*ways).verdict is Verdict(ATTEMPTS[ways])


@pytest.mark.parametrize("side", Side)
def test_no_repetition_turns_red_into_green(side):
    """Over all triples: `pass` only where every attempt that came to its point held, `error` as soon as one is ours.

    `slow` is neither red nor green, and what was not observed says nothing of the rest.
    """
    for ways in product(ALONE, repeat=3):
        verdict = decided(*ways, side=side).verdict
        alone = {ALONE[went][side is Side.INITIATOR] for went in ways}
        told = alone - {"slow"}
        told -= {"not-observed"} if len(told) > 1 else set()
        one = "slow" if "slow" in alone and told <= {"pass"} else "".join(told)
        due = "error" if "error" in alone else "flaky" if len(told) > 1 else one
        assert verdict is Verdict(due), ways


def test_what_is_wrong_each_time_is_not_flaky():
    """Once against a MUST, once against a SHOULD: the worse of both."""
    assert _of_all([Verdict.WARN, Verdict.FAIL]) is Verdict.FAIL
    assert _of_all([Verdict.FAIL, Verdict.WARN, Verdict.PASS]) is Verdict.FLAKY
    assert _of_all([Verdict.WARN, Verdict.PASS]) is Verdict.FLAKY


def test_what_a_flaky_one_tells():
    text = decided(HELD, DEVIATED, HELD, STOPPED)
    assert (text.cause, text.attempts, text.end) == ("1 of 3 attempts: why 2", 3, "end 2")
    assert text.finding is not None


def test_of_a_flaky_one_the_first_red_attempt_is_the_evidence():
    """What comes now and then may never come again."""
    text = decided(DEVIATED, HELD, DEVIATED)
    assert (text.cause, text.end) == ("2 of 3 attempts: why 1", "end 1")


@pytest.mark.parametrize("own", OF_LEVEL)
@pytest.mark.parametrize("of_case", OF_LEVEL)
def test_the_level_of_a_finding_of_another_requirement_is_that_requirements(own, of_case):
    """A case may find that another requirement than its own is broken."""
    [finding] = outcome(DEVIATED, level=own).findings
    text = decide(item(of_case), [replace(outcome(DEVIATED, level=of_case), findings=(finding,))])
    assert (text.verdict, text.requirement) == (Verdict(OF_LEVEL[own]), item(own).case.requirement)


def test_the_last_red_attempt_is_the_evidence():
    text = decided(DEVIATED, DEVIATED)
    assert (text.cause, text.attempts, text.end) == ("why 2", 2, "end 2")


def test_our_own_fault_is_told_before_theirs():
    assert decided(BROKE, DEVIATED).cause == "why 1"


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict.is_grave])
def test_a_death_is_charged_to_the_case_as_it_was_seen(verdict):
    text = charged(item("MAY"), Unhealthy(verdict, "how it died"), outcome(HELD), 2)
    assert (text.verdict, text.cause, text.attempts, text.end) == (verdict, "how it died", 2, "end 1")


@pytest.mark.parametrize("verdict", Verdict)
def test_a_requirement_that_is_not_required_excuses_a_deviation_and_no_death(verdict):
    """A crash, hang, zombie or panic is a fault under every revision."""
    requirement = item().case.requirement
    deviates = verdict.value in ("fail", "warn", "flaky", "slow")
    assert is_beyond(requirement, verdict, frozenset()) is deviates
    assert not is_beyond(requirement, verdict, frozenset({requirement}))
    assert not is_beyond(requirement, verdict, None)
    assert not is_beyond("no/such-requirement", verdict, frozenset())


@pytest.mark.parametrize("verdict", [one for one in Verdict if one.is_grave])
@pytest.mark.parametrize("looked", [True, False], ids=["with-the-look", "without"])
def test_the_evidence_of_a_zombie_is_the_health_check_and_of_other_deaths_the_case(verdict, looked):
    said, look = (Event(0.0, name, Side.INITIATOR, Happened.OPEN) for name in ("us", "first"))
    unhealthy = Unhealthy(verdict, "how it died", Conversation(events=[look]) if looked else None, ("last words",))
    shown = charged(item(), unhealthy, replace(outcome(HELD), conversation=Conversation(events=[said])), 1).shown
    assert shown is not None
    assert shown.events == [look if looked and verdict is Verdict.ZOMBIE else said]
    assert shown.about == {"ended": "how it died", "wrote": "last words"}
