"""What a decision holds beside its verdict: the evidence, and what was said and found around it."""

from dataclasses import replace

import pytest

from zenoh_conformance.cases.case import Case
from zenoh_conformance.judging.engine import Judged
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.law import all_laws
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Conversation, Event, Happened, Side
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Went
from zenoh_harness.run.judge.decide import Decision, charged, decide, ended, left_out
from zenoh_harness.run.node.lifecycle import Unhealthy
from zenoh_harness.run.plan.allowance import Allowance
from zenoh_harness.run.plan.plan import Item

ITEM = Item(Case(id="some/case", requirement="close/close-ends-the-link", function=print, about="some case"), {})
SAID = Conversation(events=[Event(0.0, "us", Side.INITIATOR, Happened.OPEN)])
LOOK = Conversation(connections={}, events=[Event(0.0, "first", Side.INITIATOR, Happened.OPEN)])
ON_US = Finding(requirement=ITEM.case.requirement, sender=Side.RESPONDER, connection="us", why="why")
LAWS = sorted(all_laws())[:2]


def outcome(went, number=1, **more):
    return AttemptOutcome(
        item=ITEM, went=went, conversation=SAID, cause=f"why {number}", end=f"end {number}", trace=f"trace {number}",
        before=f"before {number}", reading=f"reading {number}", **more,
    )  # fmt: skip


def test_a_decision_holds_what_its_attempt_had():
    """The laws that are red on the connection of the finding stand beside it, and no others."""
    elsewhere = replace(ON_US, connection="another")
    laws = (
        Judged(all_laws()[LAWS[0]], Side.RESPONDER, 1, (elsewhere, ON_US)),
        Judged(all_laws()[LAWS[1]], Side.RESPONDER, 1, (elsewhere,)),
    )
    deviated = outcome(Went.DEVIATED, findings=(ON_US,), laws=laws)

    assert decide(ITEM, [deviated]) == Decision(
        item=ITEM, verdict=Verdict.FAIL, cause="why 1", end="end 1", attempts=1, conversation=SAID, finding=ON_US,
        trace="trace 1", reading="reading 1", before="before 1", beside=(LAWS[0],),
    )  # fmt: skip


def test_one_without_a_finding_has_nothing_beside_it():
    laws = (Judged(all_laws()[LAWS[0]], Side.RESPONDER, 1, (ON_US,)),)

    assert decide(ITEM, [outcome(Went.HELD, laws=laws)]).beside == ()


def test_who_follows_the_text_of_an_erratum_reads_as_written():
    follows = replace(ON_US, follows="zid-zero-refused")

    text = decide(ITEM, [outcome(Went.DEVIATED, findings=(follows,))])

    assert (text.verdict, text.reading) == (Verdict.WARN, "as written")


def test_a_step_before_the_one_under_test_is_not_observed():
    before = replace(ON_US, path="not reached: init")

    assert decide(ITEM, [outcome(Went.DEVIATED, findings=(before,))]).verdict is Verdict.NOT_OBSERVED


@pytest.mark.parametrize(
    ("ways", "end"),
    [
        ((Went.HELD, Went.ELSEWHERE), "end 1"),
        ((Went.ELSEWHERE, Went.HELD), "end 2"),
        ((Went.HELD, Went.OVERTIME), "end 2"),
    ],
)
def test_the_attempt_that_is_told_has_the_verdict(ways, end):
    assert decide(ITEM, [outcome(went, number) for number, went in enumerate(ways, 1)]).end == end


@pytest.mark.parametrize("verdict", [Verdict.ZOMBIE, Verdict.CRASH])
def test_a_death_holds_what_was_said_and_found_before_and_after(verdict):
    unhealthy = Unhealthy(verdict, "how it died", LOOK, ("one", "two"))

    text = charged(ITEM, unhealthy, outcome(Went.HELD), 2, script="not tried")

    shows = LOOK if verdict is Verdict.ZOMBIE else SAID
    assert text == Decision(
        item=ITEM, verdict=verdict, cause="how it died", end="end 1", attempts=2, conversation=SAID,
        shown=Conversation(shows.connections, shows.events, {"ended": "how it died", "wrote": "one\ntwo"}),
        before="before 1", after=f"{verdict.value}: how it died", script="not tried",
    )  # fmt: skip
    assert text.shown is not None
    assert text.shown.connections == shows.connections


def test_a_death_that_no_script_repeats_says_nothing_of_one():
    assert charged(ITEM, Unhealthy(Verdict.CRASH, "how it died"), outcome(Went.HELD), 1).script == ""


def test_the_end_of_a_silent_program_says_nothing_of_its_output():
    assert ended(Unhealthy(Verdict.CRASH, "how it died")) == {"ended": "how it died"}


def test_what_there_was_no_time_for_is_told_by_name():
    allowance = Allowance(60.0)

    [text] = left_out([ITEM], allowance)

    assert text == Decision(
        item=ITEM, verdict=Verdict.NOT_OBSERVED, attempts=0, left_out=True,
        cause=f"left out: the budget of {allowance} was over",
    )  # fmt: skip
