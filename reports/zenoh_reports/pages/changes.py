"""Builds the pages of changes: between versions of one target, and since an earlier report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Final

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.run.report.compare import Change, Comparison, changes, counted, gathered
from zenoh_reports.pages import links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain.runs import Run

MOST_TOLD: Final = 1000
MOST_ALIKE: Final = 30
"""If a target has more versions than this, each is compared only with the next and the newest."""


@dataclass(frozen=True, slots=True)
class VersionStep:
    """The changes between two versions of one target."""

    old: Run
    new: Run
    found: tuple[Change, ...]

    @property
    def counted(self) -> str:
        """The number of changes, in one line."""
        return counted(self.found)

    @property
    def link(self) -> str:
        """The address of its page."""
        return links.diff(self.old, self.new)


def steps(report: Report) -> list[VersionStep]:
    """Return the steps between adjacent versions of each target, of one kind and role; the newest first."""
    if "steps" not in report.memo:
        pairs = [pair for runs in alike(report) for pair in pairwise(runs)]
        report.memo["steps"] = [step(old, new) for old, new in pairs[::-1]]
    found: list[VersionStep] = report.memo["steps"]
    return found


def step(old: Run, new: Run) -> VersionStep:
    """Compare two runs."""
    return VersionStep(old, new, tuple(changes(old.results, new.results)))


def alike(report: Report) -> list[list[Run]]:
    """Return the runs of each target, of one kind and role, the oldest first."""
    found: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in report.single:
        found[run.identity.name, run.identity.kind, run.identity.role].append(run)
    return [*found.values()]


@dataclass(frozen=True, slots=True)
class Grid:
    """The changes between all versions of one target."""

    name: str
    runs: tuple[Run, ...]
    steps: Mapping[tuple[str, str], VersionStep]
    """By the slugs of the older and the newer run."""


def grids(report: Report) -> list[Grid]:
    """Compare each version with every newer one; if there are many, with the next and the newest."""
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
    """Add a page for each step, and one that lists them."""
    report = site.report
    every = steps(report)
    earlier = since(report)
    if not every and earlier is None and len(report.single) < 2:
        return
    versions = grids(report)
    site.page(links.CHANGES, "changes.html", steps=every, grids=versions, earlier=earlier)
    pages = {one.link: one for one in (*every, *(one for grid in versions for one in grid.steps.values()))}
    for each in pages.values():
        rows = [LinkedChange(one, place(report, one)) for one in gathered(each.found)[:MOST_TOLD]]
        site.page(each.link, "diff.html", step=each, rows=rows, left_out=max(0, len(gathered(each.found)) - MOST_TOLD))


@dataclass(frozen=True, slots=True)
class LinkedChange:
    """A change, and the page of its judgement."""

    change: Comparison
    link: str


def place(report: Report, one: Comparison) -> str:
    """Return the page of the newer judgement, or else of the older one."""
    for judgement in (one.first.after, one.first.before):
        found = report.page_of(judgement) if judgement is not None else ""
        if found:
            return found
    return ""


@dataclass(frozen=True, slots=True)
class Since:
    """A verdict that differs from the one in the earlier report."""

    target: str
    requirement: str
    before: str
    after: str
    link: str = ""

    @property
    def worse(self) -> bool:
        """Whether the verdict is more severe, or the requirement is no longer judged."""
        after, before = Verdict(self.after), _VERDICTS.get(self.before)
        if after.says_nothing:
            return before is None or not before.says_nothing
        if before is None or before.says_nothing:
            return after is not Verdict.PASS or before is None
        return after.severity > before.severity


_VERDICTS: Final = {verdict.value: verdict for verdict in Verdict}
"""The report before may be of another version, with a verdict that this one does not know."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The changes since the earlier report."""

    worse: tuple[Since, ...]
    better: tuple[Since, ...]
    fresh: tuple[str, ...]
    """Targets that the earlier report did not have."""
    gone: tuple[str, ...]
    """Targets that only the earlier report had."""


def since(report: Report) -> Earlier | None:
    """Compare with the earlier report; return None if none was given."""
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
            old, new = before.get(ident, Verdict.NOT_OBSERVED.value), cell.verdict.value
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
    """Return the key by which the same target is found in two reports."""
    return (run.identity.name, run.identity.version, run.identity.kind, run.identity.role)


def _verdicts(document: Mapping[str, Any]) -> dict[tuple[str, ...], tuple[str, dict[str, str]]]:
    """Return the label and the verdicts of each target in an earlier `report.json`."""
    found: dict[tuple[str, ...], tuple[str, dict[str, str]]] = {}
    names: dict[str, dict[str, str]] = {}
    for target in document.get("targets", ()):
        key = tuple(str(target.get(name, "")) for name in ("name", "version", "kind", "role"))
        verdicts = names.setdefault(str(target.get("id")), {})
        found[key] = (str(target.get("label", "")), verdicts)
    for row in document.get("verdicts", ()):
        names.setdefault(str(row.get("target")), {})[str(row.get("requirement"))] = str(row.get("verdict"))
    return found
