"""The stored tables and files as Spark DataFrames, for notebooks and jobs of your own.

    from pyspark.sql import SparkSession
    from zenoh_reports import notebook

    spark = SparkSession.builder.getOrCreate()
    flaky = notebook.flakes(spark, "s3a://bucket/tables").where("rate > 0.1").orderBy("rate", ascending=False)

Each function takes a session and returns a DataFrame whose columns are those of the row type that its docstring names; `columns`
prints them. Nothing is written and nothing is computed before Spark is asked for rows. Folders and files are paths or URIs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from zenoh_reports.plain.audit import AuditRow
from zenoh_reports.plain.clusters import ClusterRow
from zenoh_reports.plain.history import ChangeRow, FlakeRow, TurnRow
from zenoh_reports.plain.judgements import JudgementRow, MatrixRow, RunRow
from zenoh_reports.plain.results import FaultRow, ResultRow

from .pipeline import audit, campaigns, captures, derive, history, job, judgements, traffic
from .pipeline.commits import AUDIT
from .pipeline.store import Kept, Store
from .pipeline.types import schema

__all__ = [
    "against", "audit_findings", "campaign_facts", "capture_facts", "clusters", "columns", "coverage_over_time", "faults", "findings",
    "flakes", "lines", "matrix", "runs", "times_to_find", "turns", "verdicts",
]  # fmt: skip


def columns(row: type) -> str:
    """Return the columns of a row type as Spark writes a schema, such as `run string, day string`."""
    return ", ".join(f"{each.name} {each.dataType.simpleString()}" for each in schema(row))


def _table_of(spark: SparkSession, folder: str | Path, kept: Kept) -> DataFrame:
    return job.get(spark, Store(folder), kept)


def runs(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return the runs in stored tables, one a row."""
    return _table_of(spark, folder, job.RUNS)


def verdicts(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return the judgements in stored tables, one a row."""
    return _table_of(spark, folder, derive.JUDGEMENTS)


def faults(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return the lines of results files that could not be read."""
    return _table_of(spark, folder, job.FAULTS)


def matrix(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return each requirement in each target, version, kind and profile, by its newest run."""
    return _table_of(spark, folder, derive.MATRIX)


def turns(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return the runs in which a check's verdict was another than in the run before."""
    return _table_of(spark, folder, derive.HISTORY)


def flakes(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return how often each check of each version wavers."""
    return _table_of(spark, folder, derive.FLAKES)


def clusters(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return the causes of bad judgements of the newest runs, those alike in one cluster."""
    return _table_of(spark, folder, derive.CLUSTERS)


def against(spark: SparkSession, folder: str | Path, baseline: str | Path) -> DataFrame:
    """Return the checks whose newest verdict is another than in the tables `baseline`: new, gone, worse or better."""
    return history.against(verdicts(spark, folder), verdicts(spark, baseline))


def audit_findings(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return the findings of all audits in stored tables, with the columns `day` and `audit` beside those of the row."""
    return Store(folder).newest(spark, captures.FINDINGS, AUDIT)


def campaign_facts(spark: SparkSession, folder: str | Path) -> DataFrame:
    """Return the facts of fuzzing campaigns in stored tables, for `coverage_over_time` and `times_to_find`."""
    return campaigns.facts(spark, Store(folder))


def coverage_over_time(facts: DataFrame) -> DataFrame:
    """Return how far each round of campaigns was at a time."""
    return campaigns.progress(facts)


def times_to_find(facts: DataFrame) -> DataFrame:
    """Return how long campaigns took to find each signature."""
    return campaigns.times_to_find(facts)


def lines(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return the lines of results files, without any tables."""
    return judgements.results(spark, files)


def capture_facts(spark: SparkSession, files: Sequence[str], ports: Iterable[int] = ()) -> DataFrame:
    """Return all that captures say: findings, nodes, messages by minute, subjects of each law. Persist it: it is read several times."""
    return audit.across(audit.facts(traffic.packets(spark, files, packed=True), ports))


def findings(facts: DataFrame) -> DataFrame:
    """Return the findings among the facts of captures, each once."""
    return audit.findings(facts)


def _describe() -> None:
    """Put the columns into the docstrings, so that `help` shows them and no list of them can be wrong."""
    from zenoh_reports.plain.campaigns import CampaignRow, FoundRow, ProgressRow
    from zenoh_reports.plain.tables import FindingRow

    rows = {
        runs: RunRow, verdicts: JudgementRow, faults: FaultRow, matrix: MatrixRow, turns: TurnRow, flakes: FlakeRow,
        clusters: ClusterRow, against: ChangeRow, lines: ResultRow, capture_facts: AuditRow, findings: FindingRow,
        audit_findings: FindingRow, campaign_facts: CampaignRow, coverage_over_time: ProgressRow, times_to_find: FoundRow,
    }  # fmt: skip
    for function, row in rows.items():
        function.__doc__ = f"{function.__doc__}\n\n    Columns ({row.__name__}): {columns(row)}\n    "


_describe()
