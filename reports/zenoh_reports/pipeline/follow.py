"""`--follow`: batches of files as they arrive; captures to facts, results to their tables, an alert once a signature and node.

A batch writes its facts as one partition, `facts/batch=N`, and its alerts as one file, both over what an attempt that was
ended had written. So what was killed is done again, and nothing is counted twice. Tables are made of all facts.
"""

from __future__ import annotations

import json
import pickle
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_conformance.judging.verdict import Exit
from zenoh_harness.files.captures import PORTS
from zenoh_reports.plain import audit
from zenoh_reports.plain.audit import AuditRow, order_of
from zenoh_reports.plain.follow import SETTLED, BatchPlan, Checkpoint, arrived, goes_on, packet_of
from zenoh_reports.plain.packets import PackedRow, gathered
from zenoh_reports.plain.tables import DeviationRow, FindingRow, NodeRow, StatisticsRow
from zenoh_reports.shipping import code

from . import audit as stages
from .captures import rows_as
from .job import derive, keep_results
from .places import told
from .store import Kept, Store
from .traffic import by_flow, packet_rows, packets
from .types import batches, rows_of, schema

PAUSE: Final = 2.0
"""Seconds between two looks into the folder."""
FACTS: Final = Kept("facts", AuditRow)
KEPT: Final = ("flow", "handshake")
"""Facts that serve the next batch alone."""
TABLES: Final = (
    (Kept("findings", FindingRow), stages.findings),
    (Kept("nodes", NodeRow), stages.nodes),
    (Kept("statistics", StatisticsRow), stages.statistics),
    (Kept("deviations", DeviationRow), lambda facts: stages.deviations(stages.findings(facts))),
)
Say = Callable[[str], object]


def follow(
    spark: SparkSession, folder: Path, out: Path, ports: Sequence[int] = (), *, once: bool, say: Say = print,
    settled: float = SETTLED,
) -> Exit:  # fmt: skip
    """Judge what arrives in `folder`, batch by batch, until interrupted; `once`: what is there, then end.

    Returns 1 where a MUST was newly seen broken, 4 where no message was judged. Raises CannotGoOn.
    """
    followed = Followed(spark, out, ports, say)
    while True:
        plan = followed.checkpoint.next(arrived(folder, settled))
        if plan is not None:
            followed.batch(plan)
        elif once:
            break
        else:
            time.sleep(PAUSE)  # a folder is asked, since a network file system tells nobody
    followed.tables()
    return Exit.NOT_CONFORMING if followed.failed else Exit.CONFORMING if followed.judged else Exit.NOTHING_JUDGED


