"""The list of judged requirements: which judgements count, what is missing, and what is wrong in a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from run_registers import key

from zenoh_conformance.judging.finding import OUR_FAULT
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_harness.files import judged
from zenoh_harness.files.faults import FileFault

ONE, OTHER = "query/one-final", "push/put-payload"
OLD, NEW = next(iter(judged.MOVED.items()))


def judgement(verdict: Verdict, requirement: str = ONE, cause: str = "") -> Judgement:
    return Judgement(key=key(requirement=requirement), level="MUST", verdict=verdict, cause=cause)


def line(requirement: str) -> str:
    return f"responder default {requirement}"


@pytest.mark.parametrize("verdict", Verdict, ids=lambda verdict: verdict.value)
def test_what_judges_the_target_is_a_line(verdict: Verdict) -> None:
    assert judged.judged_lines([judgement(verdict)]) == ({line(ONE)} if verdict.is_judged else frozenset())


@pytest.mark.parametrize("cause", OUR_FAULT)
def test_what_our_machine_kept_from_being_judged_is_not_missing(cause: str) -> None:
    late = judgement(Verdict.NOT_OBSERVED, OTHER, f"not reached: {cause}: 3 s")

    assert judged.is_prevented(late) and judged.prevented_lines([late, judgement(Verdict.PASS)]) == {line(OTHER)}
    assert not judged.is_prevented(judgement(Verdict.NOT_OBSERVED, OTHER, "met nothing to judge"))
    assert not judged.is_prevented(judgement(Verdict.FAIL, OTHER, cause))


@pytest.mark.parametrize(
    ("before", "late", "share"),
    [
        ((), (ONE,), 1.0),
        ((ONE, OTHER), (), 1.0),
        ((ONE, OTHER), (OTHER,), 0.5),
        ((ONE, OTHER), ("push/other",), 1.0),
        ((ONE, OLD), (NEW,), 0.5),
        ((ONE, OTHER), (ONE, OTHER), 0.0),
    ],
)
def test_the_share_that_was_judged(before: tuple[str, ...], late: tuple[str, ...], share: float) -> None:
    """Of what was judged before: what our machine prevented, unless another check judged the requirement in time."""
    found = [judgement(Verdict.NOT_OBSERVED, one, OUR_FAULT[0]) for one in late]
    lines = frozenset(map(line, before))

    assert judged.share_judged(lines, iter(found)) == share
    assert judged.share_judged(lines, [*found, *(judgement(Verdict.PASS, one) for one in late)]) == 1.0


def test_what_is_written_is_read_sorted_and_once(tmp_path: Path) -> None:
    path = tmp_path / "list.judged"
    judged.write(path, [line(OTHER), line(ONE), line(OTHER)])

    head, *rows = path.read_text(encoding="utf-8").splitlines()
    assert head.startswith("# ") and rows == [line(OTHER), line(ONE)]
    assert judged.read(path) == {line(ONE), line(OTHER)}


def test_empty_lines_and_remarks_are_passed_over_and_spaces_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "list.judged"
    path.write_text(f"# so it is\n\n  \nresponder   default\t{ONE} \n{line(OTHER)}\n", encoding="utf-8")

    assert judged.read(path) == {line(ONE), line(OTHER)}


@pytest.mark.parametrize("wrong", ["responder default", "responder default a/b c", "responder default nothing"])
def test_a_line_of_another_form_is_named(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "list.judged"
    path.write_text(f"# remark\n{line(ONE)}\n{wrong}\n", encoding="utf-8")

    with pytest.raises(
        FileFault, match=re.escape(f"list.judged:3: expected `role profile page/requirement`, found {wrong!r}")
    ):
        judged.read(path)


def test_a_long_line_is_cut_in_the_message(tmp_path: Path) -> None:
    path = tmp_path / "list.judged"
    path.write_text("x" * 100, encoding="utf-8")

    with pytest.raises(FileFault) as fault:
        judged.read(path)
    assert len(fault.value.why) < 110 and fault.value.line == 1 and fault.value.path == path


def test_what_is_no_text_and_what_is_not_there_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "list.judged"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileFault, match="byte 0 is not UTF-8"):
        judged.read(path)
    with pytest.raises(FileFault, match="No such file"):
        judged.read(tmp_path / "lost.judged")


def test_a_requirement_that_moved_is_there_under_either_name() -> None:
    before = frozenset({line(ONE), line(OTHER), line(OLD)})

    assert judged.missing(before, frozenset({line(ONE)})) == sorted([line(OLD), line(OTHER)])
    assert judged.missing(before, before) == []
    for name in (OLD, NEW):
        assert judged.missing(before, frozenset({line(ONE), line(OTHER), line(name)})) == []
    assert judged.missing(frozenset({line(OLD)}), frozenset({f"initiator default {NEW}"})) == [line(OLD)]
