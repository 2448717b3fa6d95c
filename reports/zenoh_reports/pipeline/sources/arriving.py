"""`zenoh_arriving`: captures as they arrive in a folder, as a stream: one batch for each plan of a checkpoint.

A batch begins with one row for each bucket of flows (`TICK`), which says the time of the newest packet of earlier batches: so that
flows on which nothing came are seen too. The offset is the number of plans, and that time; Spark keeps it, and a batch that is done
again has the same files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from zenoh_reports.pipeline.types import batches, schema
from zenoh_reports.plain.follow import Arrivals, Checkpoint
from zenoh_reports.plain.packets import SPAN, PackedRow, gathered, in_order, rows, spans

from .capture import PACKED_ROWS, CapturePartition, bundled

TICK: Final = "tick"
"""Stands for the hosts of a row that is no packet; its flow is the bucket, its place the time."""
BUCKETS: Final = 32
"""Parts of the state; a checkpoint is bound to it."""


class ArrivingSource(DataSource):
    """Packets, packed by flow.

    Options: `folder`, `checkpoint`, `settled` (the seconds for which a file must not have changed), `once` (it is asked one time).
    """

    @classmethod
    def name(cls) -> str:
        return "zenoh_arriving"

    def schema(self) -> StructType:
        return schema(PackedRow)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        given = self.options
        return ArrivingReader(given["folder"], given["checkpoint"], float(given["settled"]), given["once"] == "true")


class TickPartition(InputPartition):
    """The rows that say how late it is."""

    def __init__(self, newest: int) -> None:
        super().__init__(newest)
        self.newest = newest


@dataclass
class ArrivingReader(DataSourceStreamReader):
    """Plans a batch of what has arrived, and reads it."""

    folder: str
    checkpoint: str
    settled: float
    once: bool

    def __post_init__(self) -> None:
        self._arrivals = Arrivals(Path(self.folder), self.settled)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return {"plans": 0, "newest": 0}  # Spark asks again where it has committed no batch, though ours is committed

    def latestOffset(self, start: dict[str, Any], limit: object) -> dict[str, Any]:  # noqa: N802 - Spark's name
        checkpoint = Checkpoint(Path(self.checkpoint))
        plan = checkpoint.plan(start["plans"], self._arrivals.once if self.once else self._arrivals)
        return start if plan is None else {"plans": plan.number + 1, "newest": checkpoint.last().get("newest", 0)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start["plans"] == end["plans"]:
            return []
        checkpoint = Checkpoint(Path(self.checkpoint))
        plans = [checkpoint.plans[number] for number in range(start["plans"], end["plans"])]
        parts = [
            part for plan in plans for at, path in enumerate(in_order(plan.captures), plan.first)
            for part in spans(path, at, SPAN)
        ]  # fmt: skip
        return [TickPartition(end["newest"]), *map(CapturePartition, bundled(parts, SPAN))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, TickPartition):
            yield from batches(PackedRow, [PackedRow(TICK, str(at), partition.newest, b"") for at in range(BUCKETS)])
        elif isinstance(partition, CapturePartition):
            found = (row for part in partition.parts for row in rows(part))
            yield from batches(PackedRow, gathered(found), PACKED_ROWS)
