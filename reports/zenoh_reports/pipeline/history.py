"""What changed. Each stage equals its namesake in `zenoh_reports.plain.history`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.window import Window

from zenoh_reports.plain.history import FLAKY, ChangeRow, FlakeRow, TurnRow
from zenoh_reports.plain.judgements import SUBJECT

from .judgements import shaped


def of_runs(judgements: DataFrame, names: Sequence[str]) -> DataFrame:
    """For each value of these columns one judgement a run, the worst, with the verdict of the run before (`before`, null at first)."""
    said = dict.fromkeys(("severity", "cause", "id", *names, "version", "verdict", "attempts"))
    keyed = judgements.select("day", "run", *said, F.xxhash64(*names).alias(KEY[0]), F.hash(*names).alias(KEY[1]))
    worst = F.max(F.struct(*said)).alias("worst")
    # one shuffle and one sort for both: the groups lie in the order of the window
    a_run = keyed.repartition(*KEY).groupBy(*KEY, "day", "run").agg(worst)
    before = F.lag("worst.verdict").over(Window.partitionBy(*KEY).orderBy("day", "run"))
    return a_run.withColumn("before", before).select("day", "run", "worst.*", "before")


KEY = ("xxhash", "murmur")
"""96 bits that stand for what is grouped by: numbers are sorted at a fraction of what eight texts take that mostly begin alike."""


def history(judgements: DataFrame) -> DataFrame:
    """Where verdicts turned."""
    turned = of_runs(judgements, SUBJECT).where(F.col("before").isNull() | (F.col("before") != F.col("verdict")))
    return shaped(turned.fillna({"before": ""}), TurnRow)


def against(judgements: DataFrame, baseline: DataFrame) -> DataFrame:
    """What is new, gone, worse or better than in the baseline; what says the same is left out."""
    now = _last(judgements).select(*SUBJECT, F.struct("verdict", "cause", "severity").alias("now"))
    then = _last(baseline).select(*SUBJECT, F.struct("verdict", "severity").alias("then"))
    both = now.join(then, on=list(SUBJECT), how="full_outer")
    change = (
        F.when(F.col("then").isNull(), "new")
        .when(F.col("now").isNull(), "gone")
        .when(F.col("now.severity") > F.col("then.severity"), "worse")
        .otherwise("better")
    )
    text = both.select(
        *SUBJECT, F.coalesce("now.verdict", F.lit("")).alias("verdict"), F.coalesce("now.cause", F.lit("")).alias("cause"),
        F.coalesce("then.verdict", F.lit("")).alias("before"), change.alias("change"),
    )  # fmt: skip
    return shaped(text.where(F.col("verdict") != F.col("before")), ChangeRow)


def _last(judgements: DataFrame) -> DataFrame:
    last = F.max_by(F.struct("verdict", "cause", "severity"), F.struct("day", "run")).alias("last")
    return of_runs(judgements, SUBJECT).groupBy(*SUBJECT).agg(last).select(*SUBJECT, "last.*")


def flakes(judgements: DataFrame) -> DataFrame:
    """The rate of each check of each version."""
    names = (*SUBJECT, "version", "version_order")
    text = of_runs(judgements, names).groupBy(*names).agg(
        F.count("*").alias("runs"),
        F.count_if(F.col("verdict") == FLAKY).alias("flaky"),
        F.count_if(F.col("before") != F.col("verdict")).alias("changes"),
        F.count_if(F.col("attempts") > 1).alias("retried"),
    )  # fmt: skip
    wavering = (F.col("flaky") + F.col("changes")) / F.col("runs")
    return shaped(text.withColumn("rate", F.least(F.lit(1.0), wavering)), FlakeRow)
