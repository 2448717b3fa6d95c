"""`zenoh_results`: results files, one row a line; a large file is the work of many tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from zenoh_reports.pipeline.types import batches
from zenoh_reports.plain.results import LineSpan, ResultRow, line_spans, rows, span_rows

from .files import BUNDLE_BYTES, FileSource, Wanted, bundles, kept, size_of

SPAN: Final = 16 << 20
"""Bytes of a file that one task reads: a million judgements are some 300 MB."""


class SpansPartition(InputPartition):
    """The parts of files that one task reads."""

    def __init__(self, parts: Sequence[LineSpan]) -> None:
        super().__init__(None)
        self.parts = tuple(parts)


@dataclass
class ResultsReader(DataSourceReader):
    """Reads small files together, and a large one in parts."""

    files: Sequence[str]
    wanted: Wanted = field(default_factory=dict)
    span: int = SPAN

    def partitions(self) -> Sequence[InputPartition]:
        small = [path for path in self.files if size_of(path) <= self.span]
        large = [part for path in self.files if size_of(path) > self.span for part in self._spans(path)]
        made = [SpansPartition([LineSpan(path) for path in bundle]) for bundle in bundles(small, BUNDLE_BYTES)]
        return [*made, *(SpansPartition([part]) for part in large)] or [SpansPartition(())]

    def _spans(self, path: str) -> list[LineSpan]:
        return [LineSpan(path)] if self._only_header else line_spans(path, self.span)

    @property
    def _only_header(self) -> bool:
        return self.wanted.get("type") == frozenset({"header"})

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SpansPartition)
        if self._only_header:
            found = (row for part in partition.parts for row in islice(rows(part.path), 1))
        else:
            found = (row for part in partition.parts for row in span_rows(part))
        yield from batches(ResultRow, kept(found, self.wanted))


class ResultsSource(FileSource):
    """Header, plan, judgements, footer and faults of results files; asked for headers only, it reads one line of each.

    Option `span`: about how many bytes of a file one task reads.
    """

    row = ResultRow
    title = "zenoh_results"

    def reader(self, schema: StructType) -> DataSourceReader:
        return ResultsReader(self.paths(), self.wanted(), int(self.options.get("span", SPAN)))

    @staticmethod
    def rows(path: str, wanted: Wanted) -> Iterator[Any]:
        only_header = wanted.get("type") == frozenset({"header"})
        return islice(rows(path), 1) if only_header else rows(path)
