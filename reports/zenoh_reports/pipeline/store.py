"""The stored tables: Parquet, one folder for each table, below a folder that any of Spark's file systems holds.

Tables grow by commits (`commits`), and nothing in them is ever overwritten: also not by an audit or a campaign that is read again,
whose earlier rows merely do not count any more.
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


@dataclass(frozen=True, slots=True)
class Store:
    """The tables below one folder (a path or a URI), which all Spark workers must be able to write."""

    folder: str | Path

    def place(self, kept: Kept | str) -> str:
        """Return the address of a table."""
        return f"{location(self.folder)}/{kept if isinstance(kept, str) else kept.name}"

    def append(self, table: DataFrame, kept: Kept, commit: str, columns: Sequence[str] = ()) -> None:
        """Write rows of a commit, which do not exist before `commit`; `columns` beside those of the row. Raises CannotGoOn."""
        place = f"{self.place(kept)}/commit={commit}"
        with told(f"write table {kept.name}", place):
            table.select(*dict.fromkeys((*schema(kept.row).names, *columns))).write.mode("overwrite").parquet(place)

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

    def newest(self, spark: SparkSession, kept: Kept, what: str) -> DataFrame:
        """The rows of all audits, or campaigns, with the columns `day` and `what`; of each those that count. Raises CannotGoOn."""
        log = self.log(spark)
        pairs = [(row.commit, row.name) for row in log.newest(what).values()]
        names = list(dict.fromkeys((*schema(kept.row).names, "day", what)))
        every = self.rows(spark, kept, log, sorted({commit for commit, _ in pairs}), ("day", what, "commit"))
        wanted = spark.createDataFrame(pairs, f"commit string, {what} string")
        found = every.join(F.broadcast(wanted), on=["commit", what], how="left_semi").select(*names)
        place = self.place(kept)
        old = parquet(spark, _with(kept, "day", what), [f"{place}/day=*"], place)  # as releases before the log wrote it
        if old is not None:
            found = found.unionByName(old.where(~F.col(what).isin([name for _, name in pairs])).select(*names))
        return found

    def rows(
        self, spark: SparkSession, kept: Kept, log: CommitLog, commits: Sequence[str], columns: Sequence[str] = ()
    ) -> DataFrame:
        """The rows of these commits that count; `columns` beside those of the row. Raises CannotGoOn."""
        place, whole = self.place(kept), _with(kept, *columns, "commit")
        names = list(dict.fromkeys((*schema(kept.row).names, *columns)))
        paths = [f"{place}/commit={commit}" for commit in commits if commit != OLD]
        with told("read the tables", place):  # a commit whose rows a store does not show is no table without them
            found = spark.read.schema(whole).option("basePath", place).parquet(*paths) if paths else None
        old = parquet(spark, schema(kept.row), [f"{place}/day=*"], place) if OLD in commits else None
        if old is not None:
            new = (name for name in whole.names if name not in schema(kept.row).names)
            old = old.withColumns(dict.fromkeys(new, F.lit(""))).select(*whole.names)
        parts = [part for part in (found, old) if part is not None]
        if not parts:
            return spark.createDataFrame([], whole).select(*names)
        table = parts[0].unionByName(parts[1]) if len(parts) == 2 else parts[0]
        outdated = [pair for pair in log.outdated if pair[0] in {*commits}]
        if outdated and "run" in names:
            gone = spark.createDataFrame(outdated, "commit string, run string")
            table = table.join(F.broadcast(gone), on=["commit", "run"], how="left_anti")
        return table.select(*names)


def _with(kept: Kept, *columns: str) -> StructType:
    """The schema of a table with further columns of text, where the row does not have them."""
    more = (name for name in dict.fromkeys(columns) if name not in schema(kept.row).names)
    return StructType([*schema(kept.row), *(StructField(name, StringType()) for name in more)])


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
