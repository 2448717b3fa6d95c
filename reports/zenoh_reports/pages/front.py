"""Builds the front page: one picture, what is red, what changed, how to repeat it, and what was not judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.judging.shares import Shares, Why
from zenoh_conformance.judging.verdict import WORST_FIRST, Verdict
from zenoh_conformance.spec.specification import pages
from zenoh_reports.pages import changes, links
from zenoh_reports.pages.overview import overview
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain import fold
from zenoh_reports.plain.anomalies import Anomaly
from zenoh_reports.plain.fold import EXPLAINED, DeviationGroup
from zenoh_reports.plain.runs import Run

MOST_RED: Final = 12
"""Lines of what is red; the matrix has all of it."""


@dataclass(frozen=True, slots=True)
class TargetSummary:
    """The line of one target."""

    run: Run
    counts: tuple[tuple[Verdict, int], ...]
    """The number of judged requirements by verdict."""
    shares: Shares
    worst: DeviationGroup | None

    @property
    def judged(self) -> int:
        """The number of judged requirements of its main share."""
        return self.shares.main.judged

    @property
    def total(self) -> int:
        """The number of requirements that apply to it, of its main share."""
        return self.shares.main.applies

    @property
    def share(self) -> str:
        """The share of the requirements that apply and were judged."""
        return self.shares.main.percent or "0 %"


@dataclass(frozen=True, slots=True)
class RedLine:
    """A red deviation, and the targets that show it."""

    first: DeviationGroup
    shown: tuple[tuple[Run, str], ...]
    """The runs, each with the page of its deviation."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence about what does not fit, and the runs about which it says the same."""

    what: str
    runs: tuple[Run, ...]


def make(site: Site) -> None:
    """Add the page."""
    report = site.report
    red = red_lines(report)
    lines = [line(report, run) for run in report.single]
    site.page(
        links.FRONT,
        "front.html",
        lines=lines,
        pairs=[line(report, run) for run in report.pairs],
        picture=overview(report),
        red=red[:MOST_RED],
        more_red=len(red[MOST_RED:]),
        notices=notices(report.anomalies),
        silence=silence(report),
        changes=changes.since(report),
        explained=EXPLAINED,
        pages_known=pages(),
        missing=missing(lines),
        steps=changes.steps(report),
    )


def line(report: Report, run: Run) -> TargetSummary:
    """Summarise one run for the front page."""
    cells = report.tables[run.slug]
    own = {ident: cell for ident, cell in cells.items() if cell.judgements} if run.interop else cells
    tally = fold.tally(own)
    judged = [(verdict, tally[verdict]) for verdict in WORST_FIRST if tally[verdict] and not verdict.says_nothing]
    found = report.found[run.slug]
    return TargetSummary(run, tuple(judged), fold.shares_of(own), found[0] if found else None)


def missing(lines: Iterable[TargetSummary]) -> list[tuple[str, list[str]]]:
    """Return what would make more judgeable, and the labels of the targets for which it is the same; the largest first."""
    groups: dict[str, list[TargetSummary]] = defaultdict(list)
    for one in lines:
        if one.shares.more:
            groups[one.shares.more_sentence].append(one)
    rows = sorted(groups.items(), key=lambda row: -sum(row[1][0].shares.more.values()))
    return [(sentence, [one.run.label for one in ones]) for sentence, ones in rows]


def red_lines(report: Report) -> list[RedLine]:
    """Return what is red on the single targets, the gravest and the most frequent first; equal ones are one line."""
    groups: dict[tuple[str, ...], list[tuple[Run, DeviationGroup]]] = defaultdict(list)
    for run in report.single:
        for one in report.found[run.slug]:
            if one.verdict.is_red():
                key = one.first.key
                groups[one.verdict.value, key.requirement, key.check, one.first.cause].append((run, one))
    lines = [
        RedLine(
            group[0][1], tuple({run.slug: (run, links.deviation(run, one)) for run, one in reversed(group)}.values())
        )
        for group in groups.values()
    ]
    return sorted(lines, key=lambda one: (-one.first.verdict.severity, -len(one.shown)))


def notices(anomalies: Iterable[Anomaly]) -> list[Notice]:
    """Return the anomalies with equal ones folded, in their order."""
    folded: dict[str, list[Run]] = {}
    for one in anomalies:
        folded.setdefault(one.what, []).extend([one.run] if one.run else [])
    return [Notice(what, tuple(runs)) for what, runs in folded.items()]


def silence(report: Report) -> list[tuple[Why, Sequence[int]]]:
    """Return each reason for a missing verdict, with the number of requirements on each target."""
    each = [fold.silence(report.tables[run.slug]) for run in report.single]
    return [(why, [len(one.get(why, ())) for one in each]) for why in Why if any(why in one for one in each)]
