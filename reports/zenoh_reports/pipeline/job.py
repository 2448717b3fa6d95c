"""The job over results: files to kept tables, kept tables to matrix, history and flake rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_reports.plain.judgements import RunRow
from zenoh_reports.plain.results import FaultRow

from . import judgements
from .commits import OLD, REPLACES, RUN, CommitLog, CommitRow, better, new_commit
from .derive import CLUSTERS, FLAKES, HISTORY, JUDGEMENTS, MATRIX, STORED, derive, read
from .judgements import shaped
from .places import location, told
from .store import Kept, Store

RUNS: Final = Kept("runs", RunRow)
FAULTS: Final = Kept("results_faults", FaultRow)
OF_RUNS: Final = (RUNS, JUDGEMENTS, FAULTS)
DERIVED: Final = (MATRIX, HISTORY, FLAKES, CLUSTERS)
ENDED: Final = 1 << 40
"""What a footer adds to the version of a run."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a job made, in numbers."""

    runs: int
    judgements: int
    faults: int
    """Lines that were left out, named in the table `results_faults`."""
    folder: str

    def __str__(self) -> str:
        left = f", {self.faults} lines left out (table results_faults)" if self.faults else ""
        return f"{self.runs} run{'s' * (self.runs != 1)}, {self.judgements} judgements{left}: tables in {self.folder}"


def keep_results(spark: SparkSession, files: Sequence[str], store: Store) -> None:
    """Read results files into the kept tables; a run that they have as whole already is left out. Raises CannotGoOn."""
    lines = judgements.results(spark, files).cache()
    commit = new_commit()
    try:
        with told("read the results"):
            found = _runs(lines, commit)
        fresh = {row.name for row in better(store.log(spark), [row for row, _ in found])}
        wanted = [(row.name, file) for row, file in found if row.name in fresh]
        if not wanted:
            return
        once = spark.createDataFrame(wanted, "run string, file string")
        rows = lines.join(F.broadcast(once), on=["run", "file"], how="left_semi")
        store.append(judgements.runs(rows).coalesce(1), RUNS, commit)
        store.append(judgements.said(rows), JUDGEMENTS, commit)
        store.append(shaped(rows.where("type = 'fault'"), FaultRow).coalesce(1), FAULTS, commit)
        store.commit(spark, [row for row, _ in found if row.name in fresh])
    finally:
        lines.unpersist()


def _runs(lines: DataFrame, commit: str) -> list[tuple[CommitRow, str]]:
    """Each run once with the file that has the most of it: a copy counts once."""
    ended = F.max((F.col("type") == "footer").cast("long")) * F.lit(ENDED)
    counts = (F.count_if(F.col("type") == kind).alias(kind) for kind in ("judgement", "fault"))
    every = lines.groupBy("run", "file").agg(
        F.max("day").alias("day"), (ended + F.max("line")).alias("version"), *counts
    )
    best: dict[str, tuple[CommitRow, str]] = {}
    for row in sorted(every.collect(), key=lambda row: (-row.version, row.file)):
        best.setdefault(
            row.run, (CommitRow(commit, RUN, row.run, row.day, row.version, row.judgement, row.fault), row.file)
        )
    return list(best.values())


def compact(spark: SparkSession, store: Store) -> int:
    """Write the rows of all commits as one commit, and the derived tables anew; how many commits it replaces.

    What this replaces stays until the next time, for those who read it now; what nobody read before is removed. Raises CannotGoOn.
    """
    log = store.log(spark)
    if len(log.live) > 1 or OLD in log.live:
        commit = new_commit()
        for kept in OF_RUNS:
            rows = store.rows(spark, kept, log, log.live)
            store.append(rows.repartitionByRange("day", "run").sortWithinPartitions("day", "run"), kept, commit)
        replaced = [CommitRow(commit, REPLACES, each) for each in log.live]
        store.commit(spark, [*(replace(row, commit=commit) for row in log.runs.values()), *replaced])
    derive(spark, store)
    store.remove(spark, log.unread, (*OF_RUNS, *STORED))
    return len(log.live)


def get(spark: SparkSession, store: Store, kept: Kept, log: CommitLog | None = None) -> DataFrame:
    """A table of runs, or a derived one. Raises CannotGoOn."""
    log = log or store.log(spark)
    if kept in DERIVED:
        return read(spark, store, kept, log)
    return store.rows(spark, kept, log, log.live)


def report(
    spark: SparkSession, files: Sequence[str], folder: str | Path, step: Callable[[str], None] = lambda name: None
) -> Made:
    """Results files to all tables under `folder`. Raises CannotGoOn."""
    store = Store(folder)
    with told("make the tables", location(folder)):
        step("results")
        keep_results(spark, files, store)
        step("matrix and history")
        derive(spark, store)
    runs = store.log(spark).runs.values()
    return Made(len(runs), sum(row.judgements for row in runs), sum(row.faults for row in runs), location(folder))
