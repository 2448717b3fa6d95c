"""Codecs by the vectors: each way of answering wrongly has its verdict, and what is right passes."""

from collections import Counter
from dataclasses import replace

import pytest

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.codecs.codec import Answer, AnswerKind
from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.runner import run_target
from zenoh_harness.run.vectors.answers import beside
from zenoh_harness.run.vectors.codec_run import VectorRun, golden
from zenoh_harness.targets.reach import parse

REACH = parse("stdio:planted")


class Planted(OwnCodec):
    """Our codec, but for one change of its answers."""

    def __init__(self, change=lambda request, answer: answer, layers=OwnCodec.layers):
        super().__init__("planted")
        self.change, self.layers = change, layers

    def ask(self, requests):
        for request in requests:
            yield self.change(request, next(super().ask([request])))


@pytest.fixture
def judged(tmp_path):
    """Counts of verdicts, and the run, for a planted codec on the vectors of one message."""

    def run(change=lambda request, answer: answer, only="vectors/close/*", **more):
        options = Options(out=tmp_path / "out", selection=Selection((only,)))
        ran = run_target(REACH, options, [VectorRun(Planted(change, **more), REACH, options, golden())])
        return Counter(one.verdict.value for one in ran.judgements), ran

    return run


def test_our_own_passes_every_vector(judged):
    counts, ran = judged(only="vectors/*")
    assert set(counts) == {"pass"}
    assert ran.exit is Exit.CONFORMING
    assert len(golden()) > 1000


def of_kind(kind, command):
    def change(request, answer):
        return Answer(kind=kind, why="planted") if request.command == command else answer

    return change


@pytest.mark.parametrize(
    ("kind", "verdict", "code"),
    [
        (AnswerKind.CRASH, "crash", Exit.NOT_CONFORMING),
        (AnswerKind.HANG, "hang", Exit.NOT_CONFORMING),
        (AnswerKind.GARBAGE, "error", Exit.CANNOT_GO_ON),
        (AnswerKind.UNIMPLEMENTED, "unimplemented", Exit.NOTHING_JUDGED),
    ],
)
def test_what_is_no_answer_has_its_own_verdict(judged, kind, verdict, code):
    counts, ran = judged(of_kind(kind, "decode"))
    assert set(counts) == {verdict}
    assert ran.exit is code


def test_one_that_refuses_everything_passes_only_the_refusals(judged):
    counts, ran = judged(of_kind(AnswerKind.REFUSED, "decode"))
    assert counts["fail"] > 0
    refusing = {f"vectors/{vector.id}" for vector in golden() if vector.refuses}
    assert {one.key.check for one in ran.judgements if one.verdict.value == "pass"} <= refusing


def test_one_that_accepts_everything_fails_the_refusals(judged):
    def change(request, answer):
        if answer.kind is not AnswerKind.REFUSED:
            return answer
        return Answer(kind=AnswerKind.DECODED, means={"Close": {}}, size=len(request.data))

    counts, ran = judged(change)
    assert counts["fail"] > 0
    assert all("expected a refusal" in one.cause for one in ran.judgements if one.verdict.value == "fail")


def test_a_wrong_byte_written_is_told_with_its_place(judged):
    def change(request, answer):
        return replace(answer, data=answer.data[:-1] + b"\xee") if answer.kind is AnswerKind.ENCODED else answer

    counts, ran = judged(change)
    assert counts["fail"] > 0
    bad = next(one for one in ran.judgements if one.verdict.value == "fail")
    assert bad.cause.startswith("encode")
    assert bad.details["bytes"]
    beside = bad.details["beside"]
    assert (beside["how"], beside["layer"]) == ("written", "transport")
    assert beside["seen"] == beside["bytes"][:-2] + "ee"
    assert bad.repeat.startswith("zconform run stdio:planted --only vectors/close/")


def silent(spoil=lambda data: data):
    """A codec that tells no meaning and writes again what it decoded, spoilt."""

    def change(request, answer):
        if answer.kind is AnswerKind.ENCODED:
            return Answer(kind=AnswerKind.UNIMPLEMENTED, why="it only decodes")
        return replace(answer, means=None, data=spoil(answer.data)) if answer.kind is AnswerKind.DECODED else answer

    return change


def test_a_codec_without_meaning_is_judged_by_what_it_writes_again(judged):
    counts, ran = judged(silent(), only="vectors/*")
    assert set(counts) == {"pass"}
    assert ran.exit is Exit.CONFORMING


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda data: bytes([data[0] & ~0x40]) + data[1:], "decode: written again: Open.lease_in_seconds"),
        (lambda data: data + b"\0", "decode: our decoder does not read what it wrote: 1 of"),
        (lambda data: data[:1], "decode: our decoder does not read what it wrote: refused at byte 1"),
    ],
)
def test_what_it_writes_again_has_to_mean_the_same(judged, spoil, cause):
    counts, ran = judged(silent(spoil), only="vectors/open/*")
    assert counts["fail"] > 50
    bad = [one for one in ran.judgements if one.verdict.value == "fail"]
    assert any(one.cause.startswith(cause) for one in bad), {one.cause for one in bad}
    assert all(one.details["beside"]["how"] in ("read", "written") for one in bad)


