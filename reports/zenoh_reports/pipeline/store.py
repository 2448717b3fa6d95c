"""The stored tables: Parquet, one folder for each table, below a folder that any of Spark's file systems holds.

Tables of runs grow by commits (`commits`), and nothing in them is ever overwritten. The tables of an audit or a campaign are
partitioned by day and name; writing the same audit or campaign again replaces its own partition and no other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.types import StringType, StructField, StructType

from zenoh_harness.errors import CannotGoOn
from zenoh_reports.spark import is_connected

from .commits import OLD, RUN, CommitLog, CommitRow
from .judgements import shaped
from .places import location, told
from .types import schema

COMMITS: Final = "commits"
OLD_RUNS: Final = "runs"
"""The table that names the runs of tables without a log."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The layout of one stored table."""

    name: str
    row: type
    by: tuple[str, ...] = ()
    """The columns by which the table is partitioned, if `put` writes it; none for a table that is computed anew each time."""
    under: tuple[str, ...] = ()
    """Further partition columns, which are not in the row type: all rows of one call of `put` have the same value."""


@dataclass(frozen=True, slots=True)
class Store:
    """The tables below one folder (a path or a URI), which all Spark workers must be able to write."""

    folder: str | Path

    def place(self, kept: Kept | str) -> str:
        """Return the address of a table."""
        return f"{location(self.folder)}/{kept if isinstance(kept, str) else kept.name}"

    def put(self, table: DataFrame, kept: Kept, **under: str) -> None:
        """Write a table; if it is partitioned, replace only the partitions of these rows. Raises CannotGoOn."""
        rows = shaped(table, kept.row)
        place = "/".join([self.place(kept), *(f"{name}={under[name]}" for name in kept.under)])
        with told(f"write table {kept.name}", place):
            if kept.by:
                spread = rows.repartition(*kept.by).write.mode("overwrite")
                spread.option("partitionOverwriteMode", "dynamic").partitionBy(*kept.by).parquet(place)
            else:
                rows.coalesce(1).write.mode("overwrite").option("partitionOverwriteMode", "static").parquet(place)

    def get(self, spark: SparkSession, kept: Kept) -> DataFrame:
        """Read all partitions of a table that `put` wrote, with its columns in order. Raises CannotGoOn if it does not exist."""
        whole = schema(kept.row)
        for name in kept.under:
            whole = StructType([*whole, StructField(name, StringType())])
        found = parquet(spark, whole, [self.place(kept)])
        if found is None:
            raise CannotGoOn(f"there is no table {kept.name}", step="read the tables", seen=self.place(kept))
        return found.select(*whole.names)

    def append(self, table: DataFrame, kept: Kept, commit: str, columns: Sequence[str] = ()) -> None:
        """Write rows of a commit, which do not exist before `commit`; `columns` beside those of the row. Raises CannotGoOn."""
        place = f"{self.place(kept)}/commit={commit}"
        with told(f"write table {kept.name}", place):
            table.select(*schema(kept.row).names, *columns).write.mode("overwrite").parquet(place)

    def commit(self, spark: SparkSession, rows: Sequence[CommitRow]) -> None:
        """Make the rows of a commit exist: one file, renamed into its place. Raises CannotGoOn."""
        [commit] = {row.commit for row in rows}
        at = int(time.time())
        table = spark.createDataFrame([astuple(replace(row, at=at)) for row in rows], schema(CommitRow))
        with told("write the commit", self.place(COMMITS)):
            table.coalesce(1).write.mode("overwrite").json(f"{self.place(COMMITS)}/{commit}")

    def remove(self, spark: SparkSession, commits: Sequence[str], tables: Sequence[Kept]) -> None:
        """Remove commits that nothing reads: their rows, then their files. A Connect server offers no way to. Raises CannotGoOn."""
        if is_connected(spark):
            return
        java: Any = spark
        for place in [*(f"{self.place(kept)}/commit={each}" for each in commits for kept in tables),
                      *(f"{self.place(COMMITS)}/{each}" for each in commits)]:  # fmt: skip
            with told("remove what was merged", place):
                path = java._jvm.org.apache.hadoop.fs.Path(place)
                path.getFileSystem(java._jsc.hadoopConfiguration()).delete(path, True)

    def log(self, spark: SparkSession) -> CommitLog:
        """Read the commits; tables without a log are one commit. Raises CannotGoOn."""
        with told("read the commits", self.place(COMMITS)):
            reader = (
                spark.read.schema(schema(CommitRow)).option("recursiveFileLookup", "true").option("mode", "FAILFAST")
            )
            table = _existing(lambda: reader.json(self.place(COMMITS)))
            rows = [CommitRow(*row) for row in table.collect()] if table is not None else []
            return CommitLog([*rows, *self._old(spark)])

    def _old(self, spark: SparkSession) -> list[CommitRow]:
        """The runs that earlier releases kept by day. Raises CannotGoOn for a layout before that."""
        if _existing(lambda: spark.read.text(f"{self.place(OLD_RUNS)}/day=*/run=*")) is not None:
            hint = "make them anew of all results, in a folder of their own"
            raise CannotGoOn(
                "these tables are as an older version laid them out",
                step="keep results",
                seen=self.place(OLD_RUNS),
                hint=hint,
            )
        kept = StructType([StructField(name, StringType()) for name in ("run", "day")]).add("judgements", "long")
        old = parquet(spark, kept.add("faults", "long"), [f"{self.place(OLD_RUNS)}/day=*"], self.place(OLD_RUNS))
        found = old.distinct().collect() if old is not None else []
        return [CommitRow(OLD, RUN, row.run, row.day, 0, row.judgements, row.faults) for row in found]

    def rows(
        self, spark: SparkSession, kept: Kept, log: CommitLog, commits: Sequence[str], columns: Sequence[str] = ()
    ) -> DataFrame:
        """The rows of these commits that count; `columns` beside those of the row. Raises CannotGoOn."""
        place, names = self.place(kept), [*schema(kept.row).names, *columns]
        more = dict.fromkeys((*columns, "commit"))
        whole = StructType([*schema(kept.row), *(StructField(name, StringType()) for name in more)])
        paths = [f"{place}/commit={commit}" for commit in commits if commit != OLD]
        with told("read the tables", place):  # a commit whose rows a store does not show is no table without them
            found = spark.read.schema(whole).option("basePath", place).parquet(*paths) if paths else None
        old = parquet(spark, schema(kept.row), [f"{place}/day=*"], place) if OLD in commits else None
        if old is not None:
            old = old.withColumns(dict.fromkeys(more, F.lit(""))).select(*whole.names)
        parts = [part for part in (found, old) if part is not None]
        if not parts:
            return spark.createDataFrame([], whole).select(*names)
        table = parts[0].unionByName(parts[1]) if len(parts) == 2 else parts[0]
        outdated = [pair for pair in log.outdated if pair[0] in {*commits}]
        if outdated and "run" in names:
            gone = spark.createDataFrame(outdated, "commit string, run string")
            table = table.join(F.broadcast(gone), on=["commit", "run"], how="left_anti")
        return table.select(*names)


def parquet(spark: SparkSession, whole: StructType, paths: Sequence[str], base: str = "") -> DataFrame | None:
    """Read Parquet files of a schema; None if there are none."""
    reader = spark.read.schema(whole)
    return _existing(lambda: (reader.option("basePath", base) if base else reader).parquet(*paths))


def _existing(read: Callable[[], DataFrame]) -> DataFrame | None:
    """A table, or None if its path does not exist."""
    try:
        table = read()
        table.schema  # noqa: B018 - a Connect server looks at the path only when it is asked
    except AnalysisException as why:
        if "PATH_NOT_FOUND" in str(why):
            return None
        raise
    return table
