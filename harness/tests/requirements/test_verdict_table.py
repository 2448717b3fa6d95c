"""Requirement by target: the worst verdict with its count, or why there is none; a cell with neither is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Exit, Judgement, Key, Verdict
from zenoh_conformance.spec.coverage import Coverage, cover
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.cli import invoke
from zenoh_harness.files.results import Header, Results, ResultsWriter
from zenoh_harness.requirements import verdict_table
from zenoh_harness.requirements.verdict_table import EMPTY
from zenoh_harness.requirements.witnesses import vectors

pytestmark = pytest.mark.long

ECHO, LEASE, ID = (f"session-establishment/{phrase}" for phrase in ("cookie-echo", "open-lease", "init-id"))
HIDDEN = "session-establishment/cookie-may-carry-state"
MANY = "close/link-close-ends-link"
WHEEL = Header(reach="wheel", name="zenoh-rust", version="1.10.2", role="responder", kind="wheel")


@pytest.fixture(scope="module")
def covered() -> Coverage:
    """One law, two cases, and nothing else."""
    by = [("law", "law/cookie-echo", [ECHO]), ("case", "a/b", [MANY]), ("case", "a/c", [MANY])]
    return cover(requirements(), by)


def said(requirement: str, verdict: Verdict, cause: str = "", reading: str | None = None) -> Judgement:
    """One judgement of the wheel."""
    key = Key(
        target="zenoh-rust",
        version="1.10.2",
        role="responder",
        profile="default",
        link="tcp",
        requirement=requirement,
        check="x",
    )
    return Judgement(key=key, level="MUST", verdict=verdict, cause=cause, reading=reading)


def told(covered: Coverage, requirement: str, *judgements: Judgement, header: Header = WHEEL) -> str:
    """The one cell."""
    targets = verdict_table.columns([Results(header, judgements=list(judgements))])
    [line] = verdict_table.table_rows(covered, vectors(), targets, requirement)
    return line.cells[0]


def test_the_worst_verdict_counts_and_how_many_say_so(covered: Coverage) -> None:
    assert told(covered, ECHO, said(ECHO, Verdict.PASS), said(ECHO, Verdict.PASS)) == "pass (2)"
    assert told(covered, ECHO, said(ECHO, Verdict.PASS), said(ECHO, Verdict.FAIL)) == "fail (1 of 2)"
    assert told(covered, ECHO, said(ECHO, Verdict.PASS, reading="as written")) == "pass (1), as written"


def test_without_a_verdict_there_is_a_reason(covered: Coverage) -> None:
    assert told(covered, MANY, said(MANY, Verdict.NOT_APPLICABLE, "no multilink")) == "not-applicable: no multilink"
    assert told(covered, ECHO, said(ECHO, Verdict.NOT_OBSERVED)) == "not-observed: no check met anything to judge"
    assert told(covered, HIDDEN).startswith("cannot be seen: ")
    assert "vectors" in told(covered, ID)


def test_with_neither_the_cell_is_empty(covered: Coverage) -> None:
    assert told(covered, ECHO) == EMPTY
    assert (
        told(covered, LEASE, header=Header(reach="x", name="mine", version="3", role="responder", kind="exec")) == EMPTY
    )


def test_runs_of_one_target_are_one_column(covered: Coverage) -> None:
    targets = verdict_table.columns([
        Results(WHEEL, judgements=[said(ECHO, Verdict.PASS)]),
        Results(WHEEL, judgements=[said(ECHO, Verdict.KNOWN)]),
        Results(Header(reach="docker", name="zenoh-rust", version="1.10.2", role="responder", kind="docker")),
    ])  # fmt: skip
    [line] = verdict_table.table_rows(covered, vectors(), targets, ECHO)

    assert [column.title for column in targets] == ["wheel zenoh-rust 1.10.2", "docker zenoh-rust 1.10.2"]
    assert line.cells == ("known (1 of 2)", EMPTY)
    assert line.by == ("cookie-echo", "", "", "")
    assert verdict_table.unexplained_gaps([line]) == [ECHO]


def test_it_is_printed_as_a_table_and_an_empty_cell_is_exit_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, judgements in (("full", [said(ECHO, Verdict.PASS)]), ("bare", [])):
        with ResultsWriter(tmp_path / name / "results.jsonl", WHEEL) as writer:
            for judgement in judgements:
                writer.judgement(judgement)
            writer.footer(Exit.CONFORMING)

    assert invoke(["requirements", "table", str(tmp_path / "full"), "--of", ECHO]) == Exit.CONFORMING
    [told_of_it] = [line for line in capsys.readouterr().out.splitlines() if ECHO in line]
    assert told_of_it.startswith(f"| {ECHO} | MUST | cookie-echo |")
    assert told_of_it.endswith("| pass (1) |")
    assert invoke(["requirements", "table", str(tmp_path / "bare"), "--of", ECHO]) == Exit.NOT_CONFORMING
    assert EMPTY in capsys.readouterr().out
    assert invoke(["requirements", "table", str(tmp_path / "full"), "--of", "nothing/*"]) == Exit.USAGE
