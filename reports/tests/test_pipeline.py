"""Results become rows: the worst verdict counts, what was not judged is there, what is under embargo is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import Judgement, Key, Verdict
from zenoh_harness.files.results import Header, header_row, judgement_row, line
from zenoh_reports.spark import OLDEST_JAVA, java_home, java_version, session, wrapped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("java")

REQUIREMENT = "session-establishment/cookie-echo"
OTHER = "session-establishment/cookie-must-match"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with session("test") as found:
        yield found


def judgement(requirement: str, verdict: Verdict, cause: str = "", **changes: Any) -> str:
    key = Key(
        target="node", version="1", role="responder", profile="default", link="tcp", requirement=requirement,
        check="module/case", parameters=(("bit", "3"),),
    )  # fmt: skip
    return line(judgement_row(Judgement(key=key, level="MUST", verdict=verdict, cause=cause, **changes)))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    file = tmp_path / "results.jsonl"
    header = Header(reach="exec:node", name="node", version="1", role="responder", kind="exec")
    file.write_text(
        line(header_row(header))
        + judgement(REQUIREMENT, Verdict.PASS)
        + judgement(REQUIREMENT, Verdict.FAIL, "open.cookie: another cookie")
        + judgement(REQUIREMENT, Verdict.NOT_OBSERVED)
        + judgement(OTHER, Verdict.PASS)
        + judgement(OTHER, Verdict.CRASH, "secret", embargo=True)
    )
    return file


def rows_of(spark: SparkSession, results: Path) -> dict[str, Any]:
    from zenoh_reports.pipeline.coverage import by_requirement, requirement_rows
    from zenoh_reports.pipeline.judgements import judgements

    table = by_requirement(judgements(spark, [str(results)]), requirement_rows(spark, requirements().values()))
    return {row.requirement: row for row in table.collect()}


def test_the_worst_verdict_counts(spark: SparkSession, results: Path) -> None:
    row = rows_of(spark, results)[REQUIREMENT]

    assert (row.verdict, row.judgements, row.cause) == ("fail", 3, "open.cookie: another cookie")


def test_every_requirement_has_a_row_and_none_passes_unjudged(spark: SparkSession, results: Path) -> None:
    rows = rows_of(spark, results)

    assert set(rows) == set(requirements())
    unjudged = {row.verdict for requirement, row in rows.items() if requirement not in (REQUIREMENT, OTHER)}
    assert unjudged == {"not-observed"}


def test_what_is_under_embargo_is_in_no_row(spark: SparkSession, results: Path) -> None:
    rows = rows_of(spark, results)

    assert rows[OTHER].verdict == "pass"
    assert all("secret" not in row.cause for row in rows.values())


def test_the_wrapped_java_drops_what_it_lacks(tmp_path: Path) -> None:
    home = tmp_path / "jre"
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text('#!/bin/sh\nfor a do echo "$a"; done\n')
    java.chmod(0o755)

    import subprocess

    text = subprocess.run(
        [wrapped(home, tmp_path) / "bin" / "java", "-x", "--add-modules=jdk.incubator.vector", "two words"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert text.splitlines() == ["-x", "two words"]


def test_a_java_is_found_without_any_on_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")

    home = java_home(tmp_path)

    assert home is not None
    assert java_version(home / "bin" / "java") >= OLDEST_JAVA
