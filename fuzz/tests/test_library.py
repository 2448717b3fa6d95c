"""`lib:PATH`: what is loaded, what is refused and why, and that a library's death costs one answer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from zenoh_fuzz import oracle
from zenoh_fuzz.compare.targets import LibraryTarget
from zenoh_harness.codecs.codec import AnswerKind, Request
from zenoh_harness.codecs.library import counts_coverage, header, identity_in_trial, load
from zenoh_harness.errors import CannotStart, UsageError
from zenoh_harness.targets.adapters.library import open_codec
from zenoh_harness.targets.reach import parse


def test_a_library_is_loaded_and_asked(tiny):
    codec = load(tiny(0))
    assert (codec.identity.name, codec.identity.language, codec.layers) == ("tiny", "c", {"transport"})
    assert codec.decode("transport", b"\x04").data == b"\x04"
    assert codec.decode("transport", b"\x03").why == "only KEEP_ALIVE is known"
    assert codec.decode("network", b"\x04").kind is AnswerKind.UNIMPLEMENTED
    assert codec.encode("transport", {"KeepAlive": {}}).kind is AnswerKind.UNIMPLEMENTED
    assert [a.kind for a in codec.decode_many("transport", [b"\x04", b""])] == [AnswerKind.DECODED, AnswerKind.REFUSED]
    assert not counts_coverage(tiny(0))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (1, "speaks version 2 of the interface"),
        (2, "does not introduce itself"),
        (3, "crashes when it is loaded"),
        (4, "hangs when it is loaded"),
        (5, "answers for a layer that does not exist"),
    ],
)
def test_what_cannot_be_used_is_said(tiny, fault, said):
    with pytest.raises(CannotStart, match=said):
        identity_in_trial(tiny(fault), patience=3.0)


def test_one_that_is_late_once_is_tried_again(tiny, monkeypatch):
    late, run = [True], subprocess.run

    def late_once(command, **how):
        if late and late.pop():
            raise subprocess.TimeoutExpired(command, 0.0)
        return run(command, **how)

    monkeypatch.setattr(subprocess, "run", late_once)
    assert identity_in_trial(tiny(0)).name == "tiny"
    assert not late


def test_what_is_no_library_is_said(tmp_path):
    with pytest.raises(UsageError, match="there is no library"):
        load(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(CannotStart, match="does not load"):
        load(tmp_path / "text.so")


def test_as_a_target_its_death_costs_one_answer(tiny):
    with open_codec(parse(f"lib:{tiny(6)}")) as codec:
        asked = [Request.decode("transport", data) for data in (b"\x04", b"\x03\x00\x00", b"\x04")]
        kinds = [answer.kind for answer in codec.ask(asked)]
    assert kinds == [AnswerKind.DECODED, AnswerKind.CRASH, AnswerKind.DECODED]


def test_the_codec_of_the_page_compiles_and_is_fuzzed(tmp_path):
    """The block on the page, built as the page says, knows KEEP_ALIVE and is found to know nothing else."""
    page = (Path(__file__).parents[2] / "docs" / "pages" / "fuzzing.md").read_text(encoding="utf-8")
    source = tmp_path / "tiny.c"
    source.write_text(page.partition("```c\n")[2].partition("```")[0], encoding="utf-8")
    library = tmp_path / "tiny.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", f"-I{header().parent}", str(source), "-o", str(library)], check=True
    )
    target = LibraryTarget(load(library))
    judge = oracle.make_oracle("differential", (target,))
    assert oracle.judge_input(judge, b"\0\x04") == ()
    assert [one.rule for one in oracle.judge_input(judge, b"\0\x03\0")] == ["accept-alike"]