class Followed:
    """What is known between batches; all of it is in the checkpoint too."""

    def __init__(self, spark: SparkSession, out: Path, ports: Sequence[int], say: Say) -> None:
        self.spark, self.say = spark, say
        self.ports = PORTS | frozenset(ports)
        self.checkpoint = Checkpoint(out / "checkpoint")
        self.store = Store(out / "tables")
        self.failed = False
        self.judged = False
        (out / "alerts").mkdir(parents=True, exist_ok=True)
        self._alerts = out / "alerts"
        self._state = self.checkpoint.folder / "across"
        self._state.mkdir(exist_ok=True)

    def place(self, number: int) -> str:
        """Where the facts of a batch are."""
        return f"{self.store.place(FACTS)}/batch={number}"

    def batch(self, plan: BatchPlan) -> None:
        """Do one batch, and say that it is done. Raises CannotGoOn."""
        if plan.results:
            with told("read results", str(self.store.folder)):
                keep_results(self.spark, plan.results, self.store)
                derive(self.spark, self.store)
        said = dict(self.checkpoint.last())
        if plan.captures:
            with told("judge captures", self.place(plan.number)):
                said = self._captures(plan)
        self.checkpoint.commit(plan, said)
        for line in self._lines(plan.number):
            self.say(line)
        for old in (self.store.folder / FACTS.name).glob("batch=*/what=flow"):
            if int(old.parent.name.partition("=")[2]) < int(self.checkpoint.last().get("flows", -1)):
                shutil.rmtree(old, ignore_errors=True)
        self.say(f"batch {plan.number}: {len(plan.captures)} captures, {len(plan.results)} results")

    def _captures(self, plan: BatchPlan) -> dict[str, Any]:
        before = self.checkpoint.last()
        flows = self._flows(before)
        facts = self._facts(plan, flows, before.get("newest", 0))
        facts.write.mode("overwrite").option("partitionOverwriteMode", "static").partitionBy("what").parquet(
            self.place(plan.number)
        )
        written = self._read(self.place(plan.number))
        self._alert(plan, written.where("what = 'finding'"), self._across(plan, flows, written))
        newest = written.agg(F.max("time")).collect()[0][0] or 0
        return {"newest": max(newest, before.get("newest", 0)), "flows": plan.number, "code": code()}

    def _flows(self, before: Mapping[str, Any]) -> int | None:
        """The batch whose flows go on; None for none, also where another version of this program kept them."""
        flows: int | None = before.get("flows")
        if flows is not None and before.get("code") != code():
            self.say(
                f"connections that were open at batch {flows} were kept by another version: they go on as met under way"
            )
            return None
        return flows

    def _facts(self, plan: BatchPlan, flows: int | None, newest: int) -> DataFrame:
        """The facts of the batch, and the flows that go on."""
        rows = packets(self.spark, plan.captures, first=plan.first, packed=True)
        if flows is not None:
            kept = self._read(self.place(flows)).where("what = 'flow'").mapInArrow(_as_packets, schema(PackedRow))
            rows = rows.unionByName(kept)
        return by_flow(rows).mapInArrow(partial(_go_on, self.ports, newest), schema(AuditRow))

    def _read(self, place: str) -> DataFrame:
        """The facts of a batch, or, with a pattern, of several."""
        return self.spark.read.schema(schema(AuditRow)).option("basePath", place.partition("batch=")[0].rstrip("/")).parquet(
            place
        ).select(*schema(AuditRow).names)  # fmt: skip

    def _across(self, plan: BatchPlan, flows: int | None, written: DataFrame) -> list[AuditRow]:
        """What the laws that look across connections find new in this batch."""
        file = self._state / f"{flows}.pickle"
        across = audit.Across()
        if flows is not None and file.is_file():
            across = pickle.loads(file.read_bytes())  # noqa: S301 - written by us, below our own folder
        rows = [AuditRow(*row) for row in written.where("what = 'handshake'").collect()]
        for row in sorted(rows, key=order_of):
            across.feed(row._replace(data=bytes(row.data)))
        found = list(across.drain())
        (self._state / f"{plan.number}.pickle").write_bytes(pickle.dumps(across, pickle.HIGHEST_PROTOCOL))
        for old in self._state.glob("*.pickle"):
            if int(old.stem) not in (plan.number, flows):
                old.unlink()
        made = rows_as(self.spark, found, AuditRow)
        made.write.mode("overwrite").parquet(f"{self.store.place(Kept('facts_across', AuditRow))}/batch={plan.number}")
        return found

    def _alert(self, plan: BatchPlan, findings: DataFrame, across: Sequence[AuditRow]) -> None:
        """Write what is new: a signature of a node that no batch before had."""
        known = {(row["signature"], row["node"]) for number in range(plan.number) for row in self._of(number)}
        first: dict[tuple[str, str], AuditRow] = {}
        rows = [AuditRow(*row) for row in findings.collect()]
        for row in sorted(
            [*rows, *(row for row in across if row.what == "finding")], key=lambda row: (row.time, row.id)
        ):
            first.setdefault((row.signature, row.node), row)
        told_ = [_alert_of(row) for key, row in first.items() if key not in known]
        fresh = self._alerts / f"{plan.number:08}.new"
        fresh.write_text("".join(json.dumps(row) + "\n" for row in told_), encoding="utf-8")
        fresh.replace(fresh.with_suffix(".jsonl"))
        self.failed = self.failed or any(row["verdict"] == "fail" for row in told_)

    def _of(self, number: int) -> list[dict[str, Any]]:
        """The alerts of a batch."""
        file = self._alerts / f"{number:08}.jsonl"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []

    def _lines(self, number: int) -> Iterator[str]:
        for row in self._of(number):
            yield f"{row['verdict']}  {row['node']} {row['zid']}  {row['requirement']}: {row['cause']} (packet {row['packet']})"

    def tables(self) -> None:
        """Make the tables of all facts. Raises CannotGoOn."""
        every = [path for name in ("facts", "facts_across") for path in self.store.folder.glob(f"{name}/batch=*")]
        if not every:
            return
        with told("make the tables", str(self.store.folder)):
            parts = [
                self._read(f"{self.store.place(Kept(name, AuditRow))}/batch=*") for name in ("facts", "facts_across")
            ]
            facts = parts[0].unionByName(parts[1]).where(~F.col("what").isin(*KEPT)).persist()
            for kept, stage in TABLES:
                self.store.put(stage(facts), kept)
            self.judged = facts.where("what = 'subjects'").limit(1).count() > 0
            facts.unpersist()


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


def _as_packets(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    kept = (packet_of(row) for row in rows_of(AuditRow, parts))
    yield from batches(PackedRow, (each for row in kept for each in gathered([row])), 16)


def _go_on(ports: frozenset[int], newest: int, parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches(AuditRow, goes_on(packet_rows(parts), ports, newest))
