"""`--follow`: a stream of captures as they arrive; captures to facts, results to their tables, an alert once a signature and node.

Spark plans the batches, keeps the flows that go on (`flow_state`), and does a batch again that was not ended. A batch writes its
facts as one partition, `facts/batch=N`, and its alerts as one file, both over what an attempt that was ended had written. So
nothing is counted twice. Tables are made of all facts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.streaming.query import StreamingQuery

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.files.captures import PORTS
from zenoh_reports.plain.audit import AuditRow
from zenoh_reports.plain.follow import SETTLED, Arrivals, BatchPlan, Checkpoint
from zenoh_reports.plain.tables import DeviationRow, FindingRow, NodeRow, StatisticsRow
from zenoh_reports.shipping import code

from . import audit as stages
from . import flow_state
from .captures import append
from .commits import AUDIT, CommitRow, new_commit
from .derive import derive
from .job import keep_results
from .places import told
from .sources.arriving import ArrivingSource
from .store import Kept, Store, parquet
from .types import schema

PAUSE: Final = 2
"""Seconds between two looks into the folder."""
FACTS: Final = Kept("facts", AuditRow)
ACROSS: Final = Kept("facts_across", AuditRow)
KEPT: Final = ("flow", "handshake", flow_state.ACROSS)
"""Facts that serve the next batch alone."""
TABLES: Final = (
    (Kept("findings", FindingRow), stages.findings),
    (Kept("nodes", NodeRow), stages.nodes),
    (Kept("statistics", StatisticsRow), stages.statistics),
    (Kept("deviations", DeviationRow), lambda facts: stages.deviations(stages.findings(facts))),
)
FOLLOWED: Final = "followed"
"""The name of the audit that grows with each batch."""
Say = Callable[[str], object]
SLOW: Final = "Python worker failed to connect back"
"""What Spark says where a process of Python needs more than ten seconds to start, on a machine that does other things too."""
STARTS: Final = 12


def follow(
    spark: SparkSession, folder: Path, out: Path, ports: Sequence[int] = (), *, once: bool, say: Say = print,
    settled: float = SETTLED,
) -> Exit:  # fmt: skip
    """Judge what arrives in `folder`, batch by batch, until interrupted; `once`: what is there, then end.

    Returns 1 where a MUST was newly seen broken, 4 where no message was judged. Raises CannotGoOn.
    """
    followed, start = Followed(out, say), partial(_start, spark, folder, out, PORTS | frozenset(ports), once, settled)
    with told("follow", str(folder)):
        _run(start, followed)
        if once and Checkpoint(out / "checkpoint").has_new(Arrivals(folder, settled)()):
            _run(start, followed)  # the first one had to end what was planned before, and asked for nothing else
    followed.tell()
    judged = make_tables(spark, out)
    return Exit.NOT_CONFORMING if followed.failed else Exit.CONFORMING if judged else Exit.NOTHING_JUDGED


def _run(start: Callable[[], StreamingQuery], followed: Followed) -> None:
    """One query, until it ends."""
    for left in reversed(range(STARTS)):
        if _wait_for(start(), followed, may_fail=left > 0):
            break


def _wait_for(query: StreamingQuery, followed: Followed, *, may_fail: bool) -> bool:
    """Wait for the end of a query; False where it is to be started again, since the process of its source was not up in time."""
    try:
        while not query.awaitTermination(PAUSE):
            followed.tell()
    except StreamingQueryException as why:
        if may_fail and SLOW in str(why):
            return False
        raise
    finally:
        query.stop()
    return True


def _start(
    spark: SparkSession, folder: Path, out: Path, ports: frozenset[int], once: bool, settled: float
) -> StreamingQuery:
    for name, value in flow_state.PROVIDER.items():
        spark.conf.set(name, value)
    spark.dataSource.register(ArrivingSource)
    options = {
        "folder": str(folder), "checkpoint": str(out / "checkpoint"), "settled": str(settled), "once": str(once).lower(),
    }  # fmt: skip
    packets = spark.readStream.format(ArrivingSource.name()).options(**options).load()
    writer = flow_state.facts(packets, ports, code()).writeStream.foreachBatch(Batch(str(out), code()))
    writer = writer.option("checkpointLocation", str(out / "checkpoint" / "spark"))
    return (writer.trigger(availableNow=True) if once else writer.trigger(processingTime=f"{PAUSE} seconds")).start()


@dataclass(frozen=True)
class Batch:
    """What is done with the facts of a batch; all of it is the same if it is done again."""

    out: str
    code: str

    def __call__(self, facts: DataFrame, number: int) -> None:
        """Do one batch, and say that it is done. Raises CannotGoOn."""
        spark, checkpoint = facts.sparkSession, Checkpoint(Path(self.out) / "checkpoint")
        plan, store = checkpoint.plans[number], Store(Path(self.out) / "tables")
        if plan.results:
            with told("read results", str(store.folder)):
                keep_results(spark, plan.results, store)
                derive(spark, store)
        with told("judge captures", batch_place(store, FACTS, number)):
            written = _write(facts, store, FACTS, number, "what")
            found = self._across(store, number, written)
            alert(Path(self.out) / "alerts", number, [*_findings(written), *_findings(found)])
            newest = written.agg(F.max("time")).collect()[0][0] or 0
        before = checkpoint.last() if number else {}
        checkpoint.commit(plan, {"newest": max(newest, before.get("newest", 0))})

    def _across(self, store: Store, number: int, written: DataFrame) -> DataFrame:
        """Write what the laws that look across connections find new in this batch."""
        before = read_batches(written.sparkSession, store, ACROSS, number - 1) if number else None
        before = None if before is None else before.where(F.col("what") == flow_state.ACROSS)
        return _write(flow_state.across(written.where("what = 'handshake'"), before, self.code), store, ACROSS, number)


def _write(facts: DataFrame, store: Store, kept: Kept, number: int, *by: str) -> DataFrame:
    """Write the facts of a batch over what an attempt before wrote, and read them."""
    place = batch_place(store, kept, number)
    facts.write.mode("overwrite").option("partitionOverwriteMode", "static").partitionBy(*by).parquet(place)
    whole = facts.sparkSession.read.schema(schema(AuditRow)).option("basePath", store.place(kept))
    return whole.parquet(place).select(*schema(AuditRow).names)


def batch_place(store: Store, kept: Kept, number: int | str) -> str:
    """Where the facts of a batch are; of all of them for `*`."""
    return f"{store.place(kept)}/batch={number}"


def read_batches(spark: SparkSession, store: Store, kept: Kept, number: int | str) -> DataFrame | None:
    """The facts of a batch, or for `*` of all; None if there are none."""
    found = parquet(spark, schema(AuditRow), [batch_place(store, kept, number)], store.place(kept))
    return None if found is None else found.select(*schema(AuditRow).names)


def _findings(facts: DataFrame) -> list[AuditRow]:
    return [AuditRow(*row) for row in facts.where("what = 'finding'").collect()]


def alert(folder: Path, number: int, findings: Sequence[AuditRow]) -> None:
    """Write what is new: a signature of a node that no batch before had."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {(row["signature"], row["node"]) for earlier in range(number) for row in alerts(folder, earlier)}
    first: dict[tuple[str, str], AuditRow] = {}
    for row in sorted(findings, key=lambda row: (row.time, row.id)):
        first.setdefault((row.signature, row.node), row)
    fresh = folder / f"{number:08}.new"
    lines = (json.dumps(_alert_of(row)) + "\n" for key, row in first.items() if key not in known)
    fresh.write_text("".join(lines), encoding="utf-8")
    fresh.replace(fresh.with_suffix(".jsonl"))


