"""The job over captures: files to facts, facts to kept tables, and the small tables that are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.plain.captures import AuditTables, CaptureRow, audit_id, capture_rows
from zenoh_reports.plain.clusters import ClusterRow, SaidRow
from zenoh_reports.plain.tables import (
    DeviationRow,
    ExtensionRow,
    FindingRow,
    LeftOutRow,
    NodeRow,
    ObservedRow,
    StatisticsRow,
)  # fmt: skip

from . import audit as stages
from . import remote
from .clusters import clusters
from .commits import AUDIT, CommitLog, CommitRow, new_commit
from .judgements import requirement_rows, shaped
from .places import told
from .store import Kept, Store
from .traffic import packets
from .types import schema

CAPTURES: Final = Kept("captures", CaptureRow)
FINDINGS: Final = Kept("findings", FindingRow)
DEVIATIONS: Final = Kept("deviations", DeviationRow)
NODES: Final = Kept("nodes", NodeRow)
STATISTICS: Final = Kept("statistics", StatisticsRow)
EXTENSIONS: Final = Kept("extensions", ExtensionRow)
OBSERVED: Final = Kept("observed", ObservedRow)
CLUSTERS: Final = Kept("finding_clusters", ClusterRow)
LEFT_OUT: Final = Kept("left_out", LeftOutRow)


def audit(
    spark: SparkSession, files: Sequence[str], folder: str | Path, ports: Iterable[int] = (),
    step: Callable[[str], None] = lambda name: None,
) -> AuditTables:  # fmt: skip
    """Captures, all of this machine or all with a URI, to all tables under `folder`; what is to be shown is handed back.

    Raises CannotGoOn.
    """
    with told("judge the captures", str(folder)):
        step("packets to facts")
        there = remote.split(files)[1]
        captures = remote.capture_rows(spark, there) if there else capture_rows(files)
        read = remote.packets(spark, captures) if there else packets(spark, files, packed=True)
        first = stages.facts(read, ports).persist()
        facts = stages.across(first).persist()
        try:
            return _keep(spark, facts, captures, Store(folder), step)
        finally:
            facts.unpersist()
            first.unpersist()


def _keep(
    spark: SparkSession, facts: DataFrame, captures: Sequence[CaptureRow], store: Store, step: Callable[[str], None]
) -> AuditTables:
    when = facts.where("time > 0").agg(F.min("time")).collect()[0][0]
    row = CommitRow(new_commit(), AUDIT, audit_id(captures), day_of(when))
    step("tables")
    found = stages.findings(facts)
    of = (
        (found, FINDINGS), (stages.deviations(found), DEVIATIONS), (stages.nodes(facts), NODES),
        (stages.statistics(facts), STATISTICS), (stages.extensions(facts), EXTENSIONS), (stages.left_out(facts), LEFT_OUT),
        (stages.observed(facts, requirement_rows(spark, requirements().values())), OBSERVED),
        (clusters(said(found)), CLUSTERS), (rows_as(spark, captures, CaptureRow), CAPTURES),
    )  # fmt: skip
    for table, kept in of:
        append(store, table, kept, row)
    store.commit(spark, [row])

    def stored(kept: Kept) -> DataFrame:
        return store.rows(spark, kept, CommitLog([]), [row.commit])

    def in_order(kept: Kept) -> list[Any]:
        return sorted((kept.row(*each) for each in stored(kept).collect()), key=repr)

    messages, subjects = (
        stored(kept).agg(F.sum(name)).collect()[0][0] or 0
        for kept, name in ((STATISTICS, "messages"), (OBSERVED, "subjects"))
    )
    return AuditTables(
        captures, in_order(FINDINGS), in_order(DEVIATIONS), in_order(NODES), in_order(LEFT_OUT), messages, subjects
    )


def append(store: Store, table: DataFrame, kept: Kept, row: CommitRow) -> None:
    """Write a table of an audit, with its day and its name. Raises CannotGoOn."""
    named = table.withColumns({"day": F.lit(row.day), AUDIT: F.lit(row.name)})
    store.append(named.coalesce(1), kept, row.commit, ("day", AUDIT))


def said(findings: DataFrame) -> DataFrame:
    """Findings as they are clustered: within a law, by node."""
    return shaped(findings.withColumns({"group": F.col("law"), "where": F.col("node")}), SaidRow)


def rows_as(spark: SparkSession, rows: Sequence[Any], row: type) -> DataFrame:
    """A few rows as a table."""
    names = schema(row).names
    return spark.createDataFrame([tuple(getattr(each, name) for name in names) for each in rows], schema(row))


def day_of(time: int | None) -> str:
    """The day of a time in nanoseconds, UTC; `unknown` without any."""
    return datetime.fromtimestamp(time / 1e9, UTC).date().isoformat() if time else "unknown"
