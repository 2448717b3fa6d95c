"""What the sources share: many files, bundled to tasks by size, read as rows, filtered before they become a table."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from zenoh_reports.pipeline.types import batches, schema

BUNDLE_BYTES: Final = 32 << 20
BUNDLE_FILES: Final = 2000
"""A task's share: many small files, or one that is large."""


class Bundle(InputPartition):
    """Files that one task reads."""

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__(tuple(files))
        self.files = tuple(files)


Wanted = Mapping[str, frozenset[Any]]
"""Column to the values that are asked for."""


class FileSource(DataSource):
    """A source over files; a subclass names its row and how a file is read. Option `paths`: a JSON list of files."""

    row: ClassVar[type]
    title: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        return cls.title

    def schema(self) -> StructType:
        return schema(self.row)

    def reader(self, schema: StructType) -> DataSourceReader:
        return FileReader(self.row, type(self).rows, self.paths(), self.wanted())

    def paths(self) -> list[str]:
        """The files, in the order in which they were given. Raises ValueError for an option that is no list."""
        given = json.loads(self.options.get("paths", "[]"))
        if not isinstance(given, list):
            raise ValueError(f"option 'paths' of {self.title} is a JSON list of files")
        return [str(path) for path in given]

    def wanted(self) -> dict[str, frozenset[Any]]:
        """Option `wanted`: columns, and the values of each that are asked for, as JSON."""
        given = json.loads(self.options.get("wanted", "{}"))
        return {str(name): frozenset(values) for name, values in given.items()}

    @staticmethod
    def rows(path: str, wanted: Wanted) -> Iterator[Any]:
        """The rows of one file. `wanted` may be used to read less; rows are held against it again."""
        raise NotImplementedError


@dataclass
class FileReader(DataSourceReader):
    """Reads bundles of files; what is not wanted is left out before a row becomes part of a table."""

    row: type
    rows: Callable[[str, Wanted], Iterator[Any]]
    files: Sequence[str]
    wanted: dict[str, frozenset[Any]] = field(default_factory=dict)

    def partitions(self) -> Sequence[InputPartition]:
        return [Bundle(files) for files in bundles(self.files)] or [Bundle(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Bundle)
        found = (row for path in partition.files for row in self.rows(path, self.wanted))
        yield from batches(self.row, kept(found, self.wanted))


def kept(rows: Iterable[Any], wanted: Wanted) -> Iterator[Any]:
    """The rows whose columns have the values that are asked for."""
    tests = tuple(wanted.items())
    return (row for row in rows if all(getattr(row, name) in values for name, values in tests))


def bundles(files: Sequence[str], most: int = BUNDLE_BYTES) -> list[list[str]]:
    """Files to tasks: neighbours together until they are `most` bytes or BUNDLE_FILES files."""
    made: list[list[str]] = []
    size = most + 1
    for path in files:
        own = size_of(path)
        if size + own > most or len(made[-1]) >= BUNDLE_FILES:
            made.append([])
            size = 0
        made[-1].append(path)
        size += own
    return made


def size_of(path: str) -> int:
    """Bytes of a file, 0 for one that is not there."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - asked a million times
    except OSError:
        return 0  # what cannot be read becomes a fault of its own when it is
