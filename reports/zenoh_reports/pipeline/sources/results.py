"""`zenoh_results`: results files, one row a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from zenoh_reports.plain.results import ResultRow, rows

from .files import FileSource, Wanted


class ResultsSource(FileSource):
    """Header, plan, judgements, footer and faults of results files; asked for headers only, it reads one line of each."""

    row = ResultRow
    title = "zenoh_results"

    @staticmethod
    def rows(path: str, wanted: Wanted) -> Iterator[ResultRow]:
        only_header = wanted.get("type") == frozenset({"header"})
        return islice(rows(path), 1) if only_header else rows(path)
