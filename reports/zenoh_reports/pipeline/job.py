"""The job over results: files to kept tables, kept tables to matrix, history and flake rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.plain.clusters import ClusterRow
from zenoh_reports.plain.history import FlakeRow, TurnRow
from zenoh_reports.plain.judgements import JudgementRow, MatrixRow, RunRow
from zenoh_reports.plain.results import FaultRow

from . import clusters, history, judgements
from .store import Kept, Store, told

RUNS: Final = Kept("runs", RunRow, ("day",))
JUDGEMENTS: Final = Kept("judgements", JudgementRow, ("day",), ("id",))
FAULTS: Final = Kept("results_faults", FaultRow, ("day",))
MATRIX: Final = Kept("matrix", MatrixRow)
HISTORY: Final = Kept("history", TurnRow)
FLAKES: Final = Kept("flakes", FlakeRow)
CLUSTERS: Final = Kept("judgement_clusters", ClusterRow)


@dataclass(frozen=True, slots=True)
class Made:
    """What a job made, in numbers."""

    runs: int
    judgements: int
    faults: int
    """Lines that were left out, named in the table `results_faults`."""
    folder: Path

    def __str__(self) -> str:
        left = f", {self.faults} lines left out (table results_faults)" if self.faults else ""
        return f"{self.runs} run{'s' * (self.runs != 1)}, {self.judgements} judgements{left}: tables in {self.folder}"


def keep_results(spark: SparkSession, files: Sequence[str], store: Store) -> None:
    """Read results files, each once, into the kept tables. Raises CannotGoOn."""
    lines = judgements.results(spark, files).cache()
    try:
        # each file has a line that is no judgement; of those there are few
        found = lines.where("type != 'judgement'").select("day", "run").distinct().collect()
        runs = [(row.day, row.run) for row in found]
        store.replace(judgements.runs(lines), RUNS, runs)
        store.replace(judgements.said(lines), JUDGEMENTS, runs)
        store.replace(lines.where("type = 'fault'"), FAULTS, runs)
    finally:
        lines.unpersist()


def derive(spark: SparkSession, store: Store) -> None:
    """Make anew what follows from all kept judgements. Raises CannotGoOn."""
    judged = store.get(spark, JUDGEMENTS)
    needed = judgements.requirement_rows(spark, requirements().values())
    newest = judgements.newest(judged)
    store.put(judgements.matrix(newest, needed).orderBy("page", "requirement", "target", "version_order"), MATRIX)
    store.put(history.history(judged), HISTORY)
    store.put(history.flakes(judged), FLAKES)
    store.put(clusters.of_judgements(newest), CLUSTERS)


def report(
    spark: SparkSession, files: Sequence[str], folder: Path, step: Callable[[str], None] = lambda name: None
) -> Made:
    """Results files to all tables under `folder`. Raises CannotGoOn."""
    store = Store(folder)
    with told("make the tables", str(folder)):
        step("results")
        keep_results(spark, files, store)
        step("matrix and history")
        derive(spark, store)
        counts = [store.get(spark, kept).count() for kept in (RUNS, JUDGEMENTS, FAULTS)]
    return Made(counts[0], counts[1], counts[2], folder)
