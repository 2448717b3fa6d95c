"""Builds the page of one run: verdict, deviations, judged requirements, and what was not judged and why."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.cases.faults import faults
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_reports.exports import badges
from zenoh_reports.pages import front, links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain import fold
from zenoh_reports.plain.fold import EXPLAINED, Cell
from zenoh_reports.plain.runs import Run


def make(site: Site, run: Run) -> None:
    """Add the page."""
    report = site.report
    cells = report.tables[run.slug]
    site.page(
        links.run(run),
        "run.html",
        run=run,
        line=front.line(report, run),
        findings=[(fault, report.page_of(fault.first)) for fault in faults(run.judgements)],
        found=report.found[run.slug],
        silence=fold.silence(cells),
        explained=EXPLAINED,
        pages=entries_by_page(report, run),
        anomalies=[anomaly for anomaly in report.anomalies if anomaly.run is run],
        pending=run.results.pending[:500],
        badge_text=badges.markdown(run, report.url),
    )


def entries_by_page(report: Report, run: Run) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the judged requirements by page of the specification."""
    cells = report.tables[run.slug]
    pages = fold.by_page(ident for ident, cell in cells.items() if cell.counted)
    return [(page, [entry(report, run, ident, cells[ident]) for ident in idents]) for page, idents in pages]


def entry(report: Report, run: Run, ident: str, cell: Cell) -> dict[str, Any]:
    """Return one requirement with the checks that judged it."""
    checks: dict[tuple[str, str], list[Judgement]] = {}
    for one in cell.judgements:
        checks.setdefault((one.verdict.value, one.key.check), []).append(one)
    return {
        "id": ident,
        "cell": cell,
        "says": fold.says(ident),
        "level": fold.level(ident, cell.judgements[0].level),
        "checks": [
            {
                "verdict": verdict,
                "check": check,
                "count": len(ones),
                "page": report.page_of(ones[0]),
                "cause": ones[0].cause,
            }
            for (verdict, check), ones in sorted(checks.items(), key=lambda item: order(item[0][0]))
        ],
    }


def order(verdict: str) -> int:
    """Return a sort key that puts the most severe verdict first."""
    return -Verdict(verdict).severity
