"""Results files to one row a judgement."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.types import BooleanType, IntegerType, MapType, StringType, StructField, StructType

from zenoh_conformance.verdict import SEVERITY

LINE = StructType(
    [
        StructField("type", StringType()),
        *[
            StructField(name, StringType())
            for name in ("target", "version", "role", "profile", "link", "requirement", "level", "check")
        ],
        StructField("parameters", MapType(StringType(), StringType())),
        *[StructField(name, StringType()) for name in ("verdict", "reading", "cause", "end")],
        StructField("attempts", IntegerType()),
        StructField("embargo", BooleanType()),
        StructField("evidence", StringType()),
        StructField("repeat", StringType()),
    ]
)
"""A judgement's line (schemas/results.schema.json); header and footer have other shapes and are left out by `type`."""


def judgements(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """One row a judgement that may be told, over all files, with the severity of its verdict (the larger, the worse)."""
    severity = F.create_map(*[F.lit(part) for verdict, rank in SEVERITY.items() for part in (verdict.value, rank)])
    lines = spark.read.schema(LINE).json(list(files)).where((F.col("type") == "judgement") & ~F.col("embargo"))
    return lines.select(
        "target", "version", "role", "profile", "link", "requirement", "level", "check",
        F.map_entries("parameters").alias("parameters"), "verdict", severity[F.col("verdict")].alias("severity"),
        "reading", "cause", "end", "attempts", "evidence", "repeat",
    )  # fmt: skip
