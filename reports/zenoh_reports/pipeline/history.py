"""What changed. Each stage equals its namesake in `zenoh_reports.plain.history`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.window import Window

from zenoh_reports.plain.history import FLAKY, ChangeRow, FlakeRow, FlakeState, TurnRow
from zenoh_reports.plain.judgements import SUBJECT

from .judgements import shaped


def of_runs(judgements: DataFrame, names: Sequence[str], last: DataFrame | None = None) -> DataFrame:
    """For each value of these columns one judgement a run, the worst, with the verdict of the run before (`before`, null at first).

    `last`: day, run and verdict of the run that came before all of these, for each value; it gets no row.
    """
    said = dict.fromkeys(("severity", "cause", "id", *names, "version", "verdict", "attempts"))
    key = F.xxhash64(*names).alias(KEY[0]), F.hash(*names).alias(KEY[1])
    worst = F.max(F.struct(*said)).alias("worst")
    # one shuffle and one sort for both: the groups lie in the order of the window
    a_run = judgements.select("day", "run", *said, *key).repartition(*KEY).groupBy(*KEY, "day", "run").agg(worst)
    verdicts = a_run.withColumn("verdict", F.col("worst.verdict"))
    if last is not None:
        verdicts = verdicts.unionByName(last.select(*key, "day", "run", "verdict"), allowMissingColumns=True)
    before = F.lag("verdict").over(Window.partitionBy(*KEY).orderBy("day", "run"))
    rows = verdicts.withColumn("before", before).where(F.col("worst").isNotNull())
    return rows.select("day", "run", "worst.*", "before")


KEY = ("xxhash", "murmur")
"""96 bits that stand for what is grouped by: numbers are sorted at a fraction of what eight texts take that mostly begin alike."""


VERSIONED = (*SUBJECT, "version", "version_order")


def history(judgements: DataFrame) -> DataFrame:
    """Where verdicts turned."""
    return turns(of_runs(judgements, SUBJECT))


def turns(runs: DataFrame) -> DataFrame:
    """The same of what `of_runs` makes of subjects."""
    turned = runs.where(F.col("before").isNull() | (F.col("before") != F.col("verdict")))
    return shaped(turned.fillna({"before": ""}), TurnRow)


def newest(runs: DataFrame, names: Sequence[str]) -> DataFrame:
    """Of each value of these columns the newest day, run and verdict."""
    last = F.max(F.struct("day", "run", "verdict")).alias("last")
    return runs.groupBy(*names).agg(last).select(*names, "last.*")


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
    return shaped(flake_states(judgements), FlakeRow)


def flake_states(judgements: DataFrame, earlier: DataFrame | None = None) -> DataFrame:
    """The rates, with what the next runs need to go on; `earlier`: those of all runs before, which go on here."""
    runs = of_runs(judgements, VERSIONED, earlier)
    made = runs.select(
        *VERSIONED, "day", "run", "verdict", F.lit(1).alias("runs"), (F.col("verdict") == FLAKY).cast("int").alias("flaky"),
        F.coalesce((F.col("before") != F.col("verdict")).cast("int"), F.lit(0)).alias("changes"),
        (F.col("attempts") > 1).cast("int").alias("retried"),
    )  # fmt: skip
    counts = ("runs", "flaky", "changes", "retried")
    if earlier is not None:
        made = made.unionByName(earlier.select(*made.columns))
    last = F.max(F.struct("day", "run", "verdict")).alias("last")
    summed = made.groupBy(*VERSIONED).agg(last, *(F.sum(name).alias(name) for name in counts))
    wavering = (F.col("flaky") + F.col("changes")) / F.col("runs")
    return shaped(summed.select("*", "last.*", F.least(F.lit(1.0), wavering).alias("rate")), FlakeState)
