"""Any to any: who listens down, who connects across."""

from __future__ import annotations

from dataclasses import dataclass

from zenoh_conformance.verdict import Verdict
from zenoh_reports.pages import front, links
from zenoh_reports.pages.site import Site
from zenoh_reports.plain.runs import Run
from zenoh_reports.plain.versions import natural

ARROW = " <- "


@dataclass(frozen=True, slots=True)
class Met:
    """One pair."""

    run: Run
    verdict: str
    counts: tuple[tuple[Verdict, int], ...]


def sides(run: Run) -> tuple[str, str]:
    """(listens, connects) of a pair, as its name tells."""
    listens, _, connects = run.identity.name.partition(ARROW)
    return listens, connects or listens


def make(site: Site) -> None:
    """Write the table."""
    report = site.report
    if not report.pairs:
        return
    met: dict[tuple[str, str], list[Met]] = {}
    for run in report.pairs:
        line = front.line(report, run)
        worst = line.counts[0][0].value if line.counts else "not-observed"
        verdict = worst if run.complete else "error"
        met.setdefault(sides(run), []).append(Met(run, verdict, line.counts))
    names = sorted({name for pair in met for name in pair}, key=natural)
    site.page(links.INTEROP, "interop.html", names=names, met=met)
