"""Tables that are kept: Parquet, one folder a table, in partitions by day; by campaign or audit, too, of which a day has few.

Reading the same files again writes the same rows again over the old ones, so nothing is there twice. What has no day or source of
its own (the matrix, the history) is made anew from the tables that have.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.types import StringType, StructField, StructType

from zenoh_harness.errors import CannotGoOn

from .judgements import shaped
from .types import schema

STACK: Final = ("at ", "... ", "An error occurred while calling")
"""Lines that say where in Java, and not what."""
FULL: Final = ("No space left on device", "Disk quota exceeded", "ENOSPC")


@dataclass(frozen=True, slots=True)
class Kept:
    """One kept table."""

    name: str
    row: type
    by: tuple[str, ...] = ()
    """Columns of the row that its partitions are by; none for what is made anew each time."""
    key: tuple[str, ...] = ()
    """Columns that tell the row from all others of its partition, where several files may hold the same."""
    under: tuple[str, ...] = ()
    """Partition columns beside those of the row: what all rows of one writing have in common."""


@dataclass(frozen=True, slots=True)
class Store:
    """The tables under one folder, which all workers can write to."""

    folder: Path

    def place(self, kept: Kept) -> str:
        """Where a table is."""
        return str((self.folder / kept.name).resolve())

    def put(self, table: DataFrame, kept: Kept, **under: str) -> None:
        """Write a table; of a partitioned one only the partitions that are in it are replaced. Raises CannotGoOn."""
        rows = shaped(table, kept.row)
        place = "/".join([self.place(kept), *(f"{name}={under[name]}" for name in kept.under)])
        with told(f"write table {kept.name}", place):
            if kept.by:
                _partitioned(rows, kept, place)
            else:
                rows.coalesce(1).write.mode("overwrite").option("partitionOverwriteMode", "static").parquet(place)

    def replace(self, table: DataFrame, kept: Kept, runs: Collection[tuple[str, str]]) -> None:
        """Write what runs (day, run) say over what was kept of them; the other runs of their days stay. Raises CannotGoOn."""
        place = Path(self.place(kept))
        if next(place.glob("day=*/run=*"), None) is not None:
            hint = "make them anew of all results, in a folder of their own"
            raise CannotGoOn(
                "these tables are as an older version laid them out", step="keep results", seen=str(place), hint=hint
            )
        rows = shaped(table, kept.row)
        emptied: set[str] = set()
        with told(f"write table {kept.name}", str(place)):
            if place.is_dir():
                days = {day for day, _ in runs}
                rows = rows.unionByName(self._others(table.sparkSession, kept, runs, days))
                emptied = days - {row.day for row in rows.select("day").distinct().collect()}
            _partitioned(rows, kept, str(place))
        for gone in (place / f"day={day}" for day in emptied):
            if gone.is_dir():
                shutil.rmtree(gone)  # what cannot be removed would be read again as if somebody had said it

    def _others(
        self, spark: SparkSession, kept: Kept, runs: Collection[tuple[str, str]], days: Collection[str]
    ) -> DataFrame:
        """What is kept of these days by other runs."""
        these = spark.createDataFrame(list(runs), "day string, run string")
        old = self.get(spark, kept).where(F.col("day").isin(*days))
        return old.join(F.broadcast(these), on=["day", "run"], how="left_anti")

    def get(self, spark: SparkSession, kept: Kept) -> DataFrame:
        """A table, all its partitions, columns in their order. Raises CannotGoOn where there is none."""
        if not Path(self.place(kept)).is_dir():
            raise CannotGoOn(f"there is no table {kept.name}", step="read the tables", seen=self.place(kept))
        whole = schema(kept.row)
        for name in kept.under:
            whole = StructType([*whole, StructField(name, StringType())])
        return spark.read.schema(whole).parquet(self.place(kept)).select(*whole.names)


def _partitioned(rows: DataFrame, kept: Kept, place: str) -> None:
    """A partition is written by one task, into one file; what is there twice is dropped on the way, without another shuffle."""
    spread = rows.repartition(*kept.by)
    once = spread.dropDuplicates([*kept.by, *kept.key]) if kept.key else spread
    once.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy(*kept.by).parquet(place)


@contextmanager
def told(step: str, place: str = "") -> Iterator[None]:
    """Turns Spark's failures into one of ours: the step, the cause of the causes, and for a full disk what to do."""
    try:
        yield
    except (PySparkException, Py4JError) as why:
        text = str(why)
        full = any(sign in text for sign in FULL)
        causes = [
            line.strip(" :") for line in text.splitlines() if line.strip() and not line.lstrip().startswith(STACK)
        ]
        root = [line for line in causes if line.startswith("Caused by")][-1:] or causes[-1:]
        raise CannotGoOn(
            "the disk is full" if full else "Spark could not do it", step=step, seen=[place, *causes[:1], *root],
            hint="make room, then do it again: what is written stays, and nothing is there twice" if full else "",
        ) from why  # fmt: skip
