"""The front page: one line a target, what does not fit, what changed, what was not judged and why."""

from __future__ import annotations

from dataclasses import dataclass

from zenoh_conformance.verdict import WORST_FIRST, Verdict
from zenoh_reports.pages import changes, links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain import fold
from zenoh_reports.plain.fold import EXPLAINED, Deviation, Why
from zenoh_reports.plain.runs import Run


@dataclass(frozen=True, slots=True)
class Line:
    """One target."""

    run: Run
    counts: tuple[tuple[Verdict, int], ...]
    """Requirements by verdict, those that were judged."""
    judged: int
    total: int
    worst: Deviation | None

    @property
    def share(self) -> str:
        """How much of the specification was judged."""
        return f"{100 * self.judged / self.total:.0f} %" if self.total else "0 %"


def make(site: Site) -> None:
    """Write it."""
    report = site.report
    site.page(
        links.FRONT, "front.html", lines=[line(report, run) for run in report.single],
        pairs=[line(report, run) for run in report.pairs], silence=silence(report), changes=changes.since(report),
        explained=EXPLAINED, steps=changes.steps(report),
    )  # fmt: skip


def line(report: Report, run: Run) -> Line:
    """What the front page says of one run."""
    cells = report.tables[run.slug]
    tally = fold.tally(cells)
    judged = [(verdict, tally[verdict]) for verdict in WORST_FIRST if tally[verdict] and verdict not in fold.SILENT]
    found = report.found[run.slug]
    return Line(run, tuple(judged), sum(n for _, n in judged), len(cells), found[0] if found else None)


def silence(report: Report) -> list[tuple[Why, list[int]]]:
    """Why requirements have no verdict, with their number on each target."""
    each = [fold.silence(report.tables[run.slug]) for run in report.single]
    return [(why, [len(one.get(why, ())) for one in each]) for why in Why if any(why in one for one in each)]
