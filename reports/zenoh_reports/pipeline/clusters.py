"""Findings clustered: exact signatures by Spark, however many findings there are; MinHash over the signatures, which are few.

Equals `zenoh_reports.plain.clusters`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_reports.plain.clusters import BAD, ClusterRow, SaidRow, SignatureRow, joined

from .judgements import content_id, shaped
from .types import batches, schema


def shape(cause: Column) -> Column:
    """As `plain.clusters.shape`."""
    return F.regexp_replace(cause, r"(?iU)0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+", "#")


def of_judgements(judgements: DataFrame) -> DataFrame:
    """The bad judgements, clustered."""
    return clusters(bad(judgements))


def bad(judgements: DataFrame) -> DataFrame:
    """The bad judgements, as they are clustered."""
    found = judgements.where(F.col("verdict").isin(*BAD)).withColumn("group", F.col("verdict"))
    return shaped(found.withColumn("where", F.concat_ws(" ", "kind", "target", "version")), SaidRow)


def clusters(said: DataFrame) -> DataFrame:
    """One row a signature, with the cluster that it belongs to. The signatures, not the findings, are brought into one task."""
    return of_signatures(signatures(said))


def signatures(said: DataFrame) -> DataFrame:
    """Exact signatures by place: what clusters of many targets are made of."""
    signed = said.withColumn("shape", shape(F.col("cause"))).withColumn(
        "signature", content_id(F.col("group"), F.col("shape"))
    )
    found = signed.groupBy("signature", "where").agg(
        F.min("group").alias("group"), F.min("shape").alias("shape"), F.count("*").alias("findings"),
        F.min("id").alias("example"),
    )  # fmt: skip
    return shaped(found, SignatureRow)


def of_signatures(signatures: DataFrame) -> DataFrame:
    """Clusters of exact signatures of all places."""
    exact = signatures.groupBy("signature").agg(
        F.min("group").alias("group"), F.min("shape").alias("shape"), F.sum("findings").alias("findings"),
        F.count_distinct("where").alias("places"), F.min("example").alias("example"),
    )  # fmt: skip
    return (
        shaped(exact.withColumn("cluster", F.lit("")), ClusterRow)
        .repartition(1)
        .mapInArrow(_joined, schema(ClusterRow))
    )


def _joined(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    exact = [ClusterRow(**row) for part in parts for row in part.to_pylist()]
    yield from batches(ClusterRow, joined(exact))
