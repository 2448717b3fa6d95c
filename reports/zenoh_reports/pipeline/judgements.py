"""Results to runs, judgements and the matrix. Each stage equals its namesake in `zenoh_reports.plain.judgements`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.spec.requirement import Requirement
from zenoh_reports.plain.judgements import COLUMN, ID, SEPARATOR, UNOBSERVED, JudgementRow, MatrixRow, RunRow

from .remote import result_lines, split
from .sources import table
from .types import schema


def results(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """The lines of results files, read once each (`zenoh_results`)."""
    here, there = split(dict.fromkeys(files))
    found = [table(spark, "zenoh_results", here)] if here or not there else []
    if there:
        found.append(result_lines(spark, there))
    return found[0] if len(found) == 1 else found[0].unionByName(found[1])


def requirement_rows(spark: SparkSession, requirements: Iterable[Requirement]) -> DataFrame:
    """The denominator: every requirement, judged or not."""
    rows = [(each.id.partition("/")[0], each.id, str(each.level), each.says) for each in requirements]
    return spark.createDataFrame(rows, "page string, requirement string, level string, says string")


def shaped(table: DataFrame, row: type) -> DataFrame:
    """The table with exactly the columns of a row, cast to their types: a stage's contract, last in each."""
    return table.select(*(F.col(each.name).cast(each.dataType).alias(each.name) for each in schema(row)))


def content_id(*parts: Column) -> Column:
    """As `plain.judgements.content_id`."""
    return F.sha2(F.concat_ws(SEPARATOR, *(part.cast("string") for part in parts)), 256).substr(1, ID)


def runs(results: DataFrame) -> DataFrame:
    """One row a run; two files with the same content are one."""
    kind = F.col("type")
    judged = results.groupBy("run", "file").agg(F.count_if(kind == "judgement").alias("judgements"))
    first = judged.groupBy("run").agg(F.min(F.struct("file", "judgements")).alias("first")).select("run", "first.*")
    lines = results.where(kind != "judgement").join(first, on=["run", "file"])
    head = F.min_by(
        F.struct(*(F.col(name) for name in HEAD)), F.struct(kind != "header", "line")
    )  # fmt: skip
    foot = F.max_by(F.struct("names", "embargoed", "exit", "why"), F.when(kind == "footer", F.col("line")))
    made = lines.groupBy("run").agg(
        head.alias("head"),
        foot.alias("foot"),
        F.count_if(kind == "header").alias("headers"),
        F.count_if(kind == "footer").alias("footers"),
        F.first("judgements").alias("judgements"),
        F.count_if(kind == "fault").alias("faults"),
        F.min(F.when(kind == "fault", F.col("fault"))).alias("fault"),
        F.coalesce(F.sum(F.when(kind == "plan", F.size("names"))), F.lit(0)).alias("planned"),
    )
    ended = F.col("footers") > 0
    pending = F.when(ended, F.size("foot.names")).otherwise(
        F.greatest(F.lit(0), F.col("planned") - F.col("judgements"))
    )
    why = F.when(ended, F.col("foot.why")).when(F.col("headers") == 0, F.coalesce("fault", F.lit(""))).otherwise("")
    return shaped(
        made.select(
            "run", *(F.col(f"head.{name}").alias(name) for name in HEAD), (ended & (pending == 0)).alias("complete"),
            why.alias("why"), "judgements", "planned", pending.alias("pending"),
            F.coalesce("foot.embargoed", F.lit(0)).alias("embargoed"), F.coalesce("foot.exit", F.lit(-1)).alias("exit"), "faults",
        ),
        RunRow,
    )  # fmt: skip


HEAD = (
    "day", "file", "target", "version", "version_order", "kind", "digest", "date", "role", "reach", "spec", "harness", "seed",
)  # fmt: skip
"""What a run's header says of it."""


def judgements(results: DataFrame) -> DataFrame:
    """One row a judgement; a run that was read twice counts once."""
    return said(results).dropDuplicates(["id"])


def said(results: DataFrame) -> DataFrame:
    """The same of runs that were read once."""
    lines = results.where(F.col("type") == "judgement").withColumn("id", content_id(F.col("run"), F.col("line")))
    return shaped(lines, JudgementRow)


def newest(judgements: DataFrame) -> DataFrame:
    """The judgements of the newest run of each target, version, kind, role and profile: by day, then by run."""
    column = (*COLUMN, "role")
    every = judgements.select(*column, "day", "run").distinct()  # a few rows a run, before anything is sorted
    last = every.groupBy(*column).agg(F.max(F.struct("day", "run")).alias("last")).select(*column, "last.*")
    return shaped(judgements.join(F.broadcast(last), on=[*column, "day", "run"], how="left_semi"), JudgementRow)


def matrix(judgements: DataFrame, requirements: DataFrame) -> DataFrame:
    """Each requirement in each column; what nothing judged is there as `not-observed`."""
    unobserved = F.col("verdict").isin(*UNOBSERVED)
    said = judgements.groupBy("requirement", *COLUMN, "verdict").agg(
        F.max("severity").alias("severity"),
        F.max("cause").alias("cause"),
        F.count("*").alias("judgements"),
        F.count_if(~unobserved).alias("judged"),
        F.count_if(unobserved).alias("unobserved"),
        F.collect_set("run").alias("seen"),
    )
    worst = said.groupBy("requirement", *COLUMN).agg(
        *(F.max_by(name, "severity").alias(name) for name in ("verdict", "cause", "judgements")),
        F.sum("judged").alias("judged"),
        F.sum("unobserved").alias("unobserved"),
        F.size(F.array_distinct(F.flatten(F.collect_list("seen")))).alias("runs"),
    )
    every = requirements.join(judgements.select(*COLUMN, "version_order").distinct(), how="cross")
    cells = every.join(worst, on=["requirement", *COLUMN], how="left")
    return shaped(cells.fillna({"verdict": Verdict.NOT_OBSERVED.value, "cause": ""}).fillna(0), MatrixRow)
