"""The stored tables: Parquet, one folder for each table, partitioned by day and, for some tables, by campaign or audit.

Importing the same files again replaces the same partitions, so that no row is stored twice. Tables without a day (the matrix,
the history) are computed anew from those with a day.
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
"""Beginnings of the lines of a Java stack trace that do not describe the error."""
FULL: Final = ("No space left on device", "Disk quota exceeded", "ENOSPC")


@dataclass(frozen=True, slots=True)
class Kept:
    """The layout of one stored table."""

    name: str
    row: type
    by: tuple[str, ...] = ()
    """The columns by which the table is partitioned; none for a table that is computed anew each time."""
    key: tuple[str, ...] = ()
    """The columns that identify a row in its partition, if several files may contain the same row."""
    under: tuple[str, ...] = ()
    """Further partition columns, which are not in the row type: all rows of one call of `put` have the same value."""


@dataclass(frozen=True, slots=True)
class Store:
    """The tables in one folder, which all Spark workers must be able to write."""

    folder: Path

    def place(self, kept: Kept) -> str:
        """Return the path of a table."""
        return str((self.folder / kept.name).resolve())

    def put(self, table: DataFrame, kept: Kept, **under: str) -> None:
        """Write a table; if it is partitioned, replace only the partitions of these rows. Raises CannotGoOn."""
        rows = shaped(table, kept.row)
        place = "/".join([self.place(kept), *(f"{name}={under[name]}" for name in kept.under)])
        with told(f"write table {kept.name}", place):
            if kept.by:
                _partitioned(rows, kept, place)
            else:
                rows.coalesce(1).write.mode("overwrite").option("partitionOverwriteMode", "static").parquet(place)

    def replace(self, table: DataFrame, kept: Kept, runs: Collection[tuple[str, str]]) -> None:
        """Replace the rows of these runs, given as (day, run); the other runs of their days stay. Raises CannotGoOn."""
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
                shutil.rmtree(gone)  # an error is raised: a day that stayed would be read as results of the runs

    def _others(
        self, spark: SparkSession, kept: Kept, runs: Collection[tuple[str, str]], days: Collection[str]
    ) -> DataFrame:
        """Return the stored rows of these days that belong to other runs."""
        these = spark.createDataFrame(list(runs), "day string, run string")
        old = self.get(spark, kept).where(F.col("day").isin(*days))
        return old.join(F.broadcast(these), on=["day", "run"], how="left_anti")

    def get(self, spark: SparkSession, kept: Kept) -> DataFrame:
        """Read all partitions of a table, with its columns in order. Raises CannotGoOn if the table does not exist."""
        if not Path(self.place(kept)).is_dir():
            raise CannotGoOn(f"there is no table {kept.name}", step="read the tables", seen=self.place(kept))
        whole = schema(kept.row)
        for name in kept.under:
            whole = StructType([*whole, StructField(name, StringType())])
        return spark.read.schema(whole).parquet(self.place(kept)).select(*whole.names)


def _partitioned(rows: DataFrame, kept: Kept, place: str) -> None:
    """Write the partitions of rows, each by one task into one file; duplicates are dropped without another shuffle."""
    spread = rows.repartition(*kept.by)
    once = spread.dropDuplicates([*kept.by, *kept.key]) if kept.key else spread
    once.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").partitionBy(*kept.by).parquet(place)


@contextmanager
def told(step: str, place: str = "") -> Iterator[None]:
    """Turn an exception of Spark into CannotGoOn with the step, the root cause and, for a full disk, what to do."""
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
