"""Flows that go on from batch to batch, in Spark's own state store: the same as `zenoh_reports.plain.follow.goes_on`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from zenoh_reports.plain import audit, traffic
from zenoh_reports.plain.audit import AuditRow
from zenoh_reports.plain.follow import goes_on, packet_of
from zenoh_reports.plain.packets import PacketRow, scattered

from .sources.arriving import BUCKETS, TICK
from .traffic import alone
from .types import batches, rows_of, schema

PROVIDER: Final = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}
"""
The state store that keeps maps.

It is made before the first batch is planned: a job that was ended in between leaves a store in which nothing is, and goes on with it.
"""
ACROSS: Final = "across"
"""The fact that holds the laws that look across connections, for the next batch."""


@dataclass
class FlowState(StatefulProcessor):
    """Judges the packets of a bucket of flows, and keeps the flows that go on.

    `code`: what wrote the state; another version of this program cannot read it, and meets its flows under way.
    """

    ports: frozenset[int]
    code: str
    flows: Any = field(default=None)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self.flows = handle.getMapState(
            "flows", "flow string", "hosts string, newest long, code string, listener binary"
        )

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803 - Spark's names
        """The facts of one batch."""
        newest, packets = 0, list[PacketRow]()
        for row in rows:
            if row.hosts == TICK:
                newest = row.place
            else:
                packets += scattered(bytes(row.packed))
        before = dict(self._rows_before())
        after: set[str] = set()
        for fact in goes_on(traffic.sorted_rows([*before.values(), *packets]), self.ports, newest):
            if fact.what == "flow":
                after.add(fact.connection)
                self.flows.updateValue((fact.connection,), (fact.node, fact.time, self.code, bytes(fact.data)))
            else:
                yield Row(**fact._asdict())
        for flow in before.keys() - after:
            self.flows.removeKey((flow,))

    def _rows_before(self) -> Iterator[tuple[str, PacketRow]]:
        """The flows of earlier batches, as they stand among packets."""
        for (flow,), (hosts, newest, code, listener) in list(self.flows.iterator()):
            if code == self.code:
                yield flow, packet_of(AuditRow("flow", connection=flow, node=hosts, time=newest, data=bytes(listener)))
            else:
                self.flows.removeKey((flow,))

    def close(self) -> None:
        """Nothing is open."""


def bucket() -> Column:
    """What belongs together, and the ticks, as one of BUCKETS."""
    key = F.when(alone(), F.col("flow")).otherwise(F.col("hosts"))
    return F.when(F.col("hosts") == TICK, F.col("flow").cast("int")).otherwise(F.pmod(F.hash(key), F.lit(BUCKETS)))


def facts(packets: DataFrame, ports: frozenset[int], code: str) -> DataFrame:
    """The facts of each batch of a stream of packets."""
    return packets.withColumn("bucket", bucket()).groupBy("bucket").transformWithState(
        FlowState(ports, code), schema(AuditRow), "Append", "None"
    )  # fmt: skip


def across(handshakes: DataFrame, before: DataFrame | None, code: str) -> DataFrame:
    """What the laws that look across connections find new, and, last, these laws themselves, for the next batch.

    `before`: the row that holds them after the batch before. All are brought into one task: a few rows a session.
    """
    rows = handshakes if before is None else handshakes.unionByName(before)
    order = (F.col("what") != ACROSS, "file", "packet", "connection", "began", "kind", "data")

    def go_on(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(AuditRow, across_rows(rows_of(AuditRow, parts), code))

    return rows.repartition(1).sortWithinPartitions(*order).mapInArrow(go_on, schema(AuditRow))


def across_rows(rows: Iterator[AuditRow], code: str) -> Iterator[AuditRow]:
    """The same in one process; the laws of the batch before stand first, handshakes in their order."""
    laws = audit.Across()
    for row in rows:
        if row.what != ACROSS:
            laws.feed(row)
        elif row.detail == code:
            laws = pickle.loads(row.data)  # noqa: S301 - written by us, below our own folder
    yield from laws.drain()
    yield AuditRow(ACROSS, detail=code, data=pickle.dumps(laws, pickle.HIGHEST_PROTOCOL))
