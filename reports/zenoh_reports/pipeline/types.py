"""Schemas: a table's columns from the dataclass of its rows, as Spark's types and as Arrow's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)  # fmt: skip

Row = TypeVar("Row")
BATCH: Final = 4096
"""Rows of an Arrow batch."""
_PLAIN: Final[dict[Any, DataType]] = {
    str: StringType(), int: LongType(), float: DoubleType(), bool: BooleanType(), bytes: BinaryType(),
}  # fmt: skip


def _type(annotation: Any) -> DataType:
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if get_origin(annotation) is list:
        return ArrayType(_type(get_args(annotation)[0]))
    raise TypeError(f"no column holds {annotation!r}")


@cache
def schema(row: type) -> StructType:
    """The schema of a table of these rows, a dataclass or a named tuple. Raises TypeError for an annotation that no column holds."""
    return StructType([StructField(name, _type(hint)) for name, hint in get_type_hints(row).items()])


@cache
def arrow_schema(row: type) -> pa.Schema:
    """The same for Arrow."""
    return to_arrow_schema(schema(row))


def batches(row: type, rows: Iterable[Any], size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches of at most `size`."""
    arrow = arrow_schema(row)
    values = None if issubclass(row, tuple) else attrgetter(*arrow.names)
    source = iter(rows)
    while part := list(islice(source, size)):
        by_column = zip(*(part if values is None else map(values, part)), strict=True)
        arrays = [_array(column, kind) for column, kind in zip(by_column, arrow.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=arrow)


def _array(column: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    """A column; most say the same in all rows of a batch, and that is told at once."""
    first = column[0]
    if kind != pa.float64() and column.count(first) == len(column):
        return pa.repeat(pa.scalar(first, kind), len(column))
    return pa.array(column, kind)


def rows_of(row: Callable[..., Row], parts: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """The rows of Arrow batches whose columns stand in the order of the row's fields."""
    for part in parts:
        yield from map(row, *(column.to_pylist() for column in part.columns))
