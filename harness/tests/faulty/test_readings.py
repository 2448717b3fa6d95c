"""A node that follows the text of an erratum: the stance decides, and the cause names the erratum and what it means."""

from __future__ import annotations

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.readings import verdict_of
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.spec.errata import Stance, errata
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import provoke
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Went
from zenoh_harness.run.judge.decide import decide
from zenoh_harness.run.plan.plan import Item
from zenoh_harness.run.report.summary import _errata

ZERO = "establishment-init/a-zid-of-zero-is-refused"
TEXT = "takes-a-frame-to-fill-its-batch"
MEANS = "as written, does not interoperate with the baseline in"


def of_stance(stance: Stance) -> str:
    return next(name for name, erratum in errata().items() if erratum.stance is stance)


@pytest.mark.parametrize(
    ("stance", "verdict"),
    [
        (Stance.PIN, Verdict.WARN),
        (Stance.BOTH, Verdict.PASS),
        (Stance.GAP, Verdict.PASS),
        (Stance.DEV, Verdict.FAIL),
    ],
)
def test_the_stance_decides(stance: Stance, verdict: Verdict) -> None:
    finding = Finding(requirement="", sender=Side.RESPONDER, follows=of_stance(stance))

    assert verdict_of(finding, "MUST") is verdict
    assert verdict_of(Finding(requirement="", sender=Side.RESPONDER), "MUST") is Verdict.FAIL


def test_a_node_that_takes_a_zid_of_zero_follows_the_text() -> None:
    case = all_cases()[ZERO]
    [finding], _ = provoke(case, {}, all_faulty_nodes()["believes-a-zid-of-zero"].node)
    outcome = AttemptOutcome(item=Item(case, {}), went=Went.DEVIATED, findings=(finding,), cause=finding.cause)

    decision = decide(Item(case, {}), [outcome])

    assert (decision.verdict, decision.reading) == (Verdict.WARN, "as written")
    assert decision.cause.endswith(f"{MEANS} zid-zero-refused")


def test_numbers_that_the_text_allows_are_told_from_larger_ones() -> None:
    """Within 2^8 the text allows what the baseline does not."""
    case = all_cases()["settled-terms/numbers-wrap-where-it-was-settled"]
    _, scene = provoke(case, {"fsn": 0}, all_faulty_nodes()["counts-numbers-as-written"].node)
    judged = [one for one in judge(scene.conversation) if one.law.id == "law/sn-within-resolution"]
    found = [finding for one in judged if one.sender is Side.RESPONDER for finding in one.findings]

    assert found
    assert {finding.follows for finding in found} == {"sn-fills-vle-bytes"}
    assert all(finding.cause.endswith(f"{MEANS} sn-fills-vle-bytes") for finding in found)


@pytest.mark.parametrize("how", ["many-frames", "a-fragment-behind", "with-keep-alives"])
@pytest.mark.parametrize(
    ("node", "follows"), [(TEXT, "several-messages-per-batch"), ("takes-one-message-of-a-batch", "")]
)
def test_a_node_that_refuses_what_is_behind_a_frame_follows_the_text_and_one_that_loses_it_does_not(
    how: str, node: str, follows: str
) -> None:
    case = all_cases()["session-fragments/every-message-of-a-batch-is-taken"]

    [finding], _ = provoke(case, {"how": how}, all_faulty_nodes()[node].node)

    assert (finding.follows, finding.got) == (follows, "close:2" if follows else "silence")
    due = "message-reference/frame-messages-fill-batch" if follows else case.requirement
    assert finding.requirement == due


@pytest.mark.parametrize(
    ("requirement", "says"),
    [
        ("query/request-id-out-of-range-refused", "request-id-range-unenforced (DEV): the text is required"),
        ("batching/sn-within-resolution", "sn-fills-vle-bytes (PIN): the baseline's reading is required"),
        ("query/timeout-ends-waiting", "timeout-told-as-error (GAP): neither is required"),
    ],
)
def test_a_block_names_the_erratum_and_what_it_means(requirement: str, says: str) -> None:
    key = Key(
        target="t", version="1", role="responder", profile="default", link="tcp", requirement=requirement, check="c"
    )

    [text] = _errata(Judgement(key=key, level="MUST", verdict=Verdict.FAIL))

    assert text.startswith(says)
