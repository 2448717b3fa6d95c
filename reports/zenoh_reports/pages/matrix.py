"""Builds the matrix of requirements and targets; each cell links to its judgement."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from zenoh_conformance.judging.verdict import Verdict, worst
from zenoh_conformance.spec.requirement import requirements
from zenoh_reports.pages import links
from zenoh_reports.pages.site import Report, Site
from zenoh_reports.plain import fold
from zenoh_reports.plain.fold import Cell
from zenoh_reports.plain.runs import Run, address


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """A cell of the matrix."""

    verdict: str
    word: str
    """The verdict, or the reason why there is none."""
    link: str
    """The address of the judgement, or an empty string."""
    profiles: str = ""
    """Profiles in which the verdict is worse than in the default one."""


@dataclass(frozen=True, slots=True)
class RequirementLine:
    """A row of the matrix: one requirement."""

    id: str
    level: str
    says: str
    cells: tuple[MatrixCell, ...]
    judged: bool
    """Whether a target was judged by it."""

    @property
    def worst(self) -> int:
        """The highest severity of the cells, for sorting."""
        return max((Verdict(cell.verdict).severity for cell in self.cells), default=0)

    @property
    def mixed(self) -> bool:
        """Whether the verdicts differ."""
        return len({cell.verdict for cell in self.cells}) > 1


@dataclass(frozen=True, slots=True)
class MatrixGroup:
    """The requirements of one page and level, with the number judged on each target."""

    page: str
    level: str
    lines: tuple[RequirementLine, ...]
    judged: tuple[int, ...]


def make(site: Site) -> None:
    """Add the page."""
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
    """Sort ids by page and level; ids of unknown pages come last."""
    known = {ident: index for index, ident in enumerate(requirements())}
    pages = list(dict.fromkeys(ident.partition("/")[0] for ident in known))
    order = {name: index for index, name in enumerate(("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "LAYOUT"))}

    def key(ident: str) -> tuple[int, str, int, int]:
        page = ident.partition("/")[0]
        place = pages.index(page) if page in pages else len(pages)
        return place, page if place == len(pages) else "", order.get(fold.level(ident), 0), known.get(ident, 0)

    return sorted(idents, key=key)


def group(report: Report, page: str, level: str, idents: list[str]) -> MatrixGroup:
    """Return the requirements of one page and level."""
    tables = [report.tables[run.slug] for run in report.single]
    counted = {ident: [table.get(ident, Cell()).counted > 0 for table in tables] for ident in idents}
    lines = tuple(
        RequirementLine(
            ident,
            fold.level(ident),
            fold.says(ident),
            tuple(cell(report, run, ident) for run in report.single),
            any(counted[ident]),
        )
        for ident in idents
    )
    return MatrixGroup(page, level, lines, tuple(map(sum, zip(*counted.values(), strict=True))))


def cell(report: Report, run: Run, ident: str) -> MatrixCell:
    """Return one cell of the matrix."""
    found = report.tables[run.slug].get(ident, Cell())
    verdict = found.verdict
    judgement = found.shown
    if judgement is None or verdict.says_nothing:
        return MatrixCell(verdict.value, found.why.value if found.why else verdict.value, "")
    place = report.page_of(judgement) or f"{links.run(run)}#{address(ident)}"
    return MatrixCell(verdict.value, verdict.value, place, worse_in(found))


def worse_in(cell_: Cell) -> str:
    """Return the profiles in which the verdict is worse than in the default one."""
    profiles: dict[str, list[Verdict]] = {}
    for one in cell_.judgements:
        profiles.setdefault(one.key.profile, []).append(one.verdict)
    each = {name: worst(verdicts) for name, verdicts in profiles.items()}
    base = each["default"].severity if "default" in each else 0
    worse = [name for name, verdict in each.items() if verdict.severity > base and not verdict.is_quiet]
    return ", ".join(worse) if "default" in each else ""
