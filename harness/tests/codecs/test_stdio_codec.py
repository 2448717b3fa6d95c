"""The codec adapter against codecs that misbehave: each fault costs one verdict, and the others go on."""

import sys
from pathlib import Path

import psutil
import pytest

from zenoh_harness.codecs.codec import Answer, AnswerKind, Request, answer_of
from zenoh_harness.codecs.compact import pieces, record, records, request_bytes, split
from zenoh_harness.errors import CannotStart, TargetError, UsageError
from zenoh_harness.programs import processes
from zenoh_harness.targets.adapters.stdio import StdioCodec, open_codec
from zenoh_harness.targets.reach import parse

FAULTY_NODE = Path(__file__).parents[1] / "faulty_codec.py"
PATIENT, HURRIED = 10.0, 0.5


def codec(how: str, **options) -> StdioCodec:
    return StdioCodec([sys.executable, str(FAULTY_NODE), how], **{"patience": PATIENT, **options})


def inputs(count: int, bad: int) -> list[Request]:
    return [Request.decode("transport", b"\xff" if n == bad else bytes([n % 255])) for n in range(count)]


def ask(how: str, count: int = 10, bad: int = 4, **options) -> list[Answer]:
    with codec(how, **options) as asked:
        return list(asked.ask(inputs(count, bad)))


@pytest.mark.parametrize("window", [1, 64])
@pytest.mark.parametrize(
    ("how", "kind", "why", "patience"),
    [
        ("garbage", AnswerKind.GARBAGE, "I had a thought", PATIENT),
        ("garbage-before", AnswerKind.GARBAGE, "debug: decoding", PATIENT),
        ("list", AnswerKind.GARBAGE, "[1, 2]", PATIENT),
        ("deep", AnswerKind.GARBAGE, "no JSON object", PATIENT),
        ("no-size", AnswerKind.GARBAGE, "size is missing", PATIENT),
        ("wrong-kind", AnswerKind.GARBAGE, "no answer to decode", PATIENT),
        ("wrong-seq", AnswerKind.GARBAGE, "an answer to nothing that waits", PATIENT),
        ("endless", AnswerKind.GARBAGE, "without end", PATIENT),
        ("dies", AnswerKind.CRASH, "exit code 7; panicked at the sight of it", PATIENT),
        ("killed", AnswerKind.CRASH, "SIGKILL", PATIENT),
        ("hangs", AnswerKind.HANG, "no answer in", HURRIED),
        ("hangs-with-child", AnswerKind.HANG, "no answer in", HURRIED),
        ("crashes", AnswerKind.CRASH, "src/lib.rs:1:1", PATIENT),
    ],
)
def test_one_fault_costs_one_verdict(how, kind, why, patience, window):
    answers = ask(how, patience=patience, window=window)
    assert [n for n, answer in enumerate(answers) if answer.kind is not AnswerKind.DECODED] == [4]
    assert answers[4].kind is kind
    assert why in answers[4].why
    assert [answer.data for n, answer in enumerate(answers) if n != 4] == [bytes([n]) for n in range(10) if n != 4]
    assert not processes.running()


def test_an_answer_out_of_order_is_charged_to_whoever_jumped_ahead():
    kinds = [answer.kind for answer in ask("swaps", 6, bad=-1)]
    assert kinds == [AnswerKind.DECODED, AnswerKind.DISORDER] * 3


def test_a_well_behaved_codec_is_charged_nothing():
    assert {answer.kind for answer in ask("polite", 300, bad=-1)} == {AnswerKind.DECODED}


def test_what_a_codec_does_not_do_is_no_failure():
    with codec("polite") as asked:
        assert asked.encode("transport", {"Echo": {}}).kind is AnswerKind.UNIMPLEMENTED


def test_it_is_started_again_a_bounded_number_of_times():
    with codec("dies", restarts=2, window=1) as asked:
        answers = list(asked.ask([Request.decode("transport", b"\xff")] * 6))
    kinds = [answer.kind for answer in answers]
    assert kinds == [AnswerKind.CRASH] * 3 + [AnswerKind.UNASKED] * 3
    assert "too often" in answers[-1].why


def test_requests_are_taken_as_answers_come():
    taken = []

    def lazily():
        for request in inputs(1000, bad=-1):
            taken.append(request)
            yield request

    with codec("polite", window=8) as asked:
        next(asked.ask(lazily()))
    assert len(taken) < 20


