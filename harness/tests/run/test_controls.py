"""What a check rests on: a target that refuses everything passes no refusal, and what is ill from the start is said once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.cases.controls import BASIC, Ground, steps_before, words_of
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.run.judge.controls import Controls
from zenoh_harness.run.judge.decide import Decision, left_out
from zenoh_harness.run.plan.allowance import Allowance
from zenoh_harness.run.plan.plan import Item

SANE, WORK = "establishment-sane/a-sane-handshake-is-accepted", "establishment-sane/a-session-does-work"
REFUSAL = "establishment-cookie/an-invented-cookie-is-refused"
SKIPPED = "establishment-extensions/an-unknown-optional-extension-of-init-is-skipped"
REFUSED = "establishment-extensions/an-unknown-mandatory-extension-of-init-is-refused"


def case(name: str) -> Case:
    return all_cases()[name]


def item(name: str, at: int = 0) -> Item:
    return Item(case(name), case(name).parameters[at])


def came(name: str, verdict: Verdict, at: int = 0, finding: Finding | None = None) -> Decision:
    return Decision(item=item(name, at), verdict=verdict, finding=finding)


def found(path: str, *, is_work: bool = False) -> Finding:
    return Finding(requirement="", sender=Side.RESPONDER, path=path, got="silence", is_work=is_work)


def settled(items: Sequence[Item], decisions: Sequence[Decision]) -> dict[str, Decision]:
    controls = Controls(all_cases(), Ground(all_cases()))
    controls.ordered(items)
    return {decision.item.label: decision for decision in controls.settled(decisions)}


def test_a_refusal_whose_control_did_not_pass_is_not_observed() -> None:
    told = settled(
        [item(REFUSAL), item(SANE), item(WORK)],
        [came(REFUSAL, Verdict.PASS), came(SANE, Verdict.FAIL, finding=found("stage init")), came(WORK, Verdict.PASS)],
    )

    assert told[item(SANE).label].verdict is Verdict.FAIL
    assert told[item(REFUSAL).label].verdict is Verdict.NOT_OBSERVED
    assert SANE in told[item(REFUSAL).label].cause


def test_a_refusal_whose_control_passed_stands() -> None:
    told = settled(
        [item(REFUSAL), item(SANE), item(WORK)],
        [came(SANE, Verdict.PASS), came(REFUSAL, Verdict.PASS), came(WORK, Verdict.PASS)],
    )

    assert {one.verdict for one in told.values()} == {Verdict.PASS}


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.FLAKY, Verdict.WARN, Verdict.NOT_OBSERVED, Verdict.CRASH])
def test_a_plain_step_that_failed_judges_what_deviates_alike(verdict: Verdict) -> None:
    """One that did not fail itself judges nothing in the place of others."""
    told = settled(
        [item(SANE), item(WORK), item(SKIPPED), item(REFUSED)],
        [
            came(SANE, verdict, finding=found("stage init")),
            came(WORK, Verdict.PASS),
            came(SKIPPED, Verdict.PASS),
            came(REFUSED, Verdict.FAIL, finding=found("stage init")),
        ],
    )[item(REFUSED).label]

    assert (told.verdict is Verdict.FAIL) is (verdict is not Verdict.FAIL)
    assert told.cause == ("" if told.verdict is Verdict.FAIL else f"deviates as {SANE} does, which judges that")


def test_a_control_that_was_left_out_is_told_so() -> None:
    """There was time for what rests on it, and none for it: it did not fail."""
    left = next(left_out([item(SANE)], Allowance.of(0)))
    told = settled(
        [item(REFUSAL), item(SANE), item(WORK)], [came(REFUSAL, Verdict.PASS), left, came(WORK, Verdict.PASS)]
    )

    assert told[item(REFUSAL).label].verdict is Verdict.NOT_OBSERVED
    assert told[item(REFUSAL).label].cause == f"rests on {SANE}, which was left out: the budget of 0 s was over"


def test_what_was_left_out_rests_on_nothing() -> None:
    """It says why nobody looked, whatever became of its control."""
    left = next(left_out([item(REFUSAL)], Allowance.of(0)))
    told = settled([item(REFUSAL), item(SANE)], [came(SANE, Verdict.FAIL, finding=found("stage init")), left])

    assert told[item(REFUSAL).label].cause == "left out: the budget of 0 s was over"


def test_a_control_that_was_tried_and_failed_is_told_before_what_was_left_out() -> None:
    left = next(left_out([item(SKIPPED, 0)], Allowance.of(0)))
    told = settled(
        [*(item(SKIPPED, at) for at in (0, 1)), item(REFUSED, 2), item(WORK)],
        [
            came(WORK, Verdict.PASS),
            left,
            came(SKIPPED, Verdict.FAIL, 1, found("stage init")),
            came(REFUSED, Verdict.PASS, 2),
        ],
    )

    assert told[item(REFUSED, 2).label].cause == f"rests on {SKIPPED}, which did not pass"


def test_a_control_nobody_asked_for_is_run_beside() -> None:
    controls = Controls(all_cases(), Ground(all_cases()))

    assert [one.case.id for one in controls.ordered([item(REFUSAL)])] == [SANE, REFUSAL]


def test_a_control_counts_for_its_own_values() -> None:
    items = [item(name, at) for name in (SKIPPED, REFUSED) for at in (0, 1)]
    told = settled(
        [*items, item(WORK)],
        [
            came(WORK, Verdict.PASS), came(SKIPPED, Verdict.PASS, 0), came(SKIPPED, Verdict.FAIL, 1, found("stage init")),
            came(REFUSED, Verdict.PASS, 0), came(REFUSED, Verdict.PASS, 1),
        ],
    )  # fmt: skip

    assert told[item(REFUSED, 0).label].verdict is Verdict.PASS
    assert told[item(REFUSED, 1).label].verdict is Verdict.NOT_OBSERVED


def test_what_is_seen_by_work_rests_on_work() -> None:
    """A router that never ends a query deviates once, and not wherever a query ends a check."""
    told = settled(
        [item(SKIPPED), item(WORK)],
        [came(SKIPPED, Verdict.FAIL, 0, found("the session works", is_work=True)),
         came(WORK, Verdict.FAIL, 0, found("the session works", is_work=True))],
    )  # fmt: skip

    assert told[item(WORK).label].verdict is Verdict.FAIL
    assert told[item(SKIPPED).label].verdict is Verdict.NOT_OBSERVED


@pytest.mark.parametrize(("is_work", "verdict"), [(True, Verdict.NOT_OBSERVED), (False, Verdict.FAIL)])
def test_only_what_was_seen_by_work_rests_on_work(is_work: bool, verdict: Verdict) -> None:
    """A refusal where an answer is required is a deviation, whether sessions work or not."""
    told = settled(
        [item(SKIPPED), item(WORK)],
        [came(SKIPPED, Verdict.FAIL, 0, found("stage init", is_work=is_work)),
         came(WORK, Verdict.FAIL, 0, found("the session works", is_work=True))],
    )  # fmt: skip

    assert told[item(SKIPPED).label].verdict is verdict


def test_what_was_not_reached_names_its_judge() -> None:
    told = settled(
        [item(REFUSAL), item(SANE)],
        [came(SANE, Verdict.PASS), came(REFUSAL, Verdict.NOT_OBSERVED, finding=found("not reached: init"))],
    )

    assert told[item(REFUSAL).label].cause == f"not reached: init: silence ({SANE} judges that)"


def test_a_death_is_told_whatever_stands() -> None:
    told = settled(
        [item(REFUSAL), item(SANE)],
        [came(SANE, Verdict.FAIL, finding=found("stage init")), came(REFUSAL, Verdict.CRASH)],
    )

    assert told[item(REFUSAL).label].verdict is Verdict.CRASH


def test_bytes_that_cannot_be_read_are_charged_once() -> None:
    """They come in answer to everything; the next check that meets them says who told of them first."""
    unread = [
        Finding(
            requirement="",
            sender=Side.RESPONDER,
            path="stage init",
            got=f"undecodable bytes (init.exts at byte {at}: ..)",
        )
        for at in (23, 19)
    ]
    told = settled(
        [item(WORK), item(SANE), item(SKIPPED)],
        [
            came(WORK, Verdict.PASS),
            came(SANE, Verdict.FAIL, finding=unread[0]),
            came(SKIPPED, Verdict.FAIL, finding=unread[1]),
        ],
    )

    assert told[item(SANE).label].verdict is Verdict.FAIL
    assert told[item(SKIPPED).label].verdict is Verdict.NOT_OBSERVED
    assert told[item(SKIPPED).label].cause == f"deviates as {SANE} does, which judges that"


def test_the_values_of_one_check_are_charged_each() -> None:
    unread = Finding(
        requirement="", sender=Side.RESPONDER, path="stage init", got="undecodable bytes (init.exts at byte 9: ..)"
    )
    told = settled(
        [item(WORK), item(SANE), item(SKIPPED, 0), item(SKIPPED, 1)],
        [
            came(WORK, Verdict.PASS), came(SANE, Verdict.PASS), came(SKIPPED, Verdict.FAIL, 0, unread),
            came(SKIPPED, Verdict.FAIL, 1, unread),
        ],
    )  # fmt: skip

    assert {told[item(SKIPPED, at).label].verdict for at in (0, 1)} == {Verdict.FAIL}


def test_what_deviates_as_a_plain_session_does_shows_no_more() -> None:
    """Even where its own control stands: it failed at a step that another check judges."""
    told = settled(
        [item(SKIPPED), item(SANE), item(WORK)],
        [came(SKIPPED, Verdict.FAIL, 0, found("stage open")), came(SANE, Verdict.FAIL, finding=found("stage open")),
         came(WORK, Verdict.NOT_OBSERVED, finding=found("not reached: open"))],
    )  # fmt: skip

    assert told[item(SANE).label].verdict is Verdict.FAIL
    assert told[item(SKIPPED).label].verdict is Verdict.NOT_OBSERVED
    assert told[item(SKIPPED).label].cause == f"deviates as {SANE} does, which judges that"


def test_what_deviates_at_another_step_stands() -> None:
    told = settled(
        [item(SKIPPED), item(SANE), item(WORK)],
        [came(SANE, Verdict.PASS), came(WORK, Verdict.PASS), came(SKIPPED, Verdict.FAIL, 0, found("stage open"))],
    )

    assert told[item(SKIPPED).label].verdict is Verdict.FAIL


def test_the_steps_of_a_plain_session_are_settled_as_they_come_and_in_order() -> None:
    """None of them waits for a later one: what is known is told at once."""
    names = BASIC[Side.RESPONDER]
    controls = Controls(all_cases(), Ground(all_cases()))
    assert [one.case.id for one in controls.ordered([item(name) for name in reversed(names)])] == list(names)

    told = []
    for decision in controls.settled(came(name, Verdict.FAIL, finding=found("stage init")) for name in names):
        told.append(decision.verdict)
        assert len(told) == sum(controls._due[name] == 0 for name in names)
    assert told == [Verdict.FAIL, Verdict.NOT_OBSERVED, Verdict.NOT_OBSERVED]


@pytest.mark.parametrize("verdict", Verdict)
def test_a_check_counts_only_where_its_control_passed(verdict: Verdict) -> None:
    """`slow` is a pass; a control that only warned did not do what is required."""
    finding = found("stage init") if verdict in (Verdict.FAIL, Verdict.WARN) else None
    told = settled(
        [item(REFUSAL), item(SANE), item(WORK)],
        [came(SANE, verdict, finding=finding), came(WORK, Verdict.PASS), came(REFUSAL, Verdict.PASS)],
    )

    stands = verdict in (Verdict.PASS, Verdict.SLOW)
    assert told[item(REFUSAL).label].verdict is (Verdict.PASS if stands else Verdict.NOT_OBSERVED)


def test_the_first_reason_why_a_control_was_not_tried_is_given() -> None:
    ground = Ground(all_cases())
    for why in ("was left out", "was not observed"):
        ground.note(SANE, {}, passed=False, why=why)

    assert ground.missing(case(REFUSAL), {}, None) == f"rests on {SANE}, which was left out"
    ground.note(SANE, {}, passed=False)
    assert ground.missing(case(REFUSAL), {}, None) == f"rests on {SANE}, which did not pass"
    ground.note(SANE, {}, passed=True)
    assert ground.missing(case(REFUSAL), {}, None) == ""


def test_the_steps_before_a_check_are_those_of_a_plain_session() -> None:
    basic = BASIC[Side.RESPONDER]

    assert [steps_before(case(name)) for name in basic] == [basic[:at] for at in range(len(basic))]
    assert steps_before(case(REFUSAL)) == basic


def test_numbers_do_not_tell_what_came_apart() -> None:
    assert words_of("init.exts at byte 23 of 4") == "init.exts at byte n of n"


def test_a_check_stands_by_its_own_values_as_far_as_it_was_judged() -> None:
    ground, (one, other) = Ground(all_cases()), case(SKIPPED).parameters[:2]
    assert ground.stands(SKIPPED, one) is None

    ground.note(SKIPPED, one, passed=True)
    ground.note(SKIPPED, other, passed=False)
    assert (ground.stands(SKIPPED, one), ground.stands(SKIPPED, other), ground.stands(SANE, {})) == (True, False, None)


def test_a_check_rests_in_vain_on_what_did_not_pass_with_its_values() -> None:
    ground, (one, other) = Ground(all_cases()), case(REFUSED).parameters[:2]
    for parameters, passed in ((case(SKIPPED).parameters[0], True), (case(SKIPPED).parameters[1], False)):
        ground.note(SKIPPED, parameters, passed)
    assert not ground.rests_in_vain(case(REFUSED), one, None)
    assert ground.rests_in_vain(case(REFUSED), other, None)

    ground.note(WORK, {}, passed=False)
    assert ground.rests_in_vain(case(REFUSED), one, found("the session works", is_work=True))
    assert not ground.rests_in_vain(case(REFUSED), one, found("stage init"))


@pytest.mark.parametrize(
    ("name", "is_work", "judge"), [(WORK, True, ""), (REFUSAL, False, SANE), (BASIC[Side.RESPONDER][0], True, WORK)]
)
def test_what_was_not_reached_names_its_judge_if_there_is_one(name: str, is_work: bool, judge: str) -> None:
    """A check of a plain session has no control; what work shows is judged by the case about work."""
    whole = "not reached: init: silence"
    alone = replace(case(name), control=None) if name != REFUSAL else case(name)

    said = Ground(all_cases()).missing(alone, {}, found("not reached: init", is_work=is_work))
    assert said == (f"{whole} ({judge} judges that)" if judge else whole)
