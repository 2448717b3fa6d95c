"""Our codec served over the protocol: the same answers as in this process, and no line ends the conversation."""

import io
import json

import pytest

from zenoh_harness.codecs.codec import AnswerKind, Request, answer_of
from zenoh_harness.codecs.compact import records, request_bytes
from zenoh_harness.codecs.own import OwnCodec
from zenoh_harness.codecs.schemas import checker
from zenoh_harness.codecs.server import as_line, serve

OWN = OwnCodec()


def served(*requests) -> list[dict]:
    source = io.BytesIO(b"".join(r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in requests))
    sink = io.BytesIO()
    serve(OWN, source, sink)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def test_it_says_who_it_is_and_is_honest():
    start, yes, no, stop = served(
        {"cmd": "start", "version": 1},
        {"cmd": "capability", "name": "relate"},
        {"cmd": "capability", "name": "levitate"},
        {"cmd": "stop"},
        {"cmd": "start", "version": 1},
    )
    assert start["identity"]["language"] == "python"
    assert (yes, no, stop) == ({"ok": True}, {"ok": False, "unimplemented": True}, {"ok": True})
    for line in (start, yes, no, stop):
        checker()("answer", line)


@pytest.mark.parametrize(
    "line",
    [b"nonsense\n", b"[1]\n", b"\xff\xfe\n", b'{"seq": 1}\n', b'{"cmd": "fly", "seq": 1}\n', b"[" * 50_000 + b"\n",
     b'{"cmd": "decode", "seq": 1, "layer": "vle", "bytes": "0"}\n', b'{"cmd": "decode", "seq": 1}\n',
     b'{"cmd": "encode", "seq": 1, "layer": "vle", "means": []}\n',
     b'{"cmd": "encode", "seq": 1, "layer": "vle", "means": {"Vle": {}}}\n'],
)  # fmt: skip
def test_a_line_that_is_no_request_is_answered_and_the_next_one_served(line):
    answer, after = served(line, {"cmd": "decode", "seq": 2, "layer": "vle", "bytes": "05"})
    checker()("answer", answer)
    assert answer.get("ok") is not True
    assert after["means"] == {"Vle": {"value": 5}}


@pytest.mark.parametrize(
    ("layer", "data", "means"),
    [
        ("stream", "01000402000404", {"Stream": {"batches": [
            {"messages": [{"KeepAlive": {}}]}, {"messages": [{"KeepAlive": {}}, {"KeepAlive": {}}]}]}}),
        ("batch", "0404", {"Batch": {"messages": [{"KeepAlive": {}}, {"KeepAlive": {}}]}}),
        ("lowlatency", "041a09", {"Batch": {"messages": [{"KeepAlive": {}}, {"ResponseFinal": {"id": 9}}]}}),
        ("vle", "ff" * 9, {"Vle": {"value": str(2**64 - 1)}}),
        ("keyexpr", "612f2a", {"KeyExpr": {"text": "a/*", "valid": True, "canonical": "a/*"}}),
    ],
)  # fmt: skip
def test_each_layer_both_ways(layer, data, means):
    raw = bytes.fromhex(data)
    answer = OWN.decode(layer, raw)
    assert (answer.means, answer.size, answer.data) == (means, len(raw), raw)
    assert OWN.encode(layer, means).data == raw
    assert answer_of({"seq": 1} | as_line(answer)) == answer
    checker()("answer", {"seq": 1} | as_line(answer))


@pytest.mark.parametrize(
    ("layer", "data", "at"),
    [("stream", "010004020004", 6), ("stream", "01000401001f", 5), ("batch", "", 0), ("batch", "041f", 1),
     ("vle", "80", 1), ("keyexpr", "c3a92f2f61", 3), ("keyexpr", "61ff", 1)],
)  # fmt: skip
def test_a_refusal_names_the_byte(layer, data, at):
    answer = OWN.decode(layer, bytes.fromhex(data))
    assert (answer.kind, answer.at) == (AnswerKind.REFUSED, at), answer


def test_a_fault_of_ours_is_an_answer(monkeypatch):
    monkeypatch.setattr("zenoh_conformance.wire.vle.decode", lambda data: 1 // 0)
    answer = OWN.decode("vle", b"\x05")
    assert (answer.kind, answer.why) == (AnswerKind.CRASH, "ZeroDivisionError: integer division or modulo by zero")


def test_batches_answer_as_single_requests_do():
    inputs = [b"\x04", b"\x1f", b"", b"\x03\x00"]
    raw = request_bytes(inputs)
    source = io.BytesIO(
        json.dumps({"cmd": "batch", "seq": 7, "layer": "transport", "count": 4, "bytes": len(raw)}).encode()
        + b"\n"
        + raw
    )
    sink = io.BytesIO()
    serve(OWN, source, sink)
    head, _, body = sink.getvalue().partition(b"\n")
    assert json.loads(head) == {"seq": 7, "ok": True, "count": 4, "bytes": len(body)}
    for together, data in zip(records(body, 4), inputs, strict=True):
        alone = next(OWN.ask([Request.decode("transport", data)]))
        assert (together.kind, together.size, together.data, together.at) == (
            alone.kind,
            alone.size,
            alone.data,
            alone.at,
        )


def test_relations():
    assert next(OWN.ask([Request(command="relate", pair=("a/*", "a/b"))])).means == {
        "intersects": True,
        "includes": True,
    }
    assert next(OWN.ask([Request(command="relate", pair=("a//b", "a"))])).kind is AnswerKind.REFUSED
