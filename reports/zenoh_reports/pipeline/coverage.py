"""Judgements to one row a requirement and target."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_conformance.requirement import Requirement


def requirement_rows(spark: SparkSession, requirements: Iterable[Requirement]) -> DataFrame:
    """The denominator: every requirement, judged or not."""
    rows = [(each.id, str(each.level), each.id.partition("/")[0], each.says) for each in requirements]
    return spark.createDataFrame(rows, "requirement string, level string, page string, says string")


def by_requirement(judgements: DataFrame, requirements: DataFrame) -> DataFrame:
    """One row a requirement and target: the worst verdict, its cause, and how many judgements it stands on.

    A requirement that no judgement of a target names is there too, as `not-observed` with 0 judgements.
    """
    targets = judgements.select("target", "version").distinct()
    worst = judgements.groupBy("requirement", "target", "version").agg(
        F.count("*").alias("judgements"),
        F.max_by("verdict", "severity").alias("verdict"),
        F.max_by("cause", "severity").alias("cause"),
        F.max("severity").alias("severity"),
    )
    every = requirements.join(targets, how="cross")
    return (
        every.join(worst, on=["requirement", "target", "version"], how="left")
        .select(
            "page", "requirement", "level", "says", "target", "version",
            F.coalesce("verdict", F.lit("not-observed")).alias("verdict"),
            F.coalesce("judgements", F.lit(0)).alias("judgements"),
            F.coalesce("cause", F.lit("")).alias("cause"),
        )
        .orderBy("page", "requirement", "target", "version")
    )  # fmt: skip