def test_a_codec_that_neither_tells_nor_writes_is_judged_by_refusals_and_sizes_alone(judged):
    def change(request, answer):
        return replace(silent()(request, answer), data=None)

    counts, _ = judged(change)
    refused = {f"vectors/{vector.id}" for vector in golden() if vector.refuses}
    assert set(counts) == {"pass", "unimplemented"}

    _, ran = judged(lambda request, answer: replace(change(request, answer), size=len(request.data)), only="vectors/*")
    assert {one.key.check for one in ran.judgements if one.verdict.value == "pass"} <= refused
    _, ran = judged(lambda request, answer: replace(change(request, answer), size=1))
    assert {one.verdict.value for one in ran.judgements if one.key.check not in refused} == {"fail", "warn"}


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        ("020930c4c3c2c1", ""),
        ("020930c4c3c2ff", "encode: what it wrote means Hello.zid: expected 'c1c2c3c4', found 'ffc2c3c4'"),
        ("220930c4c3c2c1", "encode: our decoder does not read what it wrote: refused at byte 7: "),
    ],
)
def test_what_it_encodes_is_read_back_where_several_forms_are_right(judged, data, cause):
    """No locators and an empty list of locators mean the same."""

    def change(request, answer):
        return replace(answer, data=bytes.fromhex(data)) if answer.kind is AnswerKind.ENCODED else answer

    _, ran = judged(change, only="vectors/hello/0-locators")
    assert {one.verdict.value == "pass" for one in ran.judgements} == {not cause}
    assert all(one.cause.startswith(cause) for one in ran.judgements)


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (lambda answer: Answer(kind=AnswerKind.REFUSED, why="no", at=1), {"how": "refused", "at": 1}),
        (
            lambda answer: replace(answer, means={"Close": {"session": True, "reason": 255}}),
            {"how": "read", "seen": "23ff"},
        ),
    ],
)
def test_what_a_reader_made_of_it_stands_beside_the_vectors_bytes(judged, change, how):
    _, ran = judged(lambda request, answer: change(answer) if answer.kind is AnswerKind.DECODED else answer)
    bad = next(one for one in ran.judgements if one.verdict.value == "fail")
    assert bad.details["beside"] == {"bytes": bad.details["bytes"], "layer": "transport", **how}


def test_a_layer_that_it_does_not_do_is_unimplemented(judged):
    counts, _ = judged(layers=OwnCodec.layers - {"transport"})
    assert set(counts) == {"unimplemented"}


def test_a_requirement_can_be_selected(judged):
    counts, ran = judged(only="session-establishment/lease-unit")
    assert counts
    assert {one.key.requirement for one in ran.judgements} == {"session-establishment/lease-unit"}


@pytest.mark.parametrize("kind", AnswerKind)
def test_only_a_meaning_that_was_read_is_shown_beside_a_vector(kind):
    """Any other answer has no bytes to show."""
    vector = next(one for one in golden() if one.canonical)
    shown = beside(vector, Answer(kind=kind, means=vector.means, at=1))
    how = {AnswerKind.DECODED: "read", AnswerKind.REFUSED: "refused"}.get(kind)
    assert shown.get("how") == how


def test_a_vector_that_covers_no_requirement_is_judged_under_its_own_name(judged):
    counts, ran = judged(of_kind(AnswerKind.UNIMPLEMENTED, "levitate"), only="vectors/close/trailing-byte")
    assert counts == {"pass": 1}
    assert [one.key.requirement for one in ran.judgements] == ["vectors/close/trailing-byte"]


@pytest.mark.parametrize(("state", "repeated"), [(True, "vectors/*"), (False, "vectors/close/trailing-byte")])
def test_a_fault_that_shows_only_after_other_vectors_is_repeated_with_them(tmp_path, state, repeated):
    """The codec accepts trailing bytes always, or once it has read something else."""
    options = Options(
        out=tmp_path / "out", selection=Selection(("vectors/close/link-cut-*", "vectors/close/trailing-byte"))
    )

    def fresh():
        read = []

        def change(request, answer):
            read.append(request)
            taken = answer.kind is AnswerKind.DECODED and answer.size == 2 and (len(read) > 1 or not state)
            return replace(answer, size=3) if taken else answer

        return Planted(change)

    ran = run_target(REACH, options, [VectorRun(fresh(), REACH, options, golden(), fresh)])
    [red] = [one for one in ran.judgements if not one.verdict.is_quiet]
    assert repeated in red.repeat
    assert ("it passes alone" in red.cause) is state
