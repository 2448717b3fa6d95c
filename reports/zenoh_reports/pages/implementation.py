"""Builds the page of an implementation: versions, capabilities, deviations with reasons, what was never exercised."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

from zenoh_conformance.judging.shares import Why
from zenoh_conformance.judging.verdict import WORST_FIRST, Verdict, worst
from zenoh_reports.pages import changes, front, links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.pages.spans import VersionSpan, spans
from zenoh_reports.plain import fold
from zenoh_reports.plain.runs import Run
from zenoh_reports.plain.wavering import wavering

ABOUT: Final = ("homepage", "language", "licence", "system", "commit")
"""The facts about an implementation that a submission must state."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A deviation, and the runs in which it occurs."""

    requirement: str
    check: str
    cause: str
    verdict: Verdict
    reason: str
    link: str
    """The page of the newest run in which it occurs."""
    shown: tuple[tuple[VersionSpan, str], ...]
    """Adjacent versions in which it occurs, with the page of the first of them."""


def names(report: Report) -> list[str]:
    """Return the names of all implementations, sorted."""
    return sorted({run.identity.name for run in report.single})


def make(site: Site) -> None:
    """Add a page for each implementation, and one that lists them."""
    report = site.report
    if not report.single:
        return
    by_name = {name: [run for run in report.single if run.identity.name == name] for name in names(report)}
    site.page(
        links.IMPLEMENTATIONS,
        "implementations.html",
        entries=[(name, runs, about(runs)) for name, runs in by_name.items()],
        probes=report.documents.probe,
        capabilities=sorted({each for one in report.documents.probe for each in one["capabilities"]}),
    )
    for name, runs in by_name.items():
        make_one(site, name, runs)


def make_one(site: Site, name: str, runs: list[Run]) -> None:
    """Add the page of one implementation."""
    report = site.report
    lines = [front.line(report, run) for run in runs]
    chart = ""
    if len(runs) > 2:
        from zenoh_reports.pages.draw import charts

        chart = charts.stacked_bars(
            [run.label.removeprefix(f"{name} ") for run in runs],
            counts(lines),
            "Requirements by verdict, version by version",
        )
    site.page(
        links.implementation(name),
        "implementation.html",
        name=name,
        lines=lines,
        about=about(runs),
        wanted=ABOUT,
        deviations=deviations(report, runs),
        probes=[one for one in report.documents.probe if _of(one, name)],
        never=never(report, runs),
        steps=[step for step in changes.steps(report) if step.new in runs],
        chart=chart,
        reproduce=[(run, list(map(str, run.about.get("reproduce", ())))) for run in runs if run.about.get("reproduce")],
        wavering=[(one, report.page_of(one.shown)) for one in wavering(runs)],
        rates=[(run, run.about["rates"]) for run in runs if isinstance(run.about.get("rates"), list)],
    )


def counts(lines: list[front.TargetSummary]) -> dict[str, list[int]]:
    """Return verdict to the number of requirements in each run; verdicts that do not occur are omitted."""
    return {
        verdict.value: row
        for verdict in WORST_FIRST
        if any(row := [dict(line.counts).get(verdict, 0) for line in lines])
    }


def about(runs: list[Run]) -> dict[str, str]:
    """Return the facts of the newest submission."""
    text: dict[str, Any] = {}
    for run in runs:
        one = run.about.get("implementation")
        if isinstance(one, dict):
            text.update(one)
    return {name: str(text[name]) for name in ABOUT if text.get(name)}


def deviations(report: Report, runs: list[Run]) -> list[Shared]:
    """Return the deviations of all versions, the most severe first; equal ones are merged."""
    groups: dict[tuple[str, str, str], list[tuple[Run, fold.DeviationGroup]]] = defaultdict(list)
    for run in runs:
        for one in report.found[run.slug]:
            groups[one.first.key.requirement, one.first.key.check, one.first.cause].append((run, one))
    found = []
    for (requirement, check, cause), each in groups.items():
        first = each[0][1]
        text = dict(first.first.details).get("known", {})
        reason = str(text.get("reason", "")) if isinstance(text, dict) else ""
        verdict = worst(one.verdict for _, one in each)
        pages = {run.slug: links.deviation(run, one) for run, one in each}
        shown = tuple((span, pages[span.first.slug]) for span in spans(runs, pages))
        found.append(Shared(requirement, check, cause, verdict, reason, pages[each[-1][0].slug], shown))
    return sorted(found, key=lambda one: (-one.verdict.severity, one.requirement, one.check))


def never(report: Report, runs: list[Run]) -> list[tuple[Why, list[str]]]:
    """Return the requirements that no version was judged by, grouped by the reason in the newest run."""
    tables = [report.tables[run.slug] for run in runs]
    idle = [ident for ident in tables[-1] if all(ident not in one or not one[ident].counted for one in tables)]
    by_why: dict[Why, list[str]] = defaultdict(list)
    for ident in idle:
        by_why[tables[-1][ident].why or Why.NOT_RUN].append(ident)
    return [(why, by_why[why]) for why in Why if by_why[why]]


def _of(probe: dict[str, Any], name: str) -> bool:
    target = probe.get("target")
    return isinstance(target, dict) and target.get("name") == name
