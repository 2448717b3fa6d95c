"""`zenoh_capture`: pcap and pcapng files, compressed or not, one row a packet; a large file is the work of many tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from zenoh_reports.pipeline.types import batches, schema
from zenoh_reports.plain.packets import SPAN, PackedRow, PacketRow, Span, gathered, rows, spans

from .files import BUNDLE_FILES, FileSource, kept, size_of

ROWS = 2048
"""Rows of an Arrow batch: packets are large."""
PACKED_ROWS = 16


class CapturePartition(InputPartition):
    """The parts of files that one task reads."""

    def __init__(self, parts: Sequence[Span]) -> None:
        super().__init__(None)
        self.parts = tuple(parts)


class CaptureSource(FileSource):
    """Packets. Option `span`: about how many bytes of a file one task reads; `first`: the number of the first file;
    `packed`: rows are packets of one flow that stand close to each other (`PackedRow`), for what follows in Python."""

    row = PacketRow
    title = "zenoh_capture"

    @property
    def _packed(self) -> bool:
        return self.options.get("packed", "false") == "true"

    def schema(self) -> StructType:
        return schema(PackedRow if self._packed else PacketRow)

    def reader(self, schema: StructType) -> DataSourceReader:
        span, first = int(self.options.get("span", SPAN)), int(self.options.get("first", 0))
        return CaptureReader(self.paths(), span, first, self._packed, self.wanted())


@dataclass
class CaptureReader(DataSourceReader):
    """Reads spans; the files are numbered in the order in which they are given."""

    files: Sequence[str]
    span: int
    first: int = 0
    packed: bool = False
    wanted: dict[str, frozenset[Any]] = field(default_factory=dict)

    def partitions(self) -> Sequence[InputPartition]:
        files = self.wanted.get("file", frozenset(self.files))
        numbered = [(index, path) for index, path in enumerate(self.files, self.first) if path in files]
        every = [part for index, path in numbered for part in spans(path, index, self.span)]
        return [CapturePartition(parts) for parts in bundled(every, self.span)] or [CapturePartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, CapturePartition)
        found = (row for part in partition.parts for row in rows(part))
        if self.packed:
            yield from batches(PackedRow, gathered(found), PACKED_ROWS)
            return
        yield from batches(PacketRow, kept(found, self.wanted) if self.wanted else found, ROWS)


def bundled(parts: Sequence[Span], most: int) -> list[list[Span]]:
    """Parts to tasks: small files together, a part of a large one by itself."""
    made: list[list[Span]] = []
    room = 0
    for part in parts:
        own = most if part.begin or part.end >= 0 else min(most, size_of(part.path))
        if own > room or len(made[-1]) >= BUNDLE_FILES:
            made.append([])
            room = most
        made[-1].append(part)
        room -= own
    return made
