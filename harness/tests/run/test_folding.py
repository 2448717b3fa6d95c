"""What is red, for a person: one block a cause, what knows it best first, with its byte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from judgements import RAISED, finding, heads, red

from zenoh_conformance.cases.faults import faults, known_faults
from zenoh_conformance.judging.verdict import Judgement, Verdict

CASE, LAW, MODEL = "establishment-init/no-resolution-is-raised", "law/resolution-not-raised", "models/establishment"


def test_profiles_and_checks_of_one_requirement_are_one_block() -> None:
    [cause] = faults([red(LAW, profile=name) for name in ("default", "low-latency")] + [red(MODEL), red(CASE)])

    assert cause.first.key.check == CASE
    assert cause.checks == (CASE, LAW, MODEL)
    assert set(cause.profiles) == {"default", "low-latency"}
    assert [one.key.check for one in cause.others] == [LAW, MODEL]


def test_what_makes_a_plain_session_fail_comes_first_and_then_what_has_a_byte() -> None:
    sane = red("establishment-sane/a-sane-handshake-is-accepted", "session-establishment/open-ack-answers-open-syn")
    dies = red("target/stays-up", "target/stays-up", verdict=Verdict.ZOMBIE)
    byte = red(LAW, details={"found": {"byte": 7, "bytes": "0a"}})
    work = red("establishment-states/a-short-pause-is-endured", "session-establishment/init-ack-answers-init-syn")

    told = [cause.first.key.check for cause in faults([dies, work, byte, sane])]

    assert told == [sane.key.check, LAW, work.key.check, "target/stays-up"]


QUERY, PUSH, INIT = (
    "query/query-reaches-intersecting",
    "push/push-reaches-intersecting",
    "session-establishment/init-field-order",
)
OPEN, WHOLE = "session-establishment/open-ack-answers-open-syn", "session-establishment/open-field-order"


def test_the_same_lost_message_is_one_fault_of_the_requirement_that_a_check_is_about() -> None:
    lost = finding(path="the query is passed on", expected="Request", got="silence")
    own = red("routing-plain/a-query-reaches-a-queryable", QUERY, **lost)
    step = red(
        "query-targets/all-are-asked",
        "query/all-reaches-every-match",
        **{**lost, **finding(path="to all", expected="Request", got="silence")},
    )

    [fault] = faults([step, own, red("reply-values/an-error-comes-as-one", QUERY, **lost)])

    assert fault.first.key.check == own.key.check
    assert fault.elsewhere == ("query/all-reaches-every-match",)


def test_a_law_that_names_the_field_comes_before_a_case_that_noticed_the_loss() -> None:
    unread = finding(
        path="stage open", expected="OpenAck", got="undecodable bytes (open.lease at byte 2: the bytes end)"
    )
    named = finding(path="open.lease", got="what begins like a message is none")

    assert heads(
        red("establishment-sane/a-sane-handshake-is-accepted", OPEN, **unread), red("law/open-is-whole", WHOLE, **named)
    ) == {WHOLE}


def test_inputs_that_are_not_refused_at_one_stage_are_one_missing_check_and_other_stages_are_another() -> None:
    at_init = finding(path="stage init", expected="a refusal", got="OpenSyn")
    at_open = finding(path="stage open", expected="a refusal", got="KeepAlive")
    both = [
        red(CASE, INIT, **at_init),
        red("a/b", "primitives/truncated-is-refused", **at_init),
        red("a/c", WHOLE, **at_open),
    ]

    assert len(faults(both)) == 2


@pytest.mark.parametrize(("places", "count"), [([CASE], 1), ([CASE, "a/b", "a/c", "a/d"], 2), ([], 2)])
def test_a_law_is_the_cause_of_the_check_in_whose_conversations_it_was_broken(places: list[str], count: int) -> None:
    law = red(
        LAW, "reply/nothing-after-final", details={"seen_in": places, "found": {"path": "response", "got": "Response"}}
    )

    assert len(faults([law, red(CASE, QUERY, **finding(path="answers", expected="1 2", got="2"))])) == count


def test_two_laws_that_meet_in_a_small_profile_are_two_faults() -> None:
    """There each conversation shows both, which tells nothing; elsewhere one of them shows nearly everywhere, or in others."""
    labels = [f"a/{number}" for number in range(20)]
    small = [red(f"law/{name}", f"x/{name}", "small", details={"seen_in": ["a/z"]}) for name in ("one", "other")]
    one = red("law/one", "x/one", details={"seen_in": labels})

    assert len(faults([*small])) == 1
    assert len(faults([*small, one])) == 2
    assert len(faults([*small, replace(one, details={})])) == 2


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ({}, 1),
        ({"verdict": Verdict.WARN}, 2),
        (finding(path="frame.exts.qos", expected="its own", got="another"), 2),
        (finding(path="fragment.exts.qos", expected="its own", got="another"), 1),
    ],
    ids=["alike", "a-warning", "a-lane", "a-lane-of-what-was-in-wrong-fragments"],
)
def test_two_laws_of_one_conversation_are_two_faults_where_one_warns_or_is_about_lanes(
    more: dict[str, Any], count: int
) -> None:
    """A client stamped nothing, and counted each lane by itself: both showed wherever it published."""
    seen = {"seen_in": ["a/b", "a/c", "a/d"]}
    one = red("law/one", "x/one", details=seen | finding(path="frame.sn", expected="its own", got="another")["details"])
    other = red("law/other", "x/other", **more)

    assert len(faults([one, replace(other, details=seen | other.details)])) == count


def test_a_mandatory_extension_that_nobody_knows_is_one_fault_in_a_vector_and_in_a_case() -> None:
    accepted = finding(path="stage init", expected="a refusal", got="OpenSyn")
    vector = red("vectors/x", INIT, cause="expected a refusal (unknown-mandatory-extension at byte 14), it is accepted")

    assert len(faults([vector, red(CASE, "primitives/unknown-mandatory-rejected", **accepted)])) == 1


@pytest.mark.parametrize(
    ("paths", "count"), [(("fragment.sn", "fragment.exts.first"), 1), (("fragment.sn", "frame.sn"), 2)]
)
def test_two_laws_about_fragments_are_one_where_the_rarer_is_broken_with_the_other(
    paths: tuple[str, str], count: int
) -> None:
    """A fragment in another lane has the wrong number, and no marker; only some chains show the marker."""
    labels = [f"a/{number}" for number in range(20)]
    often, seldom = (
        red(f"law/{name}", f"x/{name}", details={"seen_in": seen, **finding(path=path)["details"]})
        for name, seen, path in zip(("often", "seldom"), (labels, [*labels[:1], "b/c"]), paths, strict=True)
    )

    assert len(faults([often, seldom])) == count


@pytest.mark.parametrize(("field", "count"), [("fragment.sn", 1), ("frame.sn", 2)])
def test_what_came_of_fragments_is_the_fault_of_a_law_about_them(field: str, count: int) -> None:
    law = red("law/one", "x/one", details={**finding(path=field, got="another")["details"]})
    case = red(CASE, QUERY, **finding(path="the fragments together", expected="the publication", got="something else"))

    assert len(faults([law, replace(case, details={**case.details, "laws_beside": ["law/one"]})])) == count


BESIDE = {"laws_beside": ["law/forwarded-qos"]}
NAMED = finding(path="push.exts.qos.block", expected="what was received", got="none")


@pytest.mark.parametrize(
    ("said", "beside", "count"),
    [
        (finding(path="QoS", expected="QoS as it was said", got="another"), BESIDE, 1),
        (finding(path="delivery", expected="Push", got="silence"), BESIDE, 2),
        (finding(path="delivery", expected="Push", got="silence"), {}, 2),
        (finding(path="the query is passed on", expected="Request", got="silence"), BESIDE, 2),
        (finding(path="the session works", expected="ResponseFinal", got="silence"), BESIDE, 2),
        (finding(path="stage open", expected="OpenAck", got="Close(INVALID)"), BESIDE, 2),
        (finding(path="twice", expected="no Push", got="Push"), BESIDE, 1),
        (finding(path="twice", expected="Request to one", got="Request to both"), BESIDE, 2),
    ],
    ids=["a value", "a lost message", "elsewhere", "another kind", "the fence", "the handshake", "none of it", "the other kind"],
)  # fmt: skip
def test_a_law_tells_what_a_check_missed_in_a_message_of_its_kind_on_the_same_connection(
    said: dict[str, Any], beside: dict[str, Any], count: int
) -> None:
    case = red("a/b", QUERY, **{**said, "details": {**said["details"], **beside}})
    law = red("law/forwarded-qos", "push/qos-is-forwarded", **NAMED)

    told = faults([case, law])

    assert len(told) == count
    assert "push/qos-is-forwarded" in {fault.requirement for fault in told}


@pytest.mark.parametrize(("field", "count"), [("push.put.key", 1), ("push.put.payload", 2)])
def test_a_message_that_is_missed_came_with_a_wrong_field_by_which_it_is_known(field: str, count: int) -> None:
    missed = finding(path="delivery", expected="Push", got="silence")
    case = red("a/b", PUSH, cause="c", details={**missed["details"], **BESIDE})
    law = red("law/forwarded-qos", "push/put-delivers-value", **finding(path=field, expected="x", got="another"))

    assert len(faults([case, law])) == count


def test_what_cannot_be_read_may_be_what_a_check_missed() -> None:
    unread = finding(path="lowlatency", why="what was said is no message")
    missed = finding(path="the session works", expected="ResponseFinal", got="silence")
    case = red("a/b", QUERY, cause="c", details={**missed["details"], "laws_beside": ["law/what-is-said-decodes"]})

    assert heads(case, red("law/what-is-said-decodes", WHOLE, **unread)) == {WHOLE}


DECLARED = "declarations/forwarded-on-interest"


@pytest.mark.parametrize(("declared", "count"), [("DSubscriber", 1), ("DToken", 3), ("DFinal", 3), ("D_FINAL", 3)])
def test_what_does_not_come_because_its_declaration_is_lost_is_one_fault_with_that(declared: str, count: int) -> None:
    """A token asks for nothing: one that was not told hid that queries to complete queryables were lost."""
    lost = red("a/a", DECLARED, **finding(path="still there", expected=declared, got="silence"))
    push = red("b/b", PUSH, **finding(path="to who stays", expected="Push", got="silence"))
    query = red("c/c", QUERY, **finding(path="what stays", expected="Request", got="silence"))

    assert len(faults([lost, push, query])) == count
    assert len(faults([push, query])) == 2


@pytest.mark.parametrize(("said", "count"), [(["DFinal"], 1), (["DFinal", "D_FINAL"], 1), (["DFinal", "DToken"], 3)])
def test_a_lost_declaration_of_any_kind_is_the_one_that_is_named(said: list[str], count: int) -> None:
    """As a snapshot that does not end, if nothing else of DECLARE is lost."""
    some = [
        red(f"{name}/a", f"x/{name}", **finding(path=name, expected=name, got="silence")) for name in ["Declare", *said]
    ]

    assert len(faults(some)) == count


@pytest.mark.parametrize(("area", "count"), [("routing-sizes", 1), ("routing-plain", 2)])
def test_messages_that_are_lost_in_one_circumstance_are_one_fault(area: str, count: int) -> None:
    push = red(f"{area}/a", PUSH, **finding(path="delivery", expected="Push", got="silence"))
    query = red(f"{area}/b", QUERY, **finding(path="the query is passed on", expected="Request", got="silence"))

    assert len(faults([push, query])) == count


LOST = finding(path="delivery", expected="Push", got="silence")


@pytest.mark.parametrize(
    ("other", "count"),
    [
        (finding(path="the subscriber", expected="the publication", got="nothing"), 1),
        (finding(path="the fragments together", expected="fragments to the last", got="0 of them"), 1),
        (finding(path="what was read late", expected="all that was said", got="less"), 1),
        (finding(path="the answers", expected="31", got="no answer"), 2),
    ],
    ids=["nothing", "a count", "less", "another kind"],
)
def test_a_kind_of_message_that_is_lost_is_one_fault_however_a_check_names_it(
    other: dict[str, Any], count: int
) -> None:
    assert len(faults([red("routing-plain/a", PUSH, **LOST), red("b/b", WHOLE, **other)])) == count


@pytest.mark.parametrize(("field", "count"), [("fragment.sn", 1), ("batch", 1), ("push.put.payload", 2)])
def test_what_carries_a_message_wrongly_tells_that_it_was_missed(field: str, count: int) -> None:
    law = red("law/forwarded-qos", WHOLE, **finding(path=field, expected="x", got="another"))
    missed = finding(path="fragment.payload", expected="Push", got="silence")

    assert len(faults([law, red("a/b", PUSH, cause="c", details={**missed["details"], **BESIDE})])) == count


@pytest.mark.parametrize(("field", "count"), [("push.exts.qos", 1), ("push.exts.qos.express", 2)])
def test_extensions_that_are_lost_are_one_fault_and_a_field_of_one_is_another(field: str, count: int) -> None:
    lost = red("a/a", WHOLE, **finding(path="push.put.exts.attachment", expected="what was received", got="none"))

    assert (
        len(faults([lost, red("b/b", INIT, **finding(path=field, expected="what was received", got="none"))])) == count
    )


def test_a_declaration_that_is_lost_in_a_circumstance_explains_no_other_loss() -> None:
    lost = finding(path="declared", expected="DSubscriber", got="silence")
    declared = red(
        "a/a", DECLARED, **{**lost, "cause": "declared: silence where DSubscriber is required, only named by wildcard"}
    )

    assert len(faults([declared, red("b/b", PUSH, **LOST)])) == 2


def test_another_order_is_one_fault() -> None:
    late = finding(path="what was read late", expected="each once, in order", got="another order")
    order = finding(path="the values", expected="the order of sending", got="another")

    assert len(faults([red("a/a", WHOLE, **late), red("b/b", INIT, **order)])) == 1


@pytest.mark.parametrize(("reason", "count"), [("MAX_SESSIONS", 1), ("INVALID", 2)])
def test_sessions_that_end_for_one_reason_that_says_something_are_one_fault(reason: str, count: int) -> None:
    back = red("a/b", INIT, **finding(path="coming back", expected="a session", got=f"Close({reason})"))
    two = red("a/c", OPEN, **finding(path="asked on two", expected="InitAck", got=f"Close({reason})"))

    assert len(faults([back, two])) == count


def test_a_second_final_is_one_fault_with_what_counts_them() -> None:
    law = red(
        "law/one-final",
        "reply/exactly-one-final",
        **finding(path="response_final", expected="one ResponseFinal", got="a second one"),
    )
    case = red("a/b", QUERY, **finding(path="the answers", expected="one ResponseFinal", got="2"))
    case = replace(case, details={**case.details, "laws_beside": ["law/one-final"]})

    assert len(faults([law, case])) == 1


def test_what_even_a_plain_session_misses_is_one_fault_in_that_role() -> None:
    plain = red("establishment-sane/a-session-does-work", "session-establishment/session-live-after-open-ack",
                **finding(path="the session works", expected="ResponseFinal", got="silence"))  # fmt: skip
    missed = finding(path="coming back", expected="a session", got="silence")
    other = red("a/b", QUERY, **missed)
    initiator = replace(other, key=replace(other.key, role="initiator", requirement=PUSH, check="a/c"))
    named = red("a/d", WHOLE, **finding(path="open.lease", expected="10 s", got="10 ms"))

    assert heads(plain, other, named) == {plain.key.requirement, WHOLE}
    assert len(faults([plain, initiator])) == 2


def test_a_refusal_with_any_reason_is_one_kind_of_refusal() -> None:
    closed = finding(path="stage init", expected="Close", got="InitAck")
    unsupported = finding(path="stage init", expected="Close(UNSUPPORTED)", got="InitAck")

    assert len(faults([red("a/b", OPEN, **closed), red("a/c", WHOLE, **unsupported)])) == 1


def test_a_link_that_is_shut_without_close_is_one_fault_whether_a_refusal_is_due_or_allowed() -> None:
    shut = finding(path="stage init", expected="Close", got="link shut")
    either = red("a/b", OPEN, **finding(path="stage init", expected="InitAck or Close", got="link shut"))

    assert len(faults([red("a/c", WHOLE, **shut), either])) == 1
    assert len(faults([red("a/c", WHOLE, **finding(path="stage init", expected="Close", got="InitAck")), either])) == 2


@pytest.mark.parametrize(
    ("expected", "got", "circumstances", "count"),
    [
        ("Close(UNSUPPORTED)", "Close(INVALID)", "with no extension", 1),
        ("Close(UNSUPPORTED)", "Close(INVALID)", "with numbers of 8 bits", 2),
        ("Close(UNSUPPORTED)", "InitAck", "with no extension", 2),
    ],
)
def test_what_is_refused_where_a_lawful_handshake_is_refused_so_is_no_fault_of_its_own(
    expected: str, got: str, circumstances: str, count: int
) -> None:
    """A node that refused every InitSyn without extensions closed those of an unknown version with the same reason."""

    def varied(check: str, requirement: str, expected: str, got: str, words: str) -> Judgement:
        told = finding(path="stage init", expected=expected, got=got)
        return red(check, requirement, **{**told, "cause": f"{told['cause']}, only {words}"})

    sane = varied("a/b", OPEN, "InitAck", "Close(INVALID)", "with no extension")
    other = varied("a/c", WHOLE, expected, got, circumstances)

    assert len(faults([other, sane])) == count


def test_a_law_that_is_broken_in_one_check_alone_leaves_the_requirement_to_that_check() -> None:
    """A cookie is echoed wrongly only where the answer came in pieces: they are read wrongly, and the echo is right."""
    check, wrong = "initiator-fields/answers-in-pieces-are-taken", finding(path="open.cookie", got="another cookie")
    case = red(check, "message-reference/length-prefix", **wrong)
    law = red("law/cookie-echo", "session-establishment/cookie-echo", **wrong)

    def broken_in(*labels: str) -> Judgement:
        return replace(law, details={**law.details, "seen_in": labels})

    assert heads(case, broken_in(f"{check}[pieces=7]")) == {"message-reference/length-prefix"}
    assert heads(case, broken_in(f"{check}[pieces=7]", CASE)) == {"session-establishment/cookie-echo"}


def test_silence_tells_two_missing_checks_apart_where_one_requires_a_reason() -> None:
    """A client that takes any message for OpenAck does not look at the ZenohID of InitAck, either."""
    anything = finding(path="stage open", expected="a refusal", got="silence")
    itself = finding(path="stage open", expected="Close(CONNECTION_TO_SELF)", got="silence")

    assert len(faults([red("a/b", OPEN, **anything), red("a/c", WHOLE, **itself)])) == 2


def test_a_field_of_a_plain_session_that_cannot_be_read_is_no_cause_of_other_losses() -> None:
    """An InitAck that announces extensions and has none does not explain a link that is shut without CLOSE elsewhere."""
    unread = finding(
        path="stage init", expected="InitAck", got="undecodable bytes (init.exts at byte 23: the bytes end)"
    )
    shut = finding(path="stage init", expected="InitAck or Close", got="link shut")
    plain = red("establishment-sane/a-sane-proposal-is-answered", INIT, **unread)

    assert len(faults([plain, red("a/b", WHOLE, **shut)])) == 2


def test_vectors_that_are_taken_wrongly_are_one_fault_of_what_most_of_them_cover() -> None:
    """A node that takes NodeId for unknown refuses INTEREST, PUSH and REQUEST with it: no identifier and no order is wrong."""

    def refused(requirement: str, *vectors: str) -> Judgement:
        return red(f"vectors/{requirement}", requirement, details={"vectors": vectors}, cause="refused: link shut")

    node_id = refused("message-reference/network-node-id-extension", "interest/node-id", "push/node-id")
    others = [
        refused("message-reference/interest-identifier", "interest/node-id"),
        refused("push/push-field-order", "push/node-id"),
    ]

    assert heads(*others, node_id) == {node_id.key.requirement}
    assert len(faults([node_id, refused(PUSH, "push/put")])) == 2


def test_handshakes_that_end_for_two_reasons_are_two_faults_where_a_check_says_its_reason() -> None:
    """A client that gives up an InitAck in pieces, and one with a larger batch size than its own, lacks two things."""
    shut = finding(path="stage init", expected="OpenSyn", got="link shut")
    pieces = red("initiator-fields/answers-in-pieces-are-taken", "message-reference/length-prefix", **shut)
    size = red("initiator-fields/our-batch-size-is-taken", "session-establishment/batch-size-effective-minimum", **shut)

    assert len(faults([pieces, size])) == 2


def test_a_field_that_is_named_comes_before_what_is_said_in_words() -> None:
    words = red("a/b", QUERY, **finding(path="the value", expected="31", got="30"))
    words = replace(words, details={**words.details, "laws_beside": ["law/x"]})
    law = red("law/x", PUSH, **finding(path="push.put.payload", expected="what was received", got="another"))

    assert heads(*[words] * 3, law) == {PUSH}


def test_one_panic_is_one_fault_and_never_one_with_a_deviation() -> None:
    died = {"verdict": Verdict.CRASH, "cause": "SIGABRT: panicked at src/a.rs:10"}

    assert len(faults([red("a/b", QUERY, **died), red("a/c", PUSH, **died), red(CASE, QUERY)])) == 2


def test_a_new_fault_beside_a_known_one_is_told_by_itself() -> None:
    lost = finding(path="delivery", expected="Push", got="silence")
    known, new = red("a/b", PUSH, verdict=Verdict.KNOWN, **lost), red("a/c", QUERY, **lost)

    assert [fault.judgements for fault in faults([known, new])] == [(new,)]
    assert [fault.judgements for fault in known_faults([known, new])] == [(known,)]


def test_a_query_that_is_lost_at_times_is_told_as_such_whatever_was_judged_meanwhile() -> None:
    unanswered = finding(path="the session works", expected="ResponseFinal", got="silence")
    unasked = finding(path="the query is passed on", expected="Request", got="silence")
    at_times = [
        red("a/b", "primitives/unknown-optional-skipped", verdict=Verdict.FLAKY, **unanswered),
        red("a/c", QUERY, verdict=Verdict.FLAKY, **unasked),
        red("a/d", RAISED, **unanswered),
        red("a/e", INIT, verdict=Verdict.FLAKY, **finding(path="coming back", expected="a session", got="silence")),
    ]
    looked = {"found": unanswered["details"]["found"], "lost": {"times": 3, "of": 75}}

    assert heads(*at_times) == {"reply/final-always-comes"}
    assert [
        fault.rate
        for fault in faults([*at_times, red("target/stays-up", QUERY, verdict=Verdict.FLAKY, details=looked)])
    ] == ["3 of 75"]
    assert heads(*[replace(one, verdict=Verdict.FAIL) for one in at_times]) != {"reply/final-always-comes"}
    dead = finding(path="stage open", expected="a session that works, or a refusal", got="silence")
    model = red("models/initiation", INIT, **dead)  # it opens many sessions, and meets it each time
    assert heads(model, at_times[0]) == {"reply/final-always-comes"}


def test_what_is_lost_once_in_a_while_is_not_lost_by_what_is_wrong_each_time() -> None:
    """A client said each DECLARE in a lane that was not its own, and lost a query now and then: only the former was told."""
    lost = finding(path="stage open", expected="a session that works, or a refusal", got="silence")
    lane = red(
        "law/frame-carries-priority", RAISED, **finding(path="frame.exts.qos", expected="its own", got="another")
    )
    beside = {**lost["details"], "laws_beside": ["law/frame-carries-priority"]}
    case = red("a/b", INIT, details=beside, cause="c", verdict=Verdict.FLAKY)

    assert heads(lane, case) == {RAISED, "reply/final-always-comes"}
    number = replace(lane, **finding(path="frame.sn", expected="the next one", got="another"))
    assert heads(number, replace(case, verdict=Verdict.FAIL)) == {RAISED}


def test_one_that_comes_late_is_late_once_wherever_it_is_waited_for() -> None:
    """A client that came back after seconds now and then was slow in fourteen requirements."""
    late = [
        red(f"a/{number}", about, verdict=Verdict.SLOW, cause=f"the target did not connect to tcp/127.0.0.1:{number}")
        for number, about in enumerate((QUERY, PUSH, INIT))
    ]

    assert len(faults(late)) == 1
    assert len(faults([*late, red("a/b", OPEN, verdict=Verdict.SLOW, cause="the case did not come to its end")])) == 2


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["INFO listens", "WARN slow", "2026 ERROR zenoh: dropped", "bye"], "2026 ERROR zenoh: dropped"),
        (["an error", "thread 'rx' panicked at src/a.rs:10"], "thread 'rx' panicked at src/a.rs:10"),
        (["INFO listens", "mirrors"], ""),
        ([], ""),
    ],
)
def test_the_line_of_the_target_that_says_what_happened_is_told(lines: list[str], said: str) -> None:
    [fault] = faults([red(CASE), red(LAW, details={"wrote": lines} if lines else {})])

    assert (fault.said, list(fault.wrote)) == (said, lines)


def test_what_passed_or_was_not_judged_is_no_cause() -> None:
    quiet = [replace(red(CASE), verdict=verdict) for verdict in Verdict if verdict is Verdict.KNOWN or verdict.is_quiet]

    assert faults(quiet) == []
