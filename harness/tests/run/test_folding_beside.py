"""Two faults of one node: what the first one does not explain is told beside it."""

from __future__ import annotations

import pytest
from judgements import RAISED, finding, heads, red

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
