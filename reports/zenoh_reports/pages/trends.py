"""Builds the page of trends: the runs of one target by date, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from zenoh_reports.pages import front, links
from zenoh_reports.pages.overview import RED, Bar, bar_of
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain.runs import Run


@dataclass(frozen=True, slots=True)
class TrendLine:
    """One run of a trend."""

    summary: front.TargetSummary
    bar: Bar
    change: int
    """The number of red requirements more than in the run before; negative if there are fewer, 0 for the first run."""

    @property
    def red(self) -> int:
        """The number of red requirements."""
        return self.bar.counts.get(RED, 0)


@dataclass(frozen=True, slots=True)
class Trend:
    """The runs of one target, kind and role, the newest first."""

    name: str
    lines: tuple[TrendLine, ...]


def trends(report: Report) -> list[Trend]:
    """Return the trend of each target with runs of several dates, by name."""

    def subject(run: Run) -> tuple[str, str, str]:
        return run.identity.name, run.identity.kind, run.identity.role

    dated = sorted((run for run in report.single if run.date), key=lambda run: (*subject(run), run.date, run.digest))
    groups = [list(group) for _, group in groupby(dated, key=subject)]
    return [_trend(report, runs) for runs in groups if len({run.date for run in runs}) > 1]


def _trend(report: Report, runs: list[Run]) -> Trend:
    lines: list[TrendLine] = []
    for run in runs:
        bar = bar_of(report.tables[run.slug].values())
        change = bar.counts.get(RED, 0) - lines[-1].red if lines else 0
        lines.append(TrendLine(front.line(report, run), bar, change))
    one = runs[-1].identity
    return Trend(f"{one.name}, {one.kind}, {one.role.replace('+', ' and ')}", tuple(reversed(lines)))


def make(site: Site) -> None:
    """Add the page if there is a trend."""
    found = trends(site.report)
    if found:
        site.page(links.TRENDS, "trends.html", trends=found)
