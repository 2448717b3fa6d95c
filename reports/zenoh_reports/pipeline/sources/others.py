"""`zenoh_campaign`, `zenoh_conversation`, `zenoh_vectors`, `zenoh_requirements`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zenoh_reports.plain import campaigns, denominators, recordings
from zenoh_vectors.loader import data_folder

from .files import FileSource, Wanted


class CampaignSource(FileSource):
    """Manifests (or folders) of campaigns: manifest, events, ledger, and what could not be read."""

    row = campaigns.CampaignRow
    title = "zenoh_campaign"

    @staticmethod
    def rows(path: str, wanted: Wanted) -> Iterator[Any]:
        return campaigns.rows(path)


class ConversationSource(FileSource):
    """Recordings: one row an event."""

    row = recordings.EventRow
    title = "zenoh_conversation"

    @staticmethod
    def rows(path: str, wanted: Wanted) -> Iterator[Any]:
        return recordings.rows(path)


class VectorsSource(FileSource):
    """Golden vectors: those of the package where no path is given."""

    row = denominators.VectorRow
    title = "zenoh_vectors"

    def paths(self) -> list[str]:
        """The files that were given, or the package's own."""
        return super().paths() or sorted(str(file) for file in data_folder().rglob("*.json"))

    @staticmethod
    def rows(path: str, wanted: Wanted) -> Iterator[Any]:
        return denominators.vector_rows(path)


class RequirementsSource(FileSource):
    """The requirements that the package has; there is nothing to name."""

    row = denominators.RequirementRow
    title = "zenoh_requirements"

    def paths(self) -> list[str]:
        """One task's work."""
        return [""]

    @staticmethod
    def rows(path: str, wanted: Wanted) -> Iterator[Any]:
        return denominators.requirement_rows()
