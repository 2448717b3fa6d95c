"""Writes the two tables as CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from zenoh_harness.errors import CannotGoOn
from zenoh_harness.files.results import check_label
from zenoh_reports.exports.document import verdicts
from zenoh_reports.pages.site import Report
from zenoh_reports.plain.runs import shown

_FORMULA: Final = frozenset({"=", "+", "-", "@", "\t", "\r"})
"""First characters that a spreadsheet takes for a formula."""
JUDGEMENTS: Final = (
    "id",
    "target",
    "version",
    "kind",
    "role",
    "profile",
    "link",
    "requirement",
    "level",
    "check",
    "verdict",
    "reading",
    "cause",
    "end",
    "attempts",
    "repeat",
)
REQUIREMENTS: Final = ("target", "requirement", "verdict", "why", "judgements", "cause", "page")


def judgement_rows(report: Report) -> list[dict[str, Any]]:
    """Return one row per judgement, in the order of the results."""
    return [
        {
            "id": run.slug,
            "target": shown(one.key.target),
            "version": shown(one.key.version),
            "kind": shown(run.identity.kind),
            "role": one.key.role,
            "profile": shown(one.key.profile),
            "link": shown(one.key.link),
            "requirement": shown(one.key.requirement),
            "level": one.level,
            "check": shown(check_label(one.key.check, one.key.parameters), 300),
            "verdict": one.verdict.value,
            "reading": one.reading or "",
            "cause": shown(one.cause, 500),
            "end": shown(one.end),
            "attempts": one.attempts,
            "repeat": shown(one.repeat, 500),
        }
        for run in report.runs
        for one in run.judgements
    ]


def requirement_rows(report: Report) -> list[dict[str, Any]]:
    """Return one row per requirement and target."""
    return [row for run in report.runs for row in verdicts(report, run)]


def as_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return CSV; cells that a spreadsheet would take for a formula get a leading quote."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    cells = itemgetter(*columns)
    writer.writerows([_harmless(value) for value in cells(row)] for row in rows)
    return out.getvalue()


def _harmless(value: Any) -> Any:
    return f"'{value}" if type(value) is str and value[:1] in _FORMULA else value


def as_parquet(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """Return a Parquet file. Raises CannotGoOn if pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as missing:
        hint = "install zenoh-conformance[spark], or leave --parquet out"
        raise CannotGoOn("pyarrow is not installed", step="--parquet", hint=hint) from missing
    numbers = {"attempts", "judgements"}
    schema = pa.schema([(name, pa.int64() if name in numbers else pa.string()) for name in columns])
    table = pa.table({name: [row[name] for row in rows] for name in columns}, schema=schema)
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return bytes(sink.getvalue())
