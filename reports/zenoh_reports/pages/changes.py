"""What changed: from version to version among the runs given, and since the report before this one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Final

from zenoh_conformance.verdict import SEVERITY, Judgement, Verdict
from zenoh_harness.run.compare import Change, Comparison, changes, counted, gathered
from zenoh_reports.pages import links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain.fold import SILENT
from zenoh_reports.plain.runs import Run

MOST_TOLD: Final = 1000
MOST_ALIKE: Final = 30
"""Versions of one target of which each is laid beside each."""


@dataclass(frozen=True, slots=True)
class Step:
    """From one run to the next version of the same target."""

    old: Run
    new: Run
    found: tuple[Change, ...]

    @property
    def counted(self) -> str:
        """How much changed, in one line."""
        return counted(self.found)

    @property
    def link(self) -> str:
        """Its page."""
        return links.diff(self.old, self.new)


def steps(report: Report) -> list[Step]:
    """Neighbouring versions of every target, of one kind and role; the newest step first."""
    if "steps" not in report.memo:
        pairs = [pair for runs in alike(report) for pair in pairwise(runs)]
        report.memo["steps"] = [step(old, new) for old, new in pairs[::-1]]
    found: list[Step] = report.memo["steps"]
    return found


def step(old: Run, new: Run) -> Step:
    """What changed from one to the other."""
    return Step(old, new, tuple(changes(old.results, new.results)))


def alike(report: Report) -> list[list[Run]]:
    """The versions of each target, of one kind and role, the oldest first."""
    found: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in report.single:
        found[run.identity.name, run.identity.kind, run.identity.role].append(run)
    return [*found.values()]


@dataclass(frozen=True, slots=True)
class Grid:
    """The versions of one target, each with each."""

    name: str
    runs: tuple[Run, ...]
    steps: Mapping[tuple[str, str], Step]
    """By the slugs of the older and the newer one."""


def grids(report: Report) -> list[Grid]:
    """Every older version beside every newer one; where there are many, beside the next and the newest."""
    near = {(one.old.slug, one.new.slug): one for one in steps(report)}
    found = []
    for runs in alike(report):
        pairs = [*combinations(runs, 2)] if len(runs) <= MOST_ALIKE else [(run, runs[-1]) for run in runs[:-1]]
        every = {(old.slug, new.slug): near.get((old.slug, new.slug)) or step(old, new) for old, new in pairs}
        every |= {ends: one for ends, one in near.items() if one.old in runs}
        if len(runs) > 2:
            found.append(Grid(f"{runs[0].identity.name} ({runs[0].identity.kind})", tuple(runs), every))
    return found


def make(site: Site) -> None:
    """A page for each step and one that lists them."""
    report = site.report
    every = steps(report)
    earlier = since(report)
    if not every and earlier is None and len(report.single) < 2:
        return
    versions = grids(report)
    site.page(links.CHANGES, "changes.html", steps=every, grids=versions, earlier=earlier)
    pages = {one.link: one for one in (*every, *(one for grid in versions for one in grid.steps.values()))}
    for each in pages.values():
        rows = [Row(one, place(report, one)) for one in gathered(each.found)[:MOST_TOLD]]
        site.page(each.link, "diff.html", step=each, rows=rows, left_out=max(0, len(gathered(each.found)) - MOST_TOLD))


@dataclass(frozen=True, slots=True)
class Row:
    """One change, and where it is told in full."""

    change: Comparison
    link: str


def place(report: Report, one: Comparison) -> str:
    """The page of the judgement that deviates: the newer one's, or else the older one's."""
    for judgement in (one.first.after, one.first.before):
        found = _page(report, judgement)
        if found:
            return found
    return ""


def _page(report: Report, judgement: Judgement | None) -> str:
    return report.page_of(judgement) if judgement is not None else ""


@dataclass(frozen=True, slots=True)
class Since:
    """One verdict that is not what it was in the report before."""

    target: str
    requirement: str
    before: str
    after: str
    link: str = ""

    @property
    def worse(self) -> bool:
        """Whether it is graver now, or was judged and is not."""
        if self.after in _SILENT:
            return self.before not in _SILENT
        return _severity(self.after) > _severity(self.before) and not (self.after == "pass" and self.before in _SILENT)


_SILENT: Final = frozenset(verdict.value for verdict in SILENT)
_KNOWN: Final = {verdict.value: SEVERITY[verdict] for verdict in Verdict}


def _severity(verdict: str) -> int:
    return _KNOWN.get(verdict, 0)


@dataclass(frozen=True, slots=True)
class Earlier:
    """This report beside the one before it."""

    worse: tuple[Since, ...]
    better: tuple[Since, ...]
    fresh: tuple[str, ...]
    """Targets that the report before did not have."""
    gone: tuple[str, ...]
    """Targets that only the report before had."""


def since(report: Report) -> Earlier | None:
    """What changed since the report before; None where none was given."""
    if report.earlier is None:
        return None
    was = _verdicts(report.earlier)
    labels = {key: label for key, (label, _) in was.items()}
    found: list[Since] = []
    fresh = []
    for run in report.runs:
        key = key_of(run)
        if key not in was:
            fresh.append(run.label)
            continue
        before = was[key][1]
        labels.pop(key, None)
        for ident, cell in report.tables[run.slug].items():
            old, new = before.get(ident, "not-observed"), cell.verdict.value
            if old != new:
                link = report.page_of(cell.shown) if cell.shown is not None else ""
                found.append(Since(run.label, ident, old, new, link or links.run(run)))
    return Earlier(
        tuple(one for one in found if one.worse),
        tuple(one for one in found if not one.worse),
        tuple(fresh),
        tuple(labels.values()),
    )


def key_of(run: Run) -> tuple[str, ...]:
    """What makes a target the same in two reports."""
    return (run.identity.name, run.identity.version, run.identity.kind, run.identity.role)


def _verdicts(document: Mapping[str, Any]) -> dict[tuple[str, ...], tuple[str, dict[str, str]]]:
    """Of an earlier `report.json`: each target's label and its verdicts by requirement."""
    found: dict[tuple[str, ...], tuple[str, dict[str, str]]] = {}
    names: dict[str, dict[str, str]] = {}
    for target in document.get("targets", ()):
        key = tuple(str(target.get(name, "")) for name in ("name", "version", "kind", "role"))
        verdicts = names.setdefault(str(target.get("id")), {})
        found[key] = (str(target.get("label", "")), verdicts)
    for row in document.get("verdicts", ()):
        names.setdefault(str(row.get("target")), {})[str(row.get("requirement"))] = str(row.get("verdict"))
    return found
