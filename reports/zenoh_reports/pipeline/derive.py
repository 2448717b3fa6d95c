"""The tables that follow from all judgements, continued by what is new: matrix, history, flake rates, clusters.

What a commit adds is read, and of the earlier tables the newest state of the targets and versions in it, so that ten years of
results cost what one costs. All is computed anew where the new runs are not newer than those before, where a run was read again,
and where the requirements changed. Each table equals its stage over all judgements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.storagelevel import StorageLevel

from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.plain.clusters import ClusterRow, SignatureRow
from zenoh_reports.plain.history import FlakeRow, FlakeState, LastRow, TurnRow
from zenoh_reports.plain.judgements import SUBJECT, JudgementRow, MatrixRow, content_id

from . import clusters, history, judgements
from .commits import BASE, COVERS, DENOMINATOR, OF, RUN, CommitLog, CommitRow, DerivedChain, new_commit
from .judgements import shaped
from .store import Kept, Store
from .types import schema

JUDGEMENTS: Final = Kept("judgements", JudgementRow)
MATRIX: Final = Kept("matrix", MatrixRow)
HISTORY: Final = Kept("history", TurnRow)
FLAKES: Final = Kept("flakes", FlakeRow)
CLUSTERS: Final = Kept("judgement_clusters", ClusterRow)
_FLAKES: Final = Kept("flakes", FlakeState)
_LAST: Final = Kept("last", LastRow)
_NEWEST: Final = Kept("newest", JudgementRow)
_SIGNATURES: Final = Kept("signatures", SignatureRow)
STORED: Final = (MATRIX, HISTORY, _FLAKES, CLUSTERS, _LAST, _NEWEST, _SIGNATURES)
"""Every table that a commit of derived tables writes."""
ALL: Final = "all"
"""Stands for all targets and versions: clusters are of all of them."""
ROUNDS: Final = 5
"""How often tables are continued by what other writers add meanwhile; they continue them as well."""
_VERSION: Final = ("kind", "target", "version")
_DISK: Final = StorageLevel.DISK_ONLY
Append = Callable[[DataFrame, Kept], None]


def derive(spark: SparkSession, store: Store) -> None:
    """Continue the derived tables until they follow from every commit. Raises CannotGoOn."""
    for _ in range(ROUNDS):
        log = store.log(spark)
        before = log.derived
        if before is not None and before.covers.issuperset(log.live) and before.denominator == _denominator():
            return
        if log.live:
            _continue(spark, store, log, before)


def read(spark: SparkSession, store: Store, kept: Kept, log: CommitLog | None = None) -> DataFrame:
    """A derived table. Raises CannotGoOn."""
    log = log or store.log(spark)
    if log.derived is None:
        return spark.createDataFrame([], schema(kept.row))
    return shaped(_Before(spark, store, log, log.derived).rows(kept), kept.row)


def _denominator() -> str:
    """A digest of what the matrix has rows for."""
    digest = blake2b(digest_size=8)
    for each in requirements().values():
        digest.update(f"{each.id} {each.level} {each.says}\n".encode())
    return digest.hexdigest()


def _of(names: Sequence[str]) -> Column:
    return judgements.content_id(*map(F.col, names)).alias("of")


@dataclass(frozen=True)
class _Before:
    """The derived tables as they are."""

    spark: SparkSession
    store: Store
    log: CommitLog
    derived: DerivedChain

    def rows(self, kept: Kept, keys: Iterable[str] | None = None, but: Iterable[str] = ()) -> DataFrame:
        """The rows of a table, or of it those of some targets and versions; `but`: without those of others."""
        if kept.name == HISTORY.name:
            return self.store.rows(self.spark, kept, self.log, self.derived.chain)
        chosen = set(self.derived.newest if keys is None else keys) - {*but}
        pairs = [(commit, key) for key, commit in self.derived.newest.items() if key in chosen]
        every = self.store.rows(self.spark, kept, self.log, sorted({pair[0] for pair in pairs}), ("of", "commit"))
        wanted = self.spark.createDataFrame(pairs, "commit string, of string")
        return every.join(F.broadcast(wanted), on=["commit", "of"], how="left_semi").drop("commit", "of")


@dataclass(frozen=True)
class _Step:
    """One commit of derived tables: of `judged`, and of the tables `before`, if these can go on."""

    spark: SparkSession
    judged: DataFrame
    before: _Before | None

    @cached_property
    def keys(self) -> list[tuple[str, str, str]]:
        """Kind, target and version of what is judged."""
        return sorted(tuple(row) for row in self.judged.select(*_VERSION).distinct().collect())

    @cached_property
    def versions(self) -> list[str]:
        """Names of targets in one version."""
        return [content_id(*key) for key in self.keys]

    @cached_property
    def targets(self) -> list[str]:
        """Names of targets, whatever their version."""
        return sorted({content_id(*key[:2]) for key in self.keys})

    @cached_property
    def places(self) -> list[str]:
        """Names of targets in one version as findings name them (`SaidRow.where`)."""
        return sorted({content_id(" ".join(key)) for key in self.keys})

    def earlier(self, kept: Kept, keys: Sequence[str]) -> DataFrame | None:
        """The newest state of these targets, or targets and versions."""
        return None if self.before is None else self.before.rows(kept, keys)

    @cached_property
    def last(self) -> DataFrame | None:
        """The newest run of each subject before."""
        found = self.earlier(_LAST, self.targets)
        return None if found is None else found.persist(_DISK)

    def goes_on(self) -> bool:
        """Whether no run is as old as one before it."""
        if self.last is None:
            return False
        earlier = self.last.select(*SUBJECT, F.struct("day", "run").alias("last"))
        now = self.judged.select(*SUBJECT, F.struct("day", "run").alias("now"))
        return now.join(earlier, on=list(SUBJECT)).where(F.col("now") <= F.col("last")).limit(1).count() == 0

    def release(self) -> None:
        """Free what was read more than once."""
        if self.last is not None:
            self.last.unpersist()

    def write(self, append: Append) -> None:
        """Write each table."""
        runs = history.of_runs(self.judged, SUBJECT, self.last).persist(_DISK)
        append(history.turns(runs), HISTORY)
        said = runs.select(*SUBJECT, "day", "run", "verdict")
        every = said if self.last is None else said.unionByName(self.last.select(*said.columns))
        append(history.newest(every, SUBJECT).withColumn("of", _of(_VERSION[:2])), _LAST)
        states = history.flake_states(self.judged, self.earlier(_FLAKES, self.versions))
        append(states.withColumn("of", _of(_VERSION)), _FLAKES)
        runs.unpersist()
        self._newest(append)

    def _newest(self, append: Append) -> None:
        """Write what follows from the newest run of each column of the matrix."""
        earlier = self.earlier(_NEWEST, self.versions)
        every = self.judged if earlier is None else self.judged.unionByName(earlier.select(*self.judged.columns))
        newest = judgements.newest(every).persist(_DISK)
        append(newest.withColumn("of", _of(_VERSION)), _NEWEST)
        cells = judgements.matrix(newest, judgements.requirement_rows(self.spark, requirements().values()))
        ordered = cells.withColumn("of", _of(_VERSION)).orderBy("page", "requirement", "target", "version_order")
        append(ordered, MATRIX)
        found = clusters.signatures(clusters.bad(newest)).persist(_DISK)
        append(found.withColumn("of", _of(["where"])), _SIGNATURES)
        others = None if self.before is None else self.before.rows(_SIGNATURES, but=self.places)
        all_signatures = found if others is None else found.unionByName(others.select(*found.columns))
        append(clusters.of_signatures(all_signatures).withColumn("of", F.lit(ALL)), CLUSTERS)
        for each in (newest, found):
            each.unpersist()


def _continue(spark: SparkSession, store: Store, log: CommitLog, before: DerivedChain | None) -> None:
    """Write one commit of derived tables."""
    step, base, covers = _step(spark, store, log, before)
    commit = new_commit()

    def append(table: DataFrame, kept: Kept) -> None:
        store.append(table, kept, commit, () if kept is HISTORY else ("of",))

    step.write(append)
    rows = [(DENOMINATOR, _denominator()), *((BASE, each) for each in base), *((COVERS, each) for each in covers)]
    rows += [(OF, key) for key in (*step.versions, *step.targets, *step.places, ALL)]
    store.commit(spark, [CommitRow(commit, what, name) for what, name in rows])
    step.release()


def _step(
    spark: SparkSession, store: Store, log: CommitLog, before: DerivedChain | None
) -> tuple[_Step, Sequence[str], Sequence[str]]:
    """The next commit, the commit that it continues, if any, and those whose runs it adds."""
    if before is not None and before.denominator == _denominator():
        missing = [commit for commit in log.live if commit not in before.covers]
        known = {row.name for commit in before.covers for row in log.by_commit.get(commit, ())}
        again = any(name in known for commit in missing for name in log.names(commit, RUN))
        judged = store.rows(spark, JUDGEMENTS, log, missing)
        step = _Step(spark, judged, _Before(spark, store, log, before))
        if not again and step.goes_on():
            return step, before.chain[-1:], missing
        step.release()
    return _Step(spark, store.rows(spark, JUDGEMENTS, log, log.live), None), (), log.live
