"""Builds the front page: one line per target, anomalies, changes, and what was not judged."""

from __future__ import annotations

from dataclasses import dataclass

from zenoh_conformance.judging.verdict import WORST_FIRST, Verdict
from zenoh_reports.pages import changes, links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain import fold
from zenoh_reports.plain.fold import EXPLAINED, DeviationGroup, Why
from zenoh_reports.plain.runs import Run


@dataclass(frozen=True, slots=True)
class TargetSummary:
    """The line of one target."""

    run: Run
    counts: tuple[tuple[Verdict, int], ...]
    """The number of judged requirements by verdict."""
    judged: int
    total: int
    worst: DeviationGroup | None

    @property
    def share(self) -> str:
        """The share of requirements that were judged."""
        return f"{100 * self.judged / self.total:.0f} %" if self.total else "0 %"


def make(site: Site) -> None:
    """Add the page."""
    report = site.report
    site.page(
        links.FRONT,
        "front.html",
        lines=[line(report, run) for run in report.single],
        pairs=[line(report, run) for run in report.pairs],
        silence=silence(report),
        changes=changes.since(report),
        explained=EXPLAINED,
        steps=changes.steps(report),
    )


def line(report: Report, run: Run) -> TargetSummary:
    """Summarise one run for the front page."""
    cells = report.tables[run.slug]
    tally = fold.tally(cells)
    judged = [(verdict, tally[verdict]) for verdict in WORST_FIRST if tally[verdict] and not verdict.says_nothing]
    found = report.found[run.slug]
    return TargetSummary(run, tuple(judged), sum(n for _, n in judged), len(cells), found[0] if found else None)


def silence(report: Report) -> list[tuple[Why, list[int]]]:
    """Return each reason for a missing verdict, with the number of requirements on each target."""
    each = [fold.silence(report.tables[run.slug]) for run in report.single]
    return [(why, [len(one.get(why, ())) for one in each]) for why in Why if any(why in one for one in each)]
