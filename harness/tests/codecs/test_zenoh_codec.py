"""zenoh-rust's own codec behind the protocol: what it reads, writes again, and survives."""

import pytest

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.cli import invoke
from zenoh_harness.codecs import build as codec_build
from zenoh_harness.codecs.codec import AnswerKind, Request
from zenoh_harness.codecs.meaning import comparable
from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.targets.adapters.stdio import StdioCodec
from zenoh_vectors.loader import load

pytestmark = pytest.mark.needs("cargo")

RELEASES = ("1.10.2", "1.9.0")
INIT = bytes.fromhex("010932c4c3c2c1")


@pytest.fixture(scope="module", params=RELEASES)
def codec(request):
    made = codec_build.make(request.param, "release", lambda line: None)
    with StdioCodec([made.what], validate=True) as asked:
        assert asked.identity.version == request.param
        yield asked


@pytest.fixture(scope="module")
def vectors():
    return [vector for vector in load() if vector.layer not in ("conversation", "stream")]


def push(suffix: bytes) -> bytes:
    """A PUSH of nothing to a key that must be copied out of the batch."""
    return b"\x3d\x00" + len(suffix).to_bytes(1, "little") + suffix + b"\x01\x00"


@pytest.mark.parametrize(
    ("layer", "data", "means"),
    [
        ("transport", "0304", {"Close": {"session": False, "reason": 4}}),
        ("network", "1a09", {"ResponseFinal": {"id": 9}}),
        ("scouting", "010907", {"Scout": {"version": 9, "what": 7}}),
        ("batch", "0404", {"Batch": {"messages": [{"KeepAlive": {}}, {"KeepAlive": {}}]}}),
        ("lowlatency", "041a09", {"Batch": {"messages": [{"KeepAlive": {}}, {"ResponseFinal": {"id": 9}}]}}),
        ("vle", "ff" * 9, {"Vle": {"value": str(2**64 - 1)}}),
        ("keyexpr", "612f2a2a2f2a", {"KeyExpr": {"text": "a/**/*", "valid": False, "canonical": "a/*/**"}}),
    ],
)
def test_each_layer_is_read(codec, layer, data, means):
    answer = codec.decode(layer, bytes.fromhex(data))
    assert answer.kind is AnswerKind.DECODED, answer
    assert answer.means == means
    assert answer.size == len(data) // 2


def test_a_refusal_tells_how_far_it_came(codec):
    answer = codec.decode("transport", INIT[:-1])
    assert (answer.kind, answer.at) == (AnswerKind.REFUSED, 3)


def test_what_it_tells_is_what_it_writes(codec, vectors):
    """Meaning to bytes gives what the same codec made of the bytes: no field is lost or swapped on the way."""
    read = list(codec.ask(Request.decode(vector.layer, vector.data) for vector in vectors))
    good = [(v, a) for v, a in zip(vectors, read, strict=True) if a.kind is AnswerKind.DECODED and v.layer != "keyexpr"]
    assert len(good) > 3000
    written = codec.ask(Request.encode(vector.layer, answer.means) for vector, answer in good)
    wrong = [v.id for (v, answer), again in zip(good, written, strict=True) if again.data != answer.data]
    assert [ident for ident in wrong if "bad-utf8" not in ident] == []


def test_batches_answer_as_single_requests_do(codec, vectors):
    inputs = [vector.data for vector in vectors if vector.layer == "network"]
    many = codec.decode_many("network", inputs)
    single = codec.ask(Request.decode("network", data) for data in inputs)
    for together, alone in zip(many, single, strict=True):
        assert (together.kind, together.size, together.data) == (alone.kind, alone.size, alone.data)
        assert (together.why, together.at) == (alone.why, alone.at)


def test_key_expressions_are_related(codec):
    [answer] = codec.ask([Request(command="relate", pair=("a/*", "a/b"))])
    assert answer.means == {"intersects": True, "includes": True}
    [answer] = codec.ask([Request(command="relate", pair=("a//b", "a"))])
    assert answer.kind is AnswerKind.REFUSED


def test_what_its_structs_cannot_hold_is_unimplemented(codec):
    unknown = {"Unknown": {"id": 9, "mandatory": False, "enc": "unit"}}
    answer = codec.encode("transport", {"KeepAlive": {"exts": [unknown]}})
    assert (answer.kind, "cannot hold Unknown" in answer.why) == (AnswerKind.UNIMPLEMENTED, True)
    assert codec.encode("transport", {"Close": {"session": True}}).kind is AnswerKind.REFUSED
    assert codec.decode("stream", b"").kind is AnswerKind.UNIMPLEMENTED


def test_allocations_are_counted(codec):
    little, large = (codec.decode("network", push(b"a" * size)).allocated for size in (1, 100))
    assert 0 < little < large


def test_a_refused_allocation_is_an_answer_and_the_next_request_too(codec):
    with StdioCodec([*codec.command, "--cap", "2000"]) as capped:
        good = Request.decode("network", push(b"a"))
        bad = Request.decode("network", b"\x3d\x00\xb8\x17" + b"a" * 3000 + b"\x01\x00")
        kinds = [answer.kind for answer in capped.ask([good, bad, good] * 40)]
    assert kinds == [AnswerKind.DECODED, AnswerKind.CRASH, AnswerKind.DECODED] * 40


def test_a_panic_is_an_answer_with_its_place_and_text():
    """Up to 1.9 a length became a capacity unseen: known, published, mended since."""
    made = codec_build.make("1.9.0", "release", lambda line: None)
    with StdioCodec([made.what]) as codec:
        panics = Request.decode("network", bytes.fromhex("3c09000161438080808080808080806162"))
        starves = Request.decode("scouting", bytes.fromhex("220930c4c3c2c1808080801007"))
        answers = list(codec.ask([panics, starves, Request.decode("transport", INIT)]))
        assert codec.restarts_left == 20
    assert [answer.kind for answer in answers] == [AnswerKind.CRASH, AnswerKind.CRASH, AnswerKind.DECODED]
    assert "capacity overflow" in answers[0].why
    assert "over the cap" in answers[1].why


def test_it_agrees_with_our_reading_of_a_message(codec):
    answer = codec.decode("transport", INIT)
    assert comparable(answer.means) == comparable(
        {"Init": {"ack": False, "version": 9, "whatami": 2, "zid": "c1c2c3c4", "resolution": 10, "batch_size": 65535}}
    )


# --- building -----------------------------------------------------------------------------------------------------


def test_a_built_program_is_found_again():
    first = codec_build.make(RELEASES[0], "release", lambda line: None)
    again = codec_build.make(RELEASES[0], "release", lambda line: None)
    assert (again.what, again.new) == (first.what, False)


@pytest.mark.parametrize("version", ["newest", "1.10", "../1.10.2", ""])
def test_what_is_no_release_is_refused(version):
    with pytest.raises(UsageError, match="is no release"):
        codec_build.make(version, "release", lambda line: None)


def test_without_cargo_the_error_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("ZCONFORM_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert invoke(["targets", "build", "zenoh-codec"]) == Exit.CANNOT_GO_ON
    assert "cargo is not installed" in capsys.readouterr().err


def test_a_failed_build_shows_the_end_of_its_log(monkeypatch, tmp_path):
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\nseq 1 100 >&2\necho 'error: linker not found' >&2\nexit 101\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("ZCONFORM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(CannotGoOn, match="does not build") as failed:
        codec_build.make("1.10.2", "release", lambda line: None)
    assert failed.value.seen[-1] == "error: linker not found"
    assert len(failed.value.seen) == 25
    assert not codec_build.program_of("1.10.2").exists()
