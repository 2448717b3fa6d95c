"""Requirement by implementation, version and profile; each cell leads to its judgement."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from zenoh_conformance.requirement import requirements
from zenoh_conformance.verdict import SEVERITY, Verdict, worst
from zenoh_reports.pages import links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain import fold
from zenoh_reports.plain.fold import SILENT, Cell
from zenoh_reports.plain.runs import Run, address


@dataclass(frozen=True, slots=True)
class Shown:
    """One cell."""

    verdict: str
    word: str
    """The verdict, or why there is none."""
    link: str
    """Where the judgement stands; empty where there is none."""
    profiles: str = ""
    """Profiles in which it is worse than in the default one."""


@dataclass(frozen=True, slots=True)
class Line:
    """One requirement."""

    id: str
    level: str
    says: str
    cells: tuple[Shown, ...]

    @property
    def worst(self) -> int:
        """For sorting: the gravest of its cells."""
        return max((SEVERITY[Verdict(cell.verdict)] for cell in self.cells), default=0)

    @property
    def mixed(self) -> bool:
        """Whether the targets differ."""
        return len({cell.verdict for cell in self.cells}) > 1


@dataclass(frozen=True, slots=True)
class Group:
    """The requirements of one page and level, of which so many were judged on each target."""

    page: str
    level: str
    lines: tuple[Line, ...]
    judged: tuple[int, ...]


def make(site: Site) -> None:
    """Write it."""
    report = site.report
    if not report.single:
        return
    idents = dict.fromkeys(ident for run in report.single for ident in report.tables[run.slug])
    groups = [
        group(report, page, level, list(ones))
        for page, ids in fold.by_page(sorted_ids(list(idents)))
        for level, ones in groupby(ids, fold.level)
    ]
    levels = Counter(line.level for one in groups for line in one.lines)
    site.page(links.MATRIX, "matrix.html", groups=groups, runs=report.single, levels=levels, dense=report.dense)


def sorted_ids(idents: list[str]) -> list[str]:
    """In the order of the pages, each page's by level; what no page says last."""
    known = {ident: index for index, ident in enumerate(requirements())}
    pages = list(dict.fromkeys(ident.partition("/")[0] for ident in known))
    order = {name: index for index, name in enumerate(("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "LAYOUT"))}

    def key(ident: str) -> tuple[int, str, int, int]:
        page = ident.partition("/")[0]
        place = pages.index(page) if page in pages else len(pages)
        return place, page if place == len(pages) else "", order.get(fold.level(ident), 0), known.get(ident, 0)

    return sorted(idents, key=key)


def group(report: Report, page: str, level: str, idents: list[str]) -> Group:
    """The requirements of one page and level."""
    lines = tuple(
        Line(ident, fold.level(ident), fold.says(ident), tuple(cell(report, run, ident) for run in report.single))
        for ident in idents
    )
    judged = tuple(
        sum(report.tables[run.slug].get(ident, Cell()).verdict not in SILENT for ident in idents)
        for run in report.single
    )
    return Group(page, level, lines, judged)


def cell(report: Report, run: Run, ident: str) -> Shown:
    """One cell of the matrix."""
    found = report.tables[run.slug].get(ident, Cell())
    verdict = found.verdict
    judgement = found.shown
    if judgement is None or verdict in SILENT:
        return Shown(verdict.value, found.why.value if found.why else verdict.value, "")
    place = report.page_of(judgement) or f"{links.run(run)}#{address(ident)}"
    return Shown(verdict.value, verdict.value, place, worse_in(found))


def worse_in(cell_: Cell) -> str:
    """The profiles in which the verdict is worse than in the default one, where it is not the same everywhere."""
    profiles: dict[str, list[Verdict]] = {}
    for one in cell_.judgements:
        profiles.setdefault(one.key.profile, []).append(one.verdict)
    each = {name: worst(verdicts) for name, verdicts in profiles.items()}
    base = SEVERITY[each["default"]] if "default" in each else 0
    worse = [
        name for name, verdict in each.items() if SEVERITY[verdict] > base and verdict not in SILENT | {Verdict.PASS}
    ]
    return ", ".join(worse) if "default" in each else ""
