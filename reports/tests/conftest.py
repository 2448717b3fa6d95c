"""One Spark session for all tests of the pipeline: a session takes seconds to start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from zenoh_reports.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""For tables of a few rows: compiling a plan takes longer than running it."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    before = os.environ.get("JDK_JAVA_OPTIONS")
    os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1"  # the same of Java's own compiler
    try:
        with session("test", "local[2]", SMALL) as found:
            yield found
    finally:
        os.environ.pop("JDK_JAVA_OPTIONS")
        if before is not None:
            os.environ["JDK_JAVA_OPTIONS"] = before
