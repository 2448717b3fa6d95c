"""Files in any of Hadoop's file systems: listed and read by Spark's own readers, with the settings that Spark has for them.

A worker writes the file that it was given into its temporary folder, and reads it there as a file of this machine is read. One
file is the work of one task, and is at most 2 GB, which is what a value of Spark holds.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_reports.plain import results
from zenoh_reports.plain.captures import CaptureRow, capture_id
from zenoh_reports.plain.packets import PackedRow, Span, gathered, rows
from zenoh_reports.plain.results import ResultRow
from zenoh_reports.plain.runs import RESULTS

from .places import is_uri, told
from .types import batches, schema

CAPTURES: Final = r"\.(pcap|pcapng|cap)(\.(gz|bz2|xz))?$"
OF_RESULTS: Final = rf"/{re.escape(RESULTS)}(\.gz)?$"
ROWS: Final = 1024
"""Rows of an Arrow batch: packed packets are large."""
Read = Callable[[Path, str], Iterator[Any]]
"""Rows of a file that lies here, and has another name where it came from."""


def list_files(spark: SparkSession, places: Sequence[str], names: str) -> list[str]:
    """The files below these addresses whose names match, and those that are named themselves, sorted. Raises CannotGoOn."""
    with told("list the files", ", ".join(places)):
        files = _files(spark, places).select("path").collect()
        return sorted(row.path for row in files if _matches(row.path, names) or row.path in places)


def split(files: Iterable[str]) -> tuple[list[str], list[str]]:
    """Files of this machine, and those that have a URI."""
    every = list(files)
    return [path for path in every if not is_uri(path)], [path for path in every if is_uri(path)]


def _matches(path: str, names: str) -> bool:
    return re.search(names, path) is not None


def _files(spark: SparkSession, places: Sequence[str]) -> DataFrame:
    return spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(list(places))


def result_lines(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """The lines of results files, as `zenoh_results` has them of files of this machine."""
    return _contents(spark, files).mapInArrow(partial(_read_all, ResultRow, _result_rows), schema(ResultRow))


def _result_rows(path: Path, name: str) -> Iterator[ResultRow]:
    return results.rows(str(path), name)


@dataclass(frozen=True, slots=True)
class CaptureHead:
    """What is known of a capture before its packets are numbered."""

    path: str
    first: int
    """Time of its first packet in nanoseconds since 1970; 0 if it has none."""
    capture: str


def capture_rows(spark: SparkSession, files: Sequence[str]) -> list[CaptureRow]:
    """The captures in the order of their first packets, as `plain.captures.capture_rows` has them of files of this machine."""
    heads = _contents(spark, files).mapInArrow(partial(_read_all, CaptureHead, _head), schema(CaptureHead)).collect()
    order = sorted(heads, key=lambda head: (head.first == 0, head.first, head.path))
    return [CaptureRow(index, head.path, head.capture) for index, head in enumerate(order)]


def _head(path: Path, name: str) -> Iterator[CaptureHead]:
    times = (row.time for row in rows(Span(str(path), 0)) if row.kind in ("unit", "piece"))
    yield CaptureHead(name, next(times, 0), capture_id(str(path)))


def packets(spark: SparkSession, captures: Sequence[CaptureRow]) -> DataFrame:
    """The packets of captures, several to a row, as `traffic.packets` has them of files of this machine."""
    read = partial(_pack, {each.path: each.file for each in captures})
    found = _contents(spark, [each.path for each in captures])
    return found.mapInArrow(partial(_read_all, PackedRow, read), schema(PackedRow))


def _pack(numbers: Mapping[str, int], path: Path, name: str) -> Iterator[PackedRow]:
    return gathered(row._replace(file=name) for row in rows(Span(str(path), numbers[name])))


def _contents(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Path, time and content, one file a row and a task."""
    found = _files(spark, files).select("path", F.unix_timestamp("modificationTime").alias("time"), "content")
    return found.repartition(max(1, len(files)), "path")


def _read_all(row: type, read: Read, parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for part in parts:
        for path, time, content in zip(*(column.to_pylist() for column in part.columns), strict=True):
            with tempfile.TemporaryDirectory(prefix="zreports-") as folder:
                copy = Path(folder) / "file"
                copy.write_bytes(content)
                os.utime(copy, (time, time))
                yield from batches(row, read(copy, path), ROWS)
