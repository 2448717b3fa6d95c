"""Where a finding stands: the byte of its field, and none of a step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from faulty_nodes import find_faulty_node
from judgements import RAISED

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.judging.engine import judge
from zenoh_conformance.judging.finding import Finding
from zenoh_harness.faulty.table import provoke
from zenoh_harness.run.judge.finding_places import details_of, place_of


@pytest.fixture(scope="module")
def shown() -> tuple[list[Finding], Any]:
    case = all_cases()["establishment-init/no-resolution-is-raised"]
    findings, scene = provoke(case, case.parameters[0], find_faulty_node("raises-the-resolution").node)
    laws = [finding for said in judge(scene.conversation) for finding in said.findings if finding.requirement == RAISED]
    return [*findings, *laws], scene.conversation


def test_a_finding_of_a_field_has_its_byte(shown: tuple[list[Finding], Any]) -> None:
    """The resolution stands behind header, version, packed byte and ZenohID, whoever saw it."""
    findings, conversation = shown

    places = [place_of(one, conversation) for one in findings]
    assert len(places) == 3  # the case's, and the law's for each of the two fields
    for place, one in zip(places, findings, strict=True):
        assert place is not None
        assert place.byte == 3 + len(next(iter(_acks(conversation))).zid.raw)
        assert len(place.data) == 1
        kept = details_of(one, conversation)
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
