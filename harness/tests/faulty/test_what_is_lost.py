"""Cases that await several messages, on nodes that lose or change one: each says what is wrong, under the rule that is broken."""

from __future__ import annotations

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import provoke

SERVES, HEARS = "application/a-queryable-ends-what-it-answers", "application/an-application-hears"
CHANNELS = "application-terms/an-application-hears-every-channel"
BATCH = "session-fragments/every-message-of-a-batch-is-taken"


@pytest.mark.parametrize(
    ("name", "case", "expected", "got"),
    [
        ("takes-no-fragment-behind-a-frame", BATCH, "Push", "silence"),
        ("loses-publication-in-lane-2", CHANNELS, "two puts", "fewer"),
        ("loses-publication-as-del", HEARS, "a put and a delete", "fewer"),
        ("hears-everything", HEARS, "a put and a delete", "2 others"),
        ("loses-answer-with-1-bytes", SERVES, "3 answers", "fewer"),
    ],
)
def test_a_message_that_is_lost_is_told_as_lost_whatever_comes_behind_it(
    name: str, case: str, expected: str, got: str
) -> None:
    one = all_cases()[case]
    findings, _ = provoke(one, one.parameters[-1], all_faulty_nodes()[name].node)

    assert [(finding.expected, finding.got) for finding in findings] == [(expected, got)]


def test_an_answer_that_is_lost_is_no_lost_final() -> None:
    one = all_cases()[SERVES]
    findings, _ = provoke(one, one.parameters[-1], all_faulty_nodes()["loses-answer-with-1-bytes"].node)

    assert [finding.requirement for finding in findings] == ["reply/reply-delivers-value"]
