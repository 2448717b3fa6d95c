"""Two faults of one node: what the first one does not explain is told beside it."""

from __future__ import annotations

import pytest
from judgements import RAISED, finding, heads, red

from zenoh_conformance.cases.faults import faults
from zenoh_conformance.judging.verdict import Verdict

QUERY, BEST, PUSH = (
    "query/query-reaches-intersecting",
    "query/best-matching-reaches-one",
    "push/push-reaches-intersecting",
)
VALUE, SCOPE, ALL = "push/put-delivers-value", "primitives/wire-expr-concatenates", "query/all-reaches-every-match"
LOST = {"expected": "Push", "got": "silence"}


@pytest.mark.parametrize(("field", "alike"), [("frame.exts.qos", False), ("frame.sn", True)])
def test_a_frame_in_another_lane_loses_no_message(field: str, *, alike: bool) -> None:
    """A node took another lane for its finals, and lost publications after a handshake began: only the lane was told."""
    law = red("law/frame-carries-priority", RAISED, **finding(path=field, expected="its own", got="another"))
    lost = finding(path="to receiver-1", **LOST)["details"] | {"laws_beside": ["law/frame-carries-priority"]}

    assert heads(law, red("routing-varied/a-publication", PUSH, details=lost)) == (
        {RAISED} if alike else {RAISED, PUSH}
    )


@pytest.mark.parametrize(
    ("expected", "got", "count"),
    [
        ("one that is complete asked", "2 asked", 2),
        ("one asked", "2 asked", 2),
        ("one asked", "0 asked", 1),
        ("one asked, or all", "2 asked", 1),
        ("the complete ones asked", "1 of another choice", 1),
    ],
)
def test_a_query_that_is_lost_does_not_explain_that_more_are_asked(expected: str, got: str, count: int) -> None:
    lost = red("routing-varied/a-query", QUERY, **finding(path="to receiver-3", expected="Request", got="silence"))
    choice = red("query-targets/the-best", BEST, **finding(path="to whom", expected=expected, got=got))

    assert len(heads(lost, choice)) == count


@pytest.mark.parametrize(("got", "count"), [("silence", 1), ("link shut", 2), ("Close(EXPIRED)", 2)])
def test_a_session_that_ends_is_no_lost_final(got: str, count: int) -> None:
    final = red("a/b", QUERY, **finding(path="the query ends", expected="ResponseFinal", got="silence"))
    other = red("a/c", BEST, **finding(path="the other link", expected="ResponseFinal", got=got))

    assert len(heads(final, other)) == count


def test_a_loss_that_a_law_explains_explains_no_loss_elsewhere() -> None:
    """A node put a slash behind the scope, and lost deletions: what came under a wrong key hid what did not come."""
    law = red("law/forwarded-value", VALUE, **finding(path="push.put.key", expected="what was received", got="another"))
    beside = finding(path="the key", **LOST)["details"] | {"laws_beside": ["law/forwarded-value"]}
    under_a_scope = red("push-delivery/a-suffix", SCOPE, details=beside)
    deletion = red("routing-varied/a-publication", PUSH, **finding(path="to receiver-1", **LOST))

    assert heads(law, under_a_scope, deletion) == {VALUE, PUSH}


def test_a_message_that_is_lost_in_a_circumstance_breaks_the_rule_that_it_comes() -> None:
    """A node lost queries with three receivers: it was told that the target All does not reach all."""
    lost = finding(path="to receiver-3", expected="Request", got="silence")
    varied = red("routing-varied/a-query-is-answered-in-any-circumstances", QUERY, **lost | {"cause": "none, only so"})
    step = red("query-ends/a-query-ends-with-its-last-source", QUERY, **lost)

    assert heads(red("query-targets/all-are-asked", ALL, **lost), varied, step) == {QUERY}


def test_what_must_hold_is_told_before_what_only_should() -> None:
    stays = finding(path="after Close", expected="the end of the link", got="a link that stays open")
    should = [
        red(
            "session-extensions/a-close-with-an-unknown-extension-counts-where-it-connects",
            "primitives/unknown-optional-skipped",
            verdict=Verdict.WARN,
            profile=profile,
            **stays,
        )
        for profile in ("default", "qos-off", "short-lease")
    ]
    must = red(
        "session-extensions/a-close-behind-another-message-counts-where-it-connects",
        "close/close-ends-the-link",
        **stays,
    )

    [fault] = faults([*should, must])

    assert (fault.requirement, fault.first.verdict) == ("close/close-ends-the-link", Verdict.FAIL)


@pytest.mark.parametrize("got", ["Frame", "silence", "OpenAck"])
def test_two_missing_checks_of_one_stage_are_two_faults_where_one_has_a_reason_of_its_own(got: str) -> None:
    itself = red(
        "initiator-fields/an-answer-from-itself-is-refused",
        "close/own-zid-is-connection-to-self",
        **finding(path="stage open", expected="Close(CONNECTION_TO_SELF)", got=got),
    )
    order = red(
        "initiator-open-ack/nothing-but-open-ack-activates",
        "session-establishment/handshake-messages-in-order",
        **finding(path="stage open", expected="a refusal", got=got),
    )

    assert heads(itself, order) == {itself.key.requirement, order.key.requirement}


def test_what_only_should_be_explains_no_loss_of_the_same_conversation() -> None:
    label = "session-varied/a-chain-comes-whole-in-any-circumstances-in-an-application"
    random = red(
        "law/initial-sn-random",
        "session-establishment/initial-sn-random",
        verdict=Verdict.WARN,
        details={"found": {"path": "open.initial_sn", "got": "one number always"}, "seen_in": [label]},
    )
    lost = red(label, "fragmentation/fragments-reassemble", **finding(path="the chain", expected="Push", got="silence"))

    assert heads(random, lost) == {"session-establishment/initial-sn-random", "fragmentation/fragments-reassemble"}
