"""The stored tables: what two writers, a killed writer and a copy leave; and tables of the release before."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_judgement_stages import FOOTER, REQUIREMENT, a_year, collected, header, judgement, night, tuples

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.plain import clusters, history
from zenoh_reports.plain import judgements as plain
from zenoh_reports.plain.results import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from zenoh_reports.pipeline.store import Store

pytestmark = pytest.mark.needs("java", "spark")
KEPT = Path(__file__).parent / "kept_tables"


def digests(spark: SparkSession, store: Store) -> dict[str, Any]:
    """The rows of each table, whatever the files are."""
    from zenoh_reports.pipeline import job

    log = store.log(spark)
    return {kept.name: collected(job.get(spark, store, kept, log)) for kept in (*job.OF_RUNS, *job.DERIVED)}


def plainly(files: list[str]) -> dict[str, Any]:
    """The same in plain Python."""
    lines = [row for file in files for row in rows(file)]
    judged = plain.judgements(lines)
    newest = plain.newest(judged)
    made = {
        "runs": plain.runs(lines), "judgements": judged, "matrix": plain.matrix(newest, requirements().values()),
        "history": history.history(judged), "flakes": history.flakes(judged),
        "judgement_clusters": clusters.of_judgements(newest), "results_faults": [],
    }  # fmt: skip
    return {name: tuples(table) for name, table in made.items()}


def test_night_after_night_the_tables_are_those_of_all_nights(spark: SparkSession, tmp_path: Path) -> None:
    """In order they are continued; a night that comes late, and one that is read again, are put into their places."""
    from zenoh_reports.pipeline import job
    from zenoh_reports.pipeline.store import Store

    files = a_year(tmp_path / "year", 6)
    store = Store(tmp_path / "tables")
    for part in (files[:2], files[4:8], files[2:4], files[:4], files[8:]):
        job.report(spark, part, store.folder)

    derived = store.log(spark).derived
    assert derived is not None and len(derived.chain) == 2  # the late night began anew, the last one went on
    assert digests(spark, store) == plainly(files)
