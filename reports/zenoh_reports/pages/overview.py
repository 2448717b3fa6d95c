"""Builds the picture of the front page: pages of the specification by targets, each cell a bar of what was judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.judging.verdict import worst
from zenoh_reports.pages import links
from zenoh_reports.pages.site import BAR_KINDS, Report
from zenoh_reports.plain import fold
from zenoh_reports.plain.fold import Cell
from zenoh_reports.plain.runs import Run, address

WIDTH: Final = 100
"""Units across a bar."""
RED, LISTED, RIGHT, NONE = BAR_KINDS


@dataclass(frozen=True, slots=True)
class BarPart:
    """A rectangle of a bar."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """The requirements of one page that apply to one target, by what became of them."""

    counts: Mapping[str, int]
    link: str = ""

    @property
    def applies(self) -> int:
        """The number of requirements that apply."""
        return sum(self.counts.values())

    @property
    def judged(self) -> int:
        """The number of those that were judged."""
        return self.applies - self.counts.get(NONE, 0)

    @property
    def worst(self) -> str:
        """The first part that is not empty: the kind that colours a cell without room for a bar."""
        return next((kind for kind in BAR_KINDS if self.counts.get(kind)), "")

    @property
    def sign(self) -> str:
        """The sign of the worst part."""
        return BAR_KINDS[self.worst][0] if self.worst else ""

    @property
    def sentence(self) -> str:
        """`1 red, 3 as required, 2 not judged`; what does not occur is omitted."""
        parts = [f"{self.counts[kind]} {word}" for kind, (_, word) in BAR_KINDS.items() if self.counts.get(kind)]
        return ", ".join(parts) or "nothing applies"

    @property
    def parts(self) -> tuple[BarPart, ...]:
        """The rectangles, from left to right; what was not judged stays empty."""
        at, found = 0, []
        for kind in (RED, LISTED, RIGHT):
            count = self.counts.get(kind, 0)
            if count:
                found.append(BarPart(kind, *(round(WIDTH * number / self.applies, 2) for number in (at, count))))
            at += count
        return tuple(found)


@dataclass(frozen=True, slots=True)
class PageRow:
    """One page of the specification, with a bar for each target."""

    page: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The picture."""

    rows: tuple[PageRow, ...]
    empty: tuple[str, ...]
    """Pages of which nothing applies to any target."""


def overview(report: Report) -> Overview:
    """Return the picture of all single targets."""
    idents = dict.fromkeys(ident for run in report.single for ident in report.tables[run.slug])
    rows = [
        PageRow(page, tuple(_bar(report, run, page, ids) for run in report.single))
        for page, ids in fold.by_page(idents)
    ]
    filled = tuple(row for row in rows if any(bar.applies for bar in row.bars))
    return Overview(filled, tuple(row.page for row in rows if row not in filled))


def _bar(report: Report, run: Run, page: str, idents: Sequence[str]) -> Bar:
    table = report.tables[run.slug]
    bar = bar_of(table[ident] for ident in idents if ident in table)
    return Bar(bar.counts, f"{links.run(run)}#page-{address(page)}" if bar.judged else "")


def bar_of(cells: Iterable[Cell]) -> Bar:
    """Return the bar of requirements; what does not apply is left out."""
    return Bar(Counter(_kind(cell) for cell in cells if cell.applies))


def _kind(cell: Cell) -> str:
    if not cell.counted:
        return NONE
    verdict = worst(one.verdict for one in cell.judgements if one.verdict.is_judged)
    return RED if verdict.is_red() else LISTED if verdict.is_wrong else RIGHT
