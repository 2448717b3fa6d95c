"""Captured traffic judged by the laws, at any size; equals `zenoh_reports.plain.audit`.

One pass in Python makes all facts (`facts`), from which every table follows by column functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_harness.files.captures import PORTS
from zenoh_reports.plain import audit
from zenoh_reports.plain.audit import AuditRow
from zenoh_reports.plain.tables import (
    DeviationRow,
    ExtensionRow,
    FindingRow,
    LeftOutRow,
    NodeRow,
    ObservedRow,
    StatisticsRow,
)

from .judgements import shaped
from .traffic import by_flow, packet_rows
from .types import batches, rows_of, schema


def facts(packets: DataFrame, ports: Iterable[int] = (), tasks: int | None = None) -> DataFrame:
    """All that single connections say, and their handshakes; `across` makes the rest of it."""
    return by_flow(packets, tasks).mapInArrow(partial(_facts, PORTS | frozenset(ports)), schema(AuditRow))


def across(facts: DataFrame) -> DataFrame:
    """The facts, with what the laws say that look across connections; the handshakes are used up.

    Handshakes are brought into one task: a few rows a session. Keep `facts` (cache, or a table) before: it is read twice.
    """
    order = ("file", "packet", "connection", "began", "kind", "data")
    wide = (
        facts.where("what = 'handshake'")
        .repartition(1)
        .sortWithinPartitions(*order)
        .mapInArrow(_wide, schema(AuditRow))
    )
    return facts.where("what != 'handshake'").unionByName(wide)


def _facts(ports: frozenset[int], parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches(AuditRow, _fact_rows(ports, parts))


def _fact_rows(ports: frozenset[int], parts: Iterator[pa.RecordBatch]) -> Iterator[AuditRow]:
    counted: Counter[str] = Counter()
    yield from audit.audit_rows(packet_rows(parts), ports, counted)
    yield from audit.counted_rows(counted)


def _wide(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches(AuditRow, audit.wide_rows(rows_of(AuditRow, parts)))


def findings(facts: DataFrame) -> DataFrame:
    """Each deviation, once: two captures of the same packets say it twice."""
    return shaped(facts.where("what = 'finding'").dropDuplicates(["id"]), FindingRow)


def nodes(facts: DataFrame) -> DataFrame:
    """Who was seen: address and ZID, roles, hints of what it is, how often, from when to when."""
    found = facts.where("what = 'node'").groupBy("node", "zid").agg(
        F.array_join(F.array_sort(F.collect_set("detail")), "; ").alias("says"),
        F.array_join(F.array_sort(F.collect_set("sender")), " ").alias("sides"),
        F.sum("amount").alias("handshakes"),
        F.min("time").alias("first"),
        F.max("time").alias("last"),
    )  # fmt: skip
    return shaped(found, NodeRow)


def statistics(facts: DataFrame) -> DataFrame:
    """Messages by minute, node and kind: how many, how large."""
    found = facts.where("what = 'messages'").groupBy(F.col("time").alias("minute"), "node", "zid", "sender", "kind").agg(
        F.sum("amount").alias("messages"), F.sum("size").alias("size"), F.min("least").alias("least"), F.max("most").alias("most"),
    )  # fmt: skip
    return shaped(found, StatisticsRow)


def extensions(facts: DataFrame) -> DataFrame:
    """Which extensions which node puts on which messages, and how often."""
    found = facts.where("what = 'extension'").groupBy("node", "zid", "kind", F.col("detail").alias("extension"))
    return shaped(found.agg(F.sum("amount").alias("messages")), ExtensionRow)


def observed(facts: DataFrame, requirements: DataFrame) -> DataFrame:
    """Which requirements the captures could show at all: by how many subjects, how many findings."""
    judged = facts.where("what in ('subjects', 'finding')").groupBy("requirement").agg(
        F.sum(F.when(F.col("what") == "subjects", F.col("amount")).otherwise(0)).alias("subjects"),
        F.count_distinct(F.when(F.col("what") == "finding", F.col("id"))).alias("findings"),
    )  # fmt: skip
    every = requirements.join(judged, on="requirement", how="left").fillna(0)
    return shaped(every.withColumn("observed", F.col("subjects") > 0), ObservedRow)


def deviations(findings: DataFrame) -> DataFrame:
    """Findings by node and rule: how often, since when, and the first of them."""
    where = ("file", "packet", "connection", "cause")
    found = findings.groupBy("node", "zid", "requirement", "verdict", "signature").agg(
        F.count("*").alias("findings"),
        F.min("time").alias("first"),
        F.max("time").alias("last"),
        F.min(F.struct("time", *where)).alias("example"),
    )
    return shaped(found.select("*", *(f"example.{name}" for name in where)), DeviationRow)


def left_out(facts: DataFrame) -> DataFrame:
    """What was counted beside what was said, and how many packets there were in all."""
    counted = facts.where("what = 'counted'").groupBy(F.col("detail").alias("what"))
    return shaped(counted.agg(F.sum("amount").alias("amount")), LeftOutRow)
