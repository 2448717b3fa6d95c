"""Packets to flows, batches, messages: each stage equals its namesake in `zenoh_reports.plain.traffic`.

Packets go to tasks by their pair of hosts, and are sorted there by flow and place: Spark's own sort, which spills to disk.
The Python that follows reads a stream and holds one flow. Arrow both ways, since rows of bytes are what pickling is slow at.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_harness.files.captures import PORTS, FlowConnections
from zenoh_reports.plain import traffic
from zenoh_reports.plain.packets import SPAN, PacketRow, in_order, scattered
from zenoh_reports.plain.traffic import BY, BatchRow, CountRow, FlowRow, MessageRow

from .sources import table
from .types import batches, rows_of, schema

Made = Callable[[FlowConnections], Iterable[Any]]


def packets(
    spark: SparkSession, files: Sequence[str], span: int = SPAN, first: int = 0, *, packed: bool = False
) -> DataFrame:
    """The packets of captures, which are numbered from `first` in the order of their first packets (`zenoh_capture`).

    `packed`: several to a row, which is what the stages below want where nothing else is done with packets.
    """
    return table(spark, "zenoh_capture", in_order(files), span=str(span), first=str(first), packed=str(packed).lower())


def packet_rows(parts: Iterable[pa.RecordBatch]) -> Iterator[PacketRow]:
    """The packets of Arrow batches, packed or not."""
    for part in parts:
        if "packed" in part.schema.names:
            for packed in part.column("packed").to_pylist():
                yield from scattered(packed)
        else:
            yield from rows_of(PacketRow, [part])


def by_flow(packets: DataFrame, tasks: int | None = None) -> DataFrame:
    """Packets where what belongs together is in one task, in the order in which it is heard."""
    key = F.when(alone(), F.col("flow")).otherwise(F.col("hosts"))
    spread = packets.repartition(tasks, key) if tasks else packets.repartition(key)
    return spread.sortWithinPartitions(*BY)


def alone() -> Any:
    """Two ends at one address: nothing but the flow tells them apart, and IP does not cut what goes over a loopback."""
    pair = F.split("hosts", " ")
    return (F.element_at(pair, 1) == F.element_at(pair, -1)) & (F.col("flow") != "")


def flows(packets: DataFrame, ports: Iterable[int] = ()) -> DataFrame:
    """One row a connection of Zenoh's."""
    return _stage(packets, FlowRow, traffic.flow_rows, ports)


def batched(packets: DataFrame, ports: Iterable[int] = ()) -> DataFrame:
    """One row a batch, and one for each thing that happened to a link."""
    return _stage(packets, BatchRow, traffic.batch_rows, ports)


def messages(packets: DataFrame, ports: Iterable[int] = ()) -> DataFrame:
    """One row a message, outer ones before what they hold."""
    return _stage(packets, MessageRow, traffic.message_rows, ports)


def counts(packets: DataFrame, ports: Iterable[int] = ()) -> DataFrame:
    """What is in the captures beside what is said, by what it is."""
    found = by_flow(packets).mapInArrow(partial(_count, _all(ports)), schema(CountRow))
    return found.groupBy("what").agg(F.sum("amount").alias("amount"))


def _all(ports: Iterable[int]) -> frozenset[int]:
    return PORTS | frozenset(ports)


def _stage(packets: DataFrame, row: type, made: Made, ports: Iterable[int]) -> DataFrame:
    return by_flow(packets).mapInArrow(partial(_rows_of_flows, row, made, _all(ports)), schema(row))


def _rows_of_flows(
    row: type, made: Made, ports: frozenset[int], parts: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What a task does with its packets: hear them, and make rows of each flow."""
    flows = traffic.heard_all(packet_rows(parts), ports)
    yield from batches(row, (row for said in flows for row in made(said)))


def _count(ports: frozenset[int], parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hear packets, and keep what is counted beside."""
    counted: Counter[str] = Counter()
    deque(traffic.heard_all(packet_rows(parts), ports, counted), maxlen=0)
    yield from batches(CountRow, traffic.count_rows(counted))
