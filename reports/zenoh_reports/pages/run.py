"""The page of one run: verdict, deviations, every requirement that was judged, and what was not, and why."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.verdict import WORST_FIRST, Judgement
from zenoh_reports.pages import front, links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain import fold
from zenoh_reports.plain.fold import EXPLAINED, Cell
from zenoh_reports.plain.runs import Run


def make(site: Site, run: Run) -> None:
    """Write it."""
    report = site.report
    cells = report.tables[run.slug]
    site.page(
        links.run(run), "run.html", run=run, line=front.line(report, run), found=report.found[run.slug],
        silence=fold.silence(cells), explained=EXPLAINED, pages=list(judged(report, run)), says=fold.says, level=fold.level,
        anomalies=[one for one in report.anomalies if one.run is run], pending=run.results.pending[:500],
    )  # fmt: skip


def judged(report: Report, run: Run) -> list[tuple[str, list[dict[str, Any]]]]:
    """What was judged, under the pages of the specification."""
    cells = report.tables[run.slug]
    pages = fold.by_page(ident for ident, cell in cells.items() if cell.counted)
    return [(page, [entry(report, run, ident, cells[ident]) for ident in idents]) for page, idents in pages]


def entry(report: Report, run: Run, ident: str, cell: Cell) -> dict[str, Any]:
    """One requirement with the checks that judged it."""
    checks: dict[tuple[str, str], list[Judgement]] = {}
    for one in cell.judgements:
        checks.setdefault((one.verdict.value, one.key.check), []).append(one)
    return {
        "id": ident, "cell": cell, "says": fold.says(ident), "level": fold.level(ident, cell.judgements[0].level),
        "checks": [
            {"verdict": verdict, "check": check, "count": len(ones), "page": report.page_of(ones[0]), "cause": ones[0].cause}
            for (verdict, check), ones in sorted(checks.items(), key=lambda item: order(item[0][0]))
        ],
    }  # fmt: skip


def order(verdict: str) -> int:
    """The gravest first."""
    names = [each.value for each in WORST_FIRST]
    return names.index(verdict)
