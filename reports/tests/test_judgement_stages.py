"""Stages over results: what a person would count by hand, and Spark's tables equal to the plain ones, row for row."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from zenoh_conformance.judging.verdict import Judgement, Key, Verdict
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files import run_ids
from zenoh_harness.files.results import Footer, Header, footer_row, header_row, judgement_row, line
from zenoh_reports.plain import clusters as plain_clusters
from zenoh_reports.plain import history as plain_history
from zenoh_reports.plain import judgements as plain
from zenoh_reports.plain.results import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REQUIREMENT = "session-establishment/cookie-echo"
OTHER = "session-establishment/cookie-must-match"


def judgement(
    requirement: str, verdict: Verdict, cause: str = "", *, check="module/case", bit="3", **changes: Any
) -> str:
    key = Key(
        target="node", version=changes.pop("version", "1"), role="responder", profile="default", link="tcp",
        requirement=requirement, check=check, parameters=(("bit", bit),),
    )  # fmt: skip
    return line(judgement_row(Judgement(key=key, level="MUST", verdict=verdict, cause=cause, **changes)))


def header(version: str = "1", kind: str = "exec", **changes: Any) -> str:
    row = header_row(Header(reach=f"{kind}:node", name="node", version=version, role="responder", kind=kind))
    return line({**row, **changes})


def night(folder: Path, name: str, *lines: str) -> str:
    file = folder / name / "results.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lines))
    return str(file)


FOOTER = line(footer_row(Footer(judged=3, verdicts={"pass": 3}, exit=0)))


def test_two_nights_are_two_runs_and_a_copy_is_none(tmp_path: Path) -> None:
    lines = header(), judgement(REQUIREMENT, Verdict.PASS), FOOTER
    files = [night(tmp_path, name, *lines) for name in ("2026-01-01", "2026-01-02", "copies/2026-01-02")]
    found = [row for file in files for row in rows(file)]

    assert [run.day for run in sorted(plain.runs(found), key=lambda run: run.day)] == ["2026-01-01", "2026-01-02"]
    assert len(plain.judgements(found)) == 2


def test_a_copy_adds_nothing_to_the_row_of_its_run(tmp_path: Path) -> None:
    lines = (
        header(),
        line({"type": "plan", "checks": ["one", "two"]}),
        judgement(REQUIREMENT, Verdict.PASS),
        "no JSON\n",
    )
    files = [night(tmp_path, name, *lines) for name in ("b/2026-01-02", "a/2026-01-02")]
    [run] = plain.runs(row for file in files for row in rows(file))

    assert (run.judgements, run.planned, run.pending, run.faults) == (1, 2, 1, 1)
    assert run.file == files[1]


def test_a_run_is_called_what_its_header_calls_it(tmp_path: Path) -> None:
    line_, at = judgement(REQUIREMENT, Verdict.PASS), "2026-01-01T12:00:00Z"
    names = [run_ids.of_new(at, "node") for _ in range(2)]
    files = [night(tmp_path, f"{index}", header(date=at, run=name), line_, FOOTER) for index, name in enumerate(names)]
    files += [
        night(tmp_path, "copy", header(date=at, run=names[0]), line_, FOOTER),
        night(tmp_path, "old", header(date=at), line_),
    ]
    found = plain.runs(row for file in files for row in rows(file))

    assert len(set(names)) == 2 and {run.run for run in found} > set(names)
    assert [(run.day, run.date) for run in found] == [("2026-01-01", at)] * 3


def test_of_two_runs_of_a_day_the_later_one_is_the_newest(tmp_path: Path) -> None:
    files = []
    for hour, verdict in (("23", Verdict.FAIL), ("09", Verdict.PASS)):
        at = f"2026-01-01T{hour}:00:00Z"
        lines = header(date=at, run=run_ids.of_new(at)), judgement(REQUIREMENT, verdict), FOOTER
        files.append(night(tmp_path, hour, *lines))
    last = plain.newest(plain.judgements(row for file in files for row in rows(file)))

    assert [row.verdict for row in last] == ["fail"]


def test_a_container_and_a_wheel_of_one_version_are_two_columns(tmp_path: Path) -> None:
    files = [
        night(tmp_path, f"2026-01-01/{kind}", header(kind=kind), judgement(REQUIREMENT, verdict), FOOTER)
        for kind, verdict in (("wheel", Verdict.PASS), ("docker", Verdict.FAIL))
    ]
    judged = plain.judgements(row for file in files for row in rows(file))
    cells = [cell for cell in plain.matrix(judged, requirements().values()) if cell.requirement == REQUIREMENT]

    assert [(cell.kind, cell.verdict) for cell in cells] == [("docker", "fail"), ("wheel", "pass")]


def test_what_observed_nothing_is_counted_apart(tmp_path: Path) -> None:
    said = [Verdict.PASS, Verdict.PASS, Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE, Verdict.FAIL]
    file = night(tmp_path, "2026-01-01", header(), *(judgement(REQUIREMENT, verdict) for verdict in said))
    cells = plain.matrix(plain.judgements(rows(file)), requirements().values())
    cell = next(cell for cell in cells if cell.requirement == REQUIREMENT)

    assert (cell.verdict, cell.judgements, cell.judged, cell.unobserved) == ("fail", 1, 3, 2)
    assert {cell.verdict for cell in cells if cell.requirement != REQUIREMENT} == {"not-observed"}
    assert len(cells) == len(requirements())


def test_what_is_under_embargo_is_in_no_row(tmp_path: Path) -> None:
    secret = judgement(OTHER, Verdict.CRASH, "secret", embargo=True)
    unmarked = line({**json.loads(secret), "embargo": None})
    file = night(tmp_path, "2026-01-01", header(), secret, unmarked, judgement(OTHER, Verdict.PASS), FOOTER)
    found = list(rows(file))

    assert "secret" not in repr(found)
    assert [run.embargoed for run in plain.runs(found)] == [2]
    assert [row.verdict for row in plain.judgements(found)] == ["pass"]


BAD = {
    "empty": [],
    "cut": [header(), judgement(REQUIREMENT, Verdict.PASS), judgement(REQUIREMENT, Verdict.PASS)[:40]],
    "foreign": ["<html>\n", "\x00\x01\n"],
    "other-format": [header(format=99), judgement(REQUIREMENT, Verdict.PASS)],
    "header-only": [header()],
    "no-header": [judgement(REQUIREMENT, Verdict.PASS)],
    "deep": ["[" * 100_000 + "\n"],
    "list": [header(), "[1, 2]\n", judgement(REQUIREMENT, Verdict.PASS), FOOTER],
    "types": [header(), line({**json.loads(judgement(OTHER, Verdict.PASS)), "attempts": "two"}), FOOTER],
    "wide": [header(seed=1 << 70)],
    "verdict": [header(), line({**json.loads(judgement(OTHER, Verdict.PASS)), "verdict": "splendid"}), FOOTER],
    "surrogate": [header(), line({**json.loads(judgement(OTHER, Verdict.PASS)), "cause": "\ud800"}), FOOTER],
}
"""What arrives in folders of results, besides results."""


def bad_files(folder: Path) -> list[str]:
    files = [night(folder, f"2026-02-01/{name}", *lines) for name, lines in BAD.items()]
    packed = folder / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress("".join([header("2"), judgement(OTHER, Verdict.PASS, version="2")]).encode())[:-9])
    bent = folder / "bent.jsonl.gz"
    bent.write_bytes(gzip.compress(header("3").encode()) + gzip.compress(b"more")[:10] + b"\x07")
    return [*files, str(packed), str(bent), str(folder / "not-there.jsonl"), str(folder)]


def test_what_cannot_be_read_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    files = bad_files(tmp_path)
    found = [row for file in files for row in rows(file)]
    faults = {(Path(row.file).parent.name, row.line): row.fault for row in found if row.type == "fault"}

    assert faults[("cut", 3)].startswith("cut off")
    assert "format 99" in faults[("other-format", 1)]
    assert "expected the header" in faults[("no-header", 1)]
    assert faults[("list", 2)] == "expected an object, found list"
    assert "'attempts'" in faults[("types", 2)]
    assert "'verdict'" in faults[("verdict", 2)]
    assert [row.fault for row in found if "not-there" in row.file] == [faults[(tmp_path.name, 0)]]
    assert [row.type for row in found if row.file.endswith("bent.jsonl.gz")] == ["header", "fault"]
    assert {name for name, _ in faults} >= {"empty", "foreign", "deep", "wide", tmp_path.name}
    judged = plain.judgements(found)
    assert len(judged) == 4  # cut, list, surrogate, and what the packed file holds before its end is missing
    assert {row.cause for row in judged} == {"", "?"}


VERDICTS = (Verdict.PASS, Verdict.PASS, Verdict.FAIL, Verdict.FLAKY, Verdict.NOT_OBSERVED)
CAUSES = (
    "open.cookie: another cookie where {:x} is required",
    "open.cookie: another cookie where 0x{:X} was required",
    "the link ended by reset after {} bytes",
    "",
)


def a_year(folder: Path, nights: int = 12) -> list[str]:
    """Nights of two kinds of one target, with verdicts that turn, repeat and waver, and two judgements of one key."""
    random = Random(17)
    files = []
    for index in range(nights):
        for kind in ("wheel", "docker"):
            version = f"1.{index // 4}"
            lines = [
                judgement(
                    name, random.choice(VERDICTS),
                    random.choice(CAUSES).format(random.randrange(1 << 40)), bit=str(bit), version=version,
                    attempts=random.choice([1, 1, 2]),
                )
                for name in (REQUIREMENT, OTHER) for bit in (1, 2, 2)
            ]  # fmt: skip
            end = [FOOTER] if index % 3 else []
            files.append(night(folder, f"2026-03-{index + 1:02}/{kind}", header(version, kind), *lines, *end))
    return files


def tuples(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted(dataclasses.astuple(row) for row in rows)


def collected(table: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.collect())


@pytest.mark.needs("java", "spark")
def test_the_stages_of_spark_make_the_plain_tables(spark: SparkSession, tmp_path: Path) -> None:
    from zenoh_reports.pipeline import clusters as spark_clusters
    from zenoh_reports.pipeline import history as spark_history
    from zenoh_reports.pipeline import judgements as stages
    from zenoh_reports.pipeline.types import schema

    files = [*a_year(tmp_path / "year"), *bad_files(tmp_path / "bad")]
    lines = [row for file in files for row in rows(file)]
    judged, needed = plain.judgements(lines), list(requirements().values())
    first = [row for row in judged if row.day < "2026-03-03"]

    table = stages.results(spark, files).cache()
    of_spark = stages.judgements(table).cache()
    old = of_spark.where("day < '2026-03-03'")
    for made, expected, row in (
        (table, lines, type(lines[0])),
        (stages.runs(table), plain.runs(lines), plain.RunRow),
        (of_spark, judged, plain.JudgementRow),
        (stages.newest(of_spark), plain.newest(judged), plain.JudgementRow),
        (
            stages.matrix(of_spark, stages.requirement_rows(spark, needed)),
            plain.matrix(judged, needed),
            plain.MatrixRow,
        ),
        (spark_history.history(of_spark), plain_history.history(judged), plain_history.TurnRow),
        (spark_history.against(of_spark, old), plain_history.against(judged, first), plain_history.ChangeRow),
        (spark_history.flakes(of_spark), plain_history.flakes(judged), plain_history.FlakeRow),
        (spark_clusters.of_judgements(of_spark), plain_clusters.of_judgements(judged), plain_clusters.ClusterRow),
    ):
        assert expected
        assert collected(made) == tuples(expected), row.__name__
        assert [(each.name, each.dataType) for each in made.schema] == [(c.name, c.dataType) for c in schema(row)]
    table.unpersist()
    of_spark.unpersist()


def test_asked_for_headers_only_one_line_of_a_file_is_read(tmp_path: Path) -> None:
    from zenoh_reports.pipeline.sources.results import ResultsSource

    file = night(tmp_path, "2026-01-01", header(), "no json\n")

    assert [row.type for row in ResultsSource.rows(file, {"type": frozenset({"header"})})] == ["header"]


@pytest.mark.parametrize("verdict", Verdict)
def test_only_verdicts_that_name_a_fault_are_clustered(tmp_path: Path, verdict: Verdict) -> None:
    file = night(tmp_path, "2026-01-01", header(), judgement(REQUIREMENT, verdict, "a cause"), FOOTER)
    found = plain_clusters.of_judgements(plain.judgements(rows(file)))

    faults = {"crash", "zombie", "panic", "hang", "fail", "flaky", "error", "warn"}
    assert [row.group for row in found] == ([verdict.value] if verdict.value in faults else [])


def test_causes_that_differ_in_values_are_one_signature_and_in_a_word_one_cluster() -> None:
    said = [
        plain_clusters.SaidRow(str(index), "fail", cause, f"node {index % 2}")
        for index, cause in enumerate(
            [
                "init.size: 4 where at most 65535 is required by the page",
                "init.size: 9 where at most 65535 is required by the page",
                "init.size: 9 where at most 65535 was required by the page",
                "the link was reset before any answer came",
            ]
        )
    ]
    found = plain_clusters.clusters(said)

    assert sorted(row.findings for row in found) == [1, 1, 2]
    assert len({row.cluster for row in found}) == 2


@pytest.mark.needs("spark")
def test_a_full_disk_is_told_as_one_whatever_java_says(tmp_path: Path) -> None:
    from py4j.protocol import Py4JError

    from zenoh_reports.pipeline.places import told

    said = (
        "An error occurred while calling o650.parquet.\n: org.apache.spark.SparkException: Task failed while writing rows\n"
        "\tat org.apache.spark.X(X.scala:1)\n\t... 22 more\nCaused by: java.io.IOException: No space left on device\n\tat java.X\n"
    )
    with pytest.raises(CannotGoOn, match="the disk is full") as text, told("write table runs", "/t/runs"):
        raise Py4JError(said)

    assert "/t/runs" in str(text.value) and "java.io.IOException" in str(text.value)
    assert "o650" not in str(text.value) and "22 more" not in str(text.value)


@pytest.mark.needs("java", "spark")
def test_tables_of_another_layout_are_told_and_left(spark: SparkSession, tmp_path: Path) -> None:
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    old = tmp_path / job.RUNS.name / "day=2026-01-01" / "run=0123456789abcdef"
    old.mkdir(parents=True)
    (old / "part-0.parquet").write_bytes(b"")
    with pytest.raises(CannotGoOn, match="as an older version laid them out"):
        Store(tmp_path).log(spark)


def test_what_is_not_wanted_is_left_out_while_reading(tmp_path: Path) -> None:
    from zenoh_reports.pipeline.sources.results import ResultsSource

    file = night(tmp_path, "2026-01-01", header(), "no json\n", judgement(REQUIREMENT, Verdict.PASS))
    source = ResultsSource({"paths": json.dumps([file]), "wanted": json.dumps({"type": ["fault", "judgement"]})})
    reader = source.reader(source.schema())
    rows_ = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]

    assert [(row["type"], row["line"]) for row in rows_] == [("fault", 2), ("judgement", 3)]
