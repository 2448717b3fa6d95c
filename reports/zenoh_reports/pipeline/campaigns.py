"""Campaigns over time. Each stage equals its namesake in `zenoh_reports.plain.campaigns`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from zenoh_harness.files.campaigns import MANIFEST
from zenoh_reports.plain.campaigns import CampaignRow, FoundRow, ProgressRow

from .commits import CAMPAIGN, CommitRow, new_commit
from .judgements import shaped
from .sources import table
from .store import Kept, Store

FACTS: Final = Kept("campaigns", CampaignRow)


def manifests(places: Sequence[Path]) -> list[str]:
    """The manifests below folders."""
    return sorted(str(file.resolve()) for place in places for file in place.rglob(MANIFEST))


def progress(campaigns: DataFrame) -> DataFrame:
    """Coverage over time."""
    found = campaigns.where("type = 'event' and event in ('begin', 'progress', 'end')")
    return shaped(found, ProgressRow).distinct()


def times_to_find(campaigns: DataFrame) -> DataFrame:
    """How long each signature took to find."""
    events = campaigns.where("type = 'event'")
    runs = events.groupBy("oracle").agg(F.count_distinct("campaign", "round").alias("of"))
    each_run = events.where("event = 'finding'").groupBy("oracle", "signature", "campaign", "round").agg(
        F.min("seconds").alias("seconds"), F.min("why").alias("why")
    )  # fmt: skip
    found = each_run.groupBy("oracle", "signature").agg(
        F.min("why").alias("why"), F.count("*").alias("runs"), F.min("seconds").alias("first"),
        F.percentile("seconds", 0.5).alias("middle"),
    )  # fmt: skip
    return shaped(found.join(runs, on="oracle", how="inner"), FoundRow)


def keep(spark: SparkSession, places: Sequence[Path], store: Store) -> int:
    """Campaigns below folders into the kept table; how many. One that it has with as many rows is left out. Raises CannotGoOn."""
    files = manifests(places)
    if files:
        rows, commit = table(spark, "zenoh_campaign", files).cache(), new_commit()
        counts = rows.groupBy("campaign").agg(F.max("day").alias("day"), F.count("*").alias("rows")).collect()
        before = store.log(spark).newest(CAMPAIGN)
        found = [CommitRow(commit, CAMPAIGN, row.campaign, row.day, row.rows) for row in counts]
        fresh = [row for row in found if row.name not in before or before[row.name].version < row.version]
        if fresh:
            store.append(rows.where(F.col("campaign").isin([row.name for row in fresh])), FACTS, commit)
            store.commit(spark, fresh)
        rows.unpersist()
    return len(files)


def facts(spark: SparkSession, store: Store) -> DataFrame:
    """The rows of all kept campaigns, each once. Raises CannotGoOn."""
    return store.newest(spark, FACTS, CAMPAIGN)
