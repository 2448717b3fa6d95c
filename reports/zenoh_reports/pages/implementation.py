"""The page of an implementation: its versions over time, what it can, its deviations with reasons, what was never exercised."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

from zenoh_conformance.verdict import WORST_FIRST, Verdict
from zenoh_reports.pages import changes, front, links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.pages.spans import Span, spans
from zenoh_reports.plain import fold
from zenoh_reports.plain.fold import SILENT
from zenoh_reports.plain.runs import Run
from zenoh_reports.plain.wavering import wavering

ABOUT: Final = ("homepage", "language", "licence", "system", "commit")
"""What an implementer says of an implementation; required to publish."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A deviation, and the runs that show it."""

    requirement: str
    check: str
    cause: str
    verdict: Verdict
    reason: str
    link: str
    """The page of the newest run that shows it."""
    shown: tuple[tuple[Span, str], ...]
    """Neighbouring versions that show it, with the page of the first of them."""


def names(report: Report) -> list[str]:
    """Every implementation that was judged, sorted."""
    return sorted({run.identity.name for run in report.single})


def make(site: Site) -> None:
    """A page for each, and one that lists them."""
    report = site.report
    if not report.single:
        return
    by_name = {name: [run for run in report.single if run.identity.name == name] for name in names(report)}
    site.page(
        links.IMPLEMENTATIONS, "implementations.html",
        entries=[(name, runs, about(runs)) for name, runs in by_name.items()], probes=report.documents.probe,
        capabilities=sorted({each for one in report.documents.probe for each in one["capabilities"]}),
    )  # fmt: skip
    for name, runs in by_name.items():
        make_one(site, name, runs)


def make_one(site: Site, name: str, runs: list[Run]) -> None:
    """One implementation."""
    report = site.report
    lines = [front.line(report, run) for run in runs]
    chart = ""
    if len(runs) > 2:
        from zenoh_reports.pages.draw import charts

        chart = charts.stacked(
            [run.label.removeprefix(f"{name} ") for run in runs],
            counts(lines),
            "Requirements by verdict, version by version",
        )
    site.page(
        links.implementation(name), "implementation.html", name=name, lines=lines, about=about(runs), wanted=ABOUT,
        deviations=deviations(report, runs), probes=[one for one in report.documents.probe if _of(one, name)],
        never=never(report, runs), steps=[step for step in changes.steps(report) if step.new in runs], chart=chart,
        reproduce=[(run, list(map(str, run.about.get("reproduce", ())))) for run in runs if run.about.get("reproduce")],
        wavering=[(one, report.page_of(one.shown)) for one in wavering(runs)],
        rates=[(run, run.about["rates"]) for run in runs if isinstance(run.about.get("rates"), list)],
    )  # fmt: skip


def counts(lines: list[front.Line]) -> dict[str, list[int]]:
    """Requirements by verdict, one number a run; verdicts that nobody has are left out."""
    return {
        verdict.value: row
        for verdict in WORST_FIRST
        if any(row := [dict(line.counts).get(verdict, 0) for line in lines])
    }


def about(runs: list[Run]) -> dict[str, str]:
    """What the newest submission says of the implementation."""
    text: dict[str, Any] = {}
    for run in runs:
        one = run.about.get("implementation")
        if isinstance(one, dict):
            text.update(one)
    return {name: str(text[name]) for name in ABOUT if text.get(name)}


def deviations(report: Report, runs: list[Run]) -> list[Shared]:
    """What its versions deviate by, the gravest first; what several show alike is one."""
    groups: dict[tuple[str, str, str], list[tuple[Run, fold.Deviation]]] = defaultdict(list)
    for run in runs:
        for one in report.found[run.slug]:
            groups[one.first.key.requirement, one.first.key.check, one.first.cause].append((run, one))
    found = []
    for (requirement, check, cause), each in groups.items():
        first = each[0][1]
        text = dict(first.first.details).get("known", {})
        reason = str(text.get("reason", "")) if isinstance(text, dict) else ""
        worst = min((one.verdict for _, one in each), key=fold.TOLD.index)
        pages = {run.slug: links.deviation(run, one) for run, one in each}
        shown = tuple((span, pages[span.first.slug]) for span in spans(runs, pages))
        found.append(Shared(requirement, check, cause, worst, reason, pages[each[-1][0].slug], shown))
    return sorted(found, key=lambda one: (fold.TOLD.index(one.verdict), one.requirement, one.check))


def never(report: Report, runs: list[Run]) -> list[tuple[fold.Why, list[str]]]:
    """Requirements that no version was judged on, by why the newest was not."""
    tables = [report.tables[run.slug] for run in runs]
    idle = [ident for ident in tables[-1] if all(ident not in one or one[ident].verdict in SILENT for one in tables)]
    by_why: dict[fold.Why, list[str]] = defaultdict(list)
    for ident in idle:
        by_why[tables[-1][ident].why or fold.Why.NOT_RUN].append(ident)
    return [(why, by_why[why]) for why in fold.Why if by_why[why]]


def _of(probe: dict[str, Any], name: str) -> bool:
    target = probe.get("target")
    return isinstance(target, dict) and target.get("name") == name
