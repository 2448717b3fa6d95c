"""Builds the interoperability table: rows listen, columns connect."""

from __future__ import annotations

from dataclasses import dataclass

from zenoh_conformance.judging.verdict import Verdict
from zenoh_reports.pages import front, links
from zenoh_reports.pages.site import Site
from zenoh_reports.plain.runs import Run
from zenoh_reports.plain.versions import natural

ARROW = " <- "


@dataclass(frozen=True, slots=True)
class Met:
    """The result of one pair."""

    run: Run
    verdict: str
    counts: tuple[tuple[Verdict, int], ...]


def sides(run: Run) -> tuple[str, str]:
    """Return (listens, connects) from the name of a pair."""
    listens, _, connects = run.identity.name.partition(ARROW)
    return listens, connects or listens


def make(site: Site) -> None:
    """Add the page."""
    report = site.report
    if not report.pairs:
        return
    met: dict[tuple[str, str], list[Met]] = {}
    for run in report.pairs:
        line = front.line(report, run)
        worst = line.counts[0][0].value if line.counts else Verdict.NOT_OBSERVED.value
        verdict = worst if run.complete else "error"
        met.setdefault(sides(run), []).append(Met(run, verdict, line.counts))
    names = sorted({name for pair in met for name in pair}, key=natural)
    site.page(links.INTEROP, "interop.html", names=names, met=met)
