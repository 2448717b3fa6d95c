"""Schemas: a table's columns from the dataclass of its rows, as Spark's types and as Arrow's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Any, Final, get_args, get_origin, get_type_hints

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)  # fmt: skip

BATCH: Final = 4096
"""Rows of an Arrow batch."""
_PLAIN: Final[dict[Any, DataType]] = {
    str: StringType(), int: LongType(), float: DoubleType(), bool: BooleanType(), bytes: BinaryType(),
}  # fmt: skip


def _type(annotation: Any) -> DataType:
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    inner = [_type(one) for one in get_args(annotation)]
    if get_origin(annotation) is dict:
        return MapType(*inner)
    if get_origin(annotation) is list:
        return ArrayType(*inner)
    raise TypeError(f"no column holds {annotation!r}")


@cache
def schema(row: type) -> StructType:
    """The schema of a table of these rows. Raises TypeError for an annotation that no column holds."""
    hints = get_type_hints(row)
    return StructType([StructField(each.name, _type(hints[each.name])) for each in dataclasses.fields(row)])


@cache
def arrow_schema(row: type) -> pa.Schema:
    """The same for Arrow."""
    return to_arrow_schema(schema(row))


def batches(row: type, rows: Iterable[Any], size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches of at most `size`."""
    arrow = arrow_schema(row)
    values = attrgetter(*arrow.names)
    source = iter(rows)
    while part := list(islice(source, size)):
        arrays = [
            pa.array(column, kind) for column, kind in zip(zip(*map(values, part), strict=True), arrow.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=arrow)
