"""Our files as Spark data sources: `spark.read.format("zenoh_results")`, each with a fixed schema and filters pushed down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from .capture import CaptureSource
from .files import FileSource
from .others import CampaignSource, ConversationSource, RequirementsSource, VectorsSource
from .results import ResultsSource

SOURCES: Final[dict[str, type[FileSource]]] = {
    each.title: each
    for each in (
        ResultsSource, CampaignSource, VectorsSource, RequirementsSource, ConversationSource, CaptureSource,
    )
}  # fmt: skip
"""By name."""


def table(
    spark: SparkSession, name: str, paths: Sequence[str] = (), wanted: Mapping[str, Sequence[str]] | None = None,
    **options: str,
) -> DataFrame:  # fmt: skip
    """The rows of files through the source of that name; `wanted`: only those whose columns have one of these values."""
    spark.dataSource.register(SOURCES[name])
    given = {
        "paths": json.dumps(list(paths)),
        "wanted": json.dumps({key: list(values) for key, values in (wanted or {}).items()}),
    }
    return spark.read.format(name).options(**given, **options).load()