def alerts(folder: Path, number: int) -> list[dict[str, Any]]:
    """The alerts of a batch."""
    file = folder / f"{number:08}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []


class Followed:
    """Tells what batches found, in their order, when they are committed."""

    def __init__(self, out: Path, say: Say) -> None:
        self._out, self._say = out, say
        self._told = Checkpoint(out / "checkpoint").committed
        self.failed = False

    def tell(self) -> None:
        """Say what was committed since the last time."""
        checkpoint = Checkpoint(self._out / "checkpoint")
        for number in range(self._told, checkpoint.committed):
            for line in self._lines(number, checkpoint.plans[number]):
                self._say(line)
        self._told = checkpoint.committed

    def _lines(self, number: int, plan: BatchPlan) -> Iterator[str]:
        for row in alerts(self._out / "alerts", number):
            self.failed = self.failed or row["verdict"] == "fail"
            yield f"{row['verdict']}  {row['node']} {row['zid']}  {row['requirement']}: {row['cause']} (packet {row['packet']})"
        yield f"batch {number}: {len(plan.captures)} captures, {len(plan.results)} results"


def make_tables(spark: SparkSession, out: Path) -> bool:
    """Make the tables of all facts, as one audit; whether anything was judged. Raises CannotGoOn.

    Those of the time before stay until the next time, for those who read them now.
    """
    store = Store(out / "tables")
    with told("make the tables", str(store.folder)):
        parts = [part for kept in (FACTS, ACROSS) if (part := read_batches(spark, store, kept, "*")) is not None]
        if len(parts) < 2:
            return False
        facts = parts[0].unionByName(parts[1]).where(~F.col("what").isin(*KEPT)).persist()
        store.remove(spark, store.log(spark).outdated_audits, [kept for kept, _ in TABLES])
        row = CommitRow(new_commit(), AUDIT, FOLLOWED)
        for kept, stage in TABLES:
            append(store, stage(facts), kept, row)
        store.commit(spark, [row])
        judged = facts.where("what = 'subjects'").limit(1).count() > 0
        facts.unpersist()
    return judged


def _alert_of(row: AuditRow) -> dict[str, Any]:
    names = (
        "signature",
        "node",
        "zid",
        "verdict",
        "requirement",
        "law",
        "cause",
        "time",
        "connection",
        "file",
        "packet",
    )
    return {name: getattr(row, name) for name in names}
