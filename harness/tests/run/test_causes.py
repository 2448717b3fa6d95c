"""What is red, for a person: one block a cause, what knows it best first, with its byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from faulty_nodes import find_faulty_node

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_harness.faulty.table import provoke
from zenoh_harness.run.causes import causes
from zenoh_harness.run.places import details_of, place_of

RAISED = "session-establishment/resolution-not-raised"
CASE, LAW, MODEL = "establishment-init/no-resolution-is-raised", "law/resolution-not-raised", "models/establishment"


def red(check: str, requirement: str = RAISED, profile: str = "default", **more: Any) -> Judgement:
    key = Key(
        target="t", version="1", role="responder", profile=profile, link="tcp", requirement=requirement, check=check
    )
    return Judgement(**({"key": key, "level": "MUST", "verdict": Verdict.FAIL, "cause": f"by {check}"} | more))


def test_profiles_and_checks_of_one_requirement_are_one_block() -> None:
    [cause] = causes([red(LAW, profile=name) for name in ("default", "low-latency")] + [red(MODEL), red(CASE)])

    assert cause.first.key.check == CASE
    assert cause.checks == (CASE, LAW, MODEL)
    assert set(cause.profiles) == {"default", "low-latency"}
    assert [one.key.check for one in cause.others] == [LAW, MODEL]


def test_what_makes_a_plain_session_fail_comes_first_and_then_what_has_a_byte() -> None:
    sane = red("establishment-sane/a-sane-handshake-is-accepted", "session-establishment/open-ack-answers-open-syn")
    dies = red("target/stays-up", "target/stays-up", verdict=Verdict.ZOMBIE)
    byte = red(LAW, details={"found": {"byte": 7, "bytes": "0a"}})
    work = red("establishment-states/a-short-pause-is-endured", "session-establishment/init-ack-answers-init-syn")

    told = [cause.first.key.check for cause in causes([dies, work, byte, sane])]

    assert told == [sane.key.check, LAW, work.key.check, "target/stays-up"]


def test_what_passed_or_was_not_judged_is_no_cause() -> None:
    quiet = [replace(red(CASE), verdict=verdict) for verdict in Verdict if verdict is Verdict.KNOWN or verdict.is_quiet]

    assert causes(quiet) == []


@pytest.fixture(scope="module")
def shown() -> tuple[list[Finding], Any]:
    case = all_cases()[CASE]
    findings, scene = provoke(case, case.parameters[0], find_faulty_node("raises-the-resolution").node)
    laws = [finding for said in judge(scene.conversation) for finding in said.findings if finding.requirement == RAISED]
    return [*findings, *laws], scene.conversation


def test_a_finding_of_a_field_has_its_byte(shown: tuple[list[Finding], Any]) -> None:
    """The resolution stands behind header, version, packed byte and ZenohID, whoever saw it."""
    findings, conversation = shown

    places = [place_of(finding, conversation) for finding in findings]
    assert len(places) == 3  # the case's, and the law's for each of the two fields
    for place, finding in zip(places, findings, strict=True):
        assert place is not None
        assert place.byte == 3 + len(next(iter(_acks(conversation))).zid.raw)
        assert len(place.data) == 1
        kept = details_of(finding, conversation)
        assert kept["path"] == "init.resolution"
        assert kept["expected"]
        assert kept["got"]


def _acks(conversation: Any) -> Any:
    from zenoh_conformance.reading.connection import Decoders

    decoders = Decoders(conversation)
    seen = (each for event in conversation for each in decoders.feed(event))
    return (each.message for each in seen if each.kind == "init" and each.message.ack)


def test_a_finding_of_a_step_has_none(shown: tuple[list[Finding], Any]) -> None:
    findings, conversation = shown
    step = replace(findings[0], path="stage init")

    assert place_of(step, conversation) is None
    assert "byte" not in details_of(step, conversation)
    assert details_of(None, conversation) == {}
