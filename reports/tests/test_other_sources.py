"""Campaigns, recordings, vectors, requirements: rows, faults as rows, and Spark's tables equal to the plain ones."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.files import campaigns as files
from zenoh_harness.files import conversations
from zenoh_reports.plain import campaigns, denominators, recordings
from zenoh_vectors.loader import data_folder, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORDINGS = sorted((Path(__file__).parents[2] / "conformance" / "tests" / "recordings").glob("*.jsonl"))


def campaign(folder: Path, *, seed: int = 1, found: tuple[tuple[float, str], ...] = ((3.5, "a"), (9.0, "b"))) -> Path:
    """A folder with one run; what is called `secret` is under embargo."""
    folder.mkdir(parents=True)
    files.write_manifest(folder, {
        "id": f"decode-{seed}", "kind": "codec", "oracle": "decode", "targets": ["reference"], "seed": seed, "seconds": 60,
        "jobs": 1, "versions": {}, "command": "zconform fuzz", "began": f"2026-04-0{seed}T00:00:00+00:00",
    })  # fmt: skip
    files.add_event(folder, "begin", 0.0, {"corpus": 3})
    files.add_event(folder, "progress", 5.0, {"inputs": 1000, "edges": 50 + seed, "corpus": 9, "rate": 200.0})
    rows = {}
    for number, (seconds, name) in enumerate(found):
        id_ = f"{number:012x}"
        secret = name == "secret"
        rows[id_] = files.FindingRow(
            id=id_, oracle="decode", rule="r", signature=name, why=f"why {name}", input="00", embargo=secret
        )
        files.add_event(
            folder, "finding", seconds, {"id": id_} if secret else {"id": id_, "signature": name, "why": f"why {name}"}
        )
    files.write_ledger(folder, rows)
    files.add_event(folder, "end", 60.0, {"inputs": 9000, "edges": 70, "corpus": 12})
    return folder / files.MANIFEST


def all_of(folder: Path) -> list[str]:
    secret = campaign(folder / "c", seed=3, found=((1.0, "secret"), (2.0, "a")))
    cut = campaign(folder / "d", seed=4)
    with (cut.parent / files.EVENTS).open("a") as out:
        out.write('no json\n{"event": "progress", "sec')
    bad = folder / "bad" / files.MANIFEST
    bad.parent.mkdir()
    bad.write_text("{")
    return [
        str(campaign(folder / "a")),
        str(campaign(folder / "b", seed=2, found=((7.5, "a"),))),
        str(secret),
        str(cut),
        str(bad),
    ]


def test_times_to_find_count_the_runs_that_found_nothing(tmp_path: Path) -> None:
    rows = [row for file in all_of(tmp_path) for row in campaigns.rows(file)]
    found = {row.signature: (row.runs, row.of, row.first, row.middle) for row in campaigns.times_to_find(rows)}

    assert found == {"a": (4, 4, 2.0, 3.5), "b": (2, 4, 9.0, 9.0)}


def test_what_is_under_embargo_is_a_number(tmp_path: Path) -> None:
    rows = [row for file in all_of(tmp_path) for row in campaigns.rows(file)]

    assert "secret" not in repr(rows)
    assert [row.count for row in rows if row.type == "embargoed"] == [1]
    ids = {row.finding for row in rows if row.day == "2026-04-03"}
    assert ids == {"", f"{1:012x}"}


def test_a_campaign_that_is_cut_off_says_where(tmp_path: Path) -> None:
    rows = [row for file in all_of(tmp_path) for row in campaigns.rows(file)]
    faults = sorted(
        (Path(row.file).parent.name, row.line, row.fault.split(":")[0]) for row in rows if row.type == "fault"
    )

    assert faults == [("bad", 0, "cannot be read"), ("d", 6, "is no JSON"), ("d", 7, "cut off")]


def test_a_recording_is_its_events(tmp_path: Path) -> None:
    path = RECORDINGS[0]
    rows = list(recordings.rows(str(path)))
    damaged = tmp_path / "x.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    damaged.write_text("".join([*lines[:5], "{}\n", *lines[5:9], lines[9][:20]]))
    other = list(recordings.rows(str(damaged)))

    assert [(row.seconds, row.connection, row.data) for row in rows] == [
        (event.time, event.connection, event.data) for event in conversations.read(path)
    ]
    assert [row.line for row in other if row.fault] == [6, 11]
    assert len([row for row in other if not row.fault]) == 8
    assert all(row.fault for place in (tmp_path, tmp_path / "none") for row in recordings.rows(str(place)))


def test_the_denominators_are_whole() -> None:
    assert [row.id for row in denominators.requirement_rows()] == list(requirements())
    vectors = [row for file in data_folder().rglob("*.json") for row in denominators.vector_rows(str(file))]
    assert {row.id for row in vectors} == {vector.id for vector in load()}
    assert not any(row.fault for row in vectors)


def collected(table: DataFrame) -> list[str]:
    return sorted(repr(tuple(row)) for row in table.collect())


def plainly(rows: Any) -> list[str]:
    def values(row: Any) -> tuple[Any, ...]:
        return (
            tuple(row) if isinstance(row, tuple) else tuple(getattr(row, each.name) for each in dataclasses.fields(row))
        )

    return sorted(repr(values(row)) for row in rows)


@pytest.mark.needs("java", "spark")
def test_sources_and_stages_of_spark_make_the_plain_tables(spark: SparkSession, tmp_path: Path) -> None:
    from zenoh_reports.pipeline import campaigns as stages
    from zenoh_reports.pipeline.sources import table
    from zenoh_reports.pipeline.store import Store

    manifests = all_of(tmp_path / "in")
    in_plain = [row for file in manifests for row in campaigns.rows(file)]
    b = list(campaigns.rows(manifests[1]))
    of_spark = table(spark, "zenoh_campaign", manifests).cache()
    few = sorted(map(str, data_folder().rglob("*.json")))[:3]
    recorded = [str(RECORDINGS[0]), str(tmp_path)]
    for made, expected in (
        (of_spark, in_plain),
        (stages.progress(of_spark), campaigns.progress(in_plain)),
        (stages.times_to_find(of_spark), campaigns.times_to_find(in_plain)),
        (table(spark, "zenoh_requirements"), denominators.requirement_rows()),
        (table(spark, "zenoh_vectors", few), [row for file in few for row in denominators.vector_rows(file)]),
        (table(spark, "zenoh_conversation", recorded), [row for file in recorded for row in recordings.rows(file)]),
    ):
        assert collected(made) == plainly(expected)

    store, first = Store(tmp_path / "tables"), of_spark.where(f"campaign = '{in_plain[0].campaign}'")
    first.write.partitionBy("day", "campaign").parquet(store.place(stages.FACTS))  # as releases before the log kept it
    assert stages.keep(spark, [tmp_path / "in" / "b"], store) == 1
    assert {row.campaign for row in stages.facts(spark, store).collect()} == {row.campaign for row in in_plain[:1] + b}
    for _ in range(2):
        assert stages.keep(spark, [tmp_path / "in"], store) == len(manifests)
        assert (len(store.log(spark).by_commit), stages.facts(spark, store).count()) == (2, len(in_plain))
    of_spark.unpersist()


def test_json_of_a_manifest_in_a_folder_is_found(tmp_path: Path) -> None:
    from zenoh_reports.pipeline.campaigns import manifests

    file = campaign(tmp_path / "x" / "decode")
    assert manifests([tmp_path]) == [str(file)]
    assert json.loads(file.read_text())["id"] == "decode-1"