def test_whoever_stops_asking_leaves_nothing_behind():
    with codec("polite") as asked:
        assert next(asked.ask(inputs(50, bad=-1))).data == b"\x00"
        assert not asked.has("another")
        assert asked.decode("transport", b"\x07").data == b"\x07"
        assert next(asked.ask(inputs(50, bad=-1))).data == b"\x00"
        assert [answer.kind for answer in asked.ask(inputs(3, bad=-1))] == [AnswerKind.DECODED] * 3


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("no-start", "the codec ended"),
        ("banner", "no JSON object"),
        ("liar", "claims the capability 'levitate'"),
    ],
)
def test_a_codec_that_cannot_be_had_says_why(how, text):
    with pytest.raises(TargetError, match=text):
        codec(how)
    assert not processes.running()


def test_a_command_that_is_not_there():
    with pytest.raises(CannotStart, match="no-such-codec"):
        StdioCodec(["/no-such-codec"])


def test_a_command_that_cannot_be_read():
    with pytest.raises(UsageError, match="cannot split the command"):
        open_codec(parse("stdio:python 'unfinished"))


def test_validation_finds_what_the_quick_look_does_not():
    assert {answer.kind for answer in ask("extra-field", 3, bad=-1)} == {AnswerKind.DECODED}
    with codec("extra-field", validate=True) as asked:
        [answer] = asked.ask(inputs(1, bad=-1))
    assert answer.kind is AnswerKind.GARBAGE
    assert "schema" in answer.why


def test_children_of_a_codec_end_with_it(tmp_path):
    command = [sys.executable, str(FAULTY_NODE), "hangs-with-child", str(tmp_path)]
    with StdioCodec(command, patience=HURRIED) as asked:
        assert next(asked.ask(inputs(1, bad=0))).kind is AnswerKind.HANG
        running = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
        assert sum(str(tmp_path) in line for line in running) == 1, "the new codec runs, the old one's child does not"


def test_a_codec_may_take_longer_to_start_than_to_answer():
    with codec("starts-late", patience=0.2) as asked:
        assert [answer.data for answer in asked.ask(inputs(2, bad=-1))] == [b"\0", b"\1"]


# --- compact batches ----------------------------------------------------------------------------------------------

RECORDS = [
    Answer(kind=AnswerKind.DECODED, size=3, data=b"abc"),
    Answer(kind=AnswerKind.REFUSED, why="no", at=7),
    Answer(kind=AnswerKind.REFUSED, why="no"),
    Answer(kind=AnswerKind.UNIMPLEMENTED, why="not here"),
    Answer(kind=AnswerKind.CRASH, why="panicked"),
]


def test_records_come_back_as_they_went():
    raw = b"".join(map(record, RECORDS))
    assert records(raw, len(RECORDS)) == RECORDS


def test_every_cut_of_the_records_is_refused():
    raw = b"".join(map(record, RECORDS))
    for end in range(len(raw)):
        with pytest.raises(ValueError):
            records(raw[:end], len(RECORDS))


def test_inputs_come_back_as_they_went():
    sent = [b"", b"a", b"b" * 300]
    assert split(request_bytes(sent)) == sent
    with pytest.raises(ValueError, match="past the end"):
        split(request_bytes(sent)[:-1])


def test_batches_are_of_a_sane_size():
    sizes = [len(piece) for piece in pieces([b"x"] * 9000)]
    assert sizes == [4096, 4096, 808]
    assert [len(piece) for piece in pieces([b"x" * (3 << 20)] * 3)] == [1, 1, 1]
    assert list(pieces([])) == []


# --- single lines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        {"seq": 1},
        {"seq": 1, "ok": True, "means": [], "size": 0},
        {"seq": 1, "ok": True, "means": {}, "size": -1},
        {"seq": 1, "ok": True, "means": {}, "size": True},
        {"seq": 1, "ok": True, "bytes": "0"},
        {"seq": 1, "ok": True, "means": {}, "size": 0, "encoded": 5},
        {"seq": 1, "ok": False, "why": 5},
        {"seq": 1, "ok": False, "why": "", "at": "3"},
    ],
)
def test_a_line_that_is_no_answer_is_refused(line):
    with pytest.raises(ValueError):
        answer_of(line)
