"""A check is as strict as its sentence: green on a node that the sentence permits, red on one that it does not."""

from __future__ import annotations

import pytest

from zenoh_conformance.cases.case import all_cases
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.faulty import all_faulty_nodes
from zenoh_harness.faulty.table import provoke, reds
from zenoh_harness.variants import all_variants

COOKIE = "establishment-cookie/a-cookie-length-that-lies-is-refused"
PERMITTED = [
    (COOKIE, "cookie-of-1-byte"),
    (COOKIE, "cookie-of-255-bytes"),
    ("query-ends/a-query-ends-at-its-timeout", "leaves-timeouts-to-queriers"),
    ("query-ends/a-query-ends-at-its-timeout", "ends-queries-long-after-their-timeout"),
    ("query-targets/complete-is-said-of-its-own-key", "asks-who-is-complete-for-a-part"),
    ("establishment-states/silence-is-not-answered", "gives-up-handshakes-for-expired"),
    ("initiator-init-ack/nothing-but-init-ack-is-followed", "waits-for-another-answer"),
]
FORBIDDEN = [
    (COOKIE, "believes-any-cookie"),
    ("query-ends/a-query-ends-at-its-timeout", "forgets-queries-at-their-timeout"),
    ("query-targets/complete-is-said-of-its-own-key", "takes-a-part-for-the-whole"),
    ("establishment-cookie/an-invented-cookie-is-refused", "tells-expired-in-a-handshake"),
]


@pytest.mark.parametrize(("check", "variant"), PERMITTED)
def test_what_is_permitted_is_green(check: str, variant: str) -> None:
    assert reds(all_variants()[variant].node, [all_cases()[check]], whole=[check]) == {}


@pytest.mark.parametrize(("check", "node"), FORBIDDEN)
def test_what_is_forbidden_is_red(check: str, node: str) -> None:
    found = reds(all_faulty_nodes()[node].node, [all_cases()[check]], whole=[check])

    assert found
    assert not any(cause.startswith("not reached") for red in found.values() for cause in red.causes)


def test_a_wrong_answer_is_filed_under_the_rule_that_it_breaks() -> None:
    """An initiator that goes on after it does answer InitAck with OpenSyn: that rule it keeps."""
    case = all_cases()["initiator-init-ack/a-wrong-answer-is-refused"]
    node = all_faulty_nodes()["initiator-believes-a-wrong-answer"].node

    found = [finding for values in case.parameters for finding in provoke(case, values, node)[0]]

    assert found
    assert all(finding.requirement in requirements() for finding in found)
    assert "session-establishment/open-syn-answers-init-ack" not in {finding.requirement for finding in found}
