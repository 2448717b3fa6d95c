"""Coverage: which requirement is judged by what, what is still owed, and what names one that does not exist.

Who covers what is handed in as plain triples (kind, name, requirement ids), so that nothing above is imported here.
Only what has been red once may be handed in: naming a requirement is not covering it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources

from .requirement import OWED, Level, Requirement, Requirements
from .specification import Page

Witness = tuple[str, str, Iterable[str]]
"""Kind (one of `OWED`), name, and the ids of the requirements that it judges."""


class Standing(StrEnum):
    """How it stands with one requirement."""

    COVERED = "covered"
    OWED = "owed"
    EXCUSED = "excused"
    UNCOVERED = "uncovered"
    """Neither of the three: a fault."""


@dataclass(slots=True)
class Row:
    """One requirement and what judges it."""

    requirement: Requirement
    by: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in OWED})
    """Kind to names."""

    @property
    def covered(self) -> bool:
        """What a codec alone can break takes a vector; conduct takes a law, a case or a model."""
        if self.requirement.by_codec:
            return bool(self.by["vector"])
        return any(names for kind, names in self.by.items() if kind != "vector")

    @property
    def standing(self) -> Standing:
        """Covered counts first, so that an owed one that is covered meanwhile is seen by `Coverage.settled`."""
        if self.covered:
            return Standing.COVERED
        if self.requirement.owed:
            return Standing.OWED
        return Standing.EXCUSED if self.requirement.unobservable else Standing.UNCOVERED


@dataclass(frozen=True, slots=True)
class Coverage:
    """All requirements with what judges them."""

    rows: Mapping[str, Row]
    unknown: tuple[tuple[str, str, str], ...]
    """(kind, name, requirement id) of what names a requirement that does not exist."""

    def standing(self, standing: Standing) -> list[Requirement]:
        """The requirements that stand so, in order."""
        return [row.requirement for row in self.rows.values() if row.standing is standing]

    @property
    def settled(self) -> list[Requirement]:
        """Marked as owed or unobservable, and yet covered: the mark is to be struck."""
        return [
            row.requirement
            for row in self.rows.values()
            if row.covered and (row.requirement.owed or row.requirement.unobservable)
        ]

    def owed(self) -> Counter[str]:
        """How many are marked as owed, by kind."""
        return Counter(row.requirement.owed for row in self.rows.values() if row.requirement.owed)

    def beside(self, most: int) -> list[str]:
        """What is wrong with the number of owed ones, where `most` is what is admitted: more than that, or a number left too high."""
        owed = self.owed().total()
        if owed > most:
            return [f"{owed} requirements are owed and {most} admitted: cover what is new; the number only falls"]
        return [f"{owed} requirements are owed and {most} admitted: lower owed.ceiling"] if owed < most else []

    def faults(self) -> list[str]:
        """What is wrong, a line each: uncovered ones, dangling names, marks that no longer hold."""
        text = [f"{kind} {name}: no requirement is called {ident}" for kind, name, ident in self.unknown]
        text += [f"{each.id}: neither covered, nor owed, nor excused" for each in self.standing(Standing.UNCOVERED)]
        text += [f"{each.id}: is covered meanwhile; strike its mark, and lower owed.ceiling" for each in self.settled]
        return text


def cover(requirements: Requirements, witnesses: Iterable[Witness]) -> Coverage:
    """Put each witness beside the requirements that it judges. Raises ValueError for a kind that there is not."""
    rows = {ident: Row(each) for ident, each in requirements.items()}
    unknown = []
    for kind, name, idents in witnesses:
        if kind not in OWED:
            raise ValueError(f"{name}: {kind!r} is none of {', '.join(OWED)}")
        for ident in sorted(set(idents)):
            if ident in requirements or ident in requirements.aliases():
                rows[requirements[ident].id].by[kind].append(name)
            else:
                unknown.append((kind, name, ident))
    return Coverage(rows, tuple(unknown))


def ceiling() -> int:
    """How many requirements may be owed: the committed number, which only falls."""
    file = resources.files("zenoh_conformance").joinpath("requirements", "owed.ceiling")
    return int(file.read_text(encoding="utf-8"))


def faults_of_references(requirements: Requirements, pages: Mapping[str, Page], errata: Iterable[str]) -> list[str]:
    """What the requirements' references leave open: sections that none cites, sections and errata not there."""
    known = {section.ref: section for page in pages.values() for section in page.sections}
    cited = {ref for each in requirements.values() for ref in each.ref}
    errata = set(errata)
    text = [f"{ref}: no requirement stands in this section" for ref in known if ref not in cited | _informative(pages)]
    for each in requirements.values():
        text += [f"{each.id}: ref: there is no section {ref}" for ref in each.ref if ref not in known]
        text += [f"{each.id}: erratum: there is none called {name}" for name in each.erratum if name not in errata]
        if not each.ref[0].startswith(f"{each.page}#"):
            text.append(f"{each.id}: ref: {each.ref[0]} comes first, which is on another page than the id says")
    touched = {name for each in requirements.values() for name in each.erratum}
    return text + [f"erratum {name}: touches no requirement" for name in sorted(errata - touched)]


def _informative(pages: Mapping[str, Page]) -> set[str]:
    return {section.ref for page in pages.values() for section in page.sections if section.informative}


def unmarked(text: str, phrases: Iterable[str]) -> str:
    """A page's TOML without the marks (`owed`, `unobservable`) of these requirements."""
    for phrase in phrases:
        block = re.compile(rf"^\[{re.escape(phrase)}\]\n(?:[^\[\n][^\n]*\n)*", re.MULTILINE)
        text = block.sub(lambda found: re.sub(r"(?m)^(?:owed|unobservable) = .*\n", "", found[0]), text)
    return text


BEGIN, END = "<!-- coverage: written by `zconform requirements update` -->\n", "<!-- end of coverage -->\n"


def placed(document: str, rows: str) -> str:
    """The document with these rows between its two marks. Raises ValueError when it has no such marks."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no place for the table: {BEGIN.strip()} and {END.strip()} are expected, a line each")
    return f"{before}{begin}\n{rows}\n{end}{after}"


def table(coverage: Coverage) -> str:
    """The coverage table of the documentation, as Markdown: a line a page, a column a level, then what judges them."""
    heads = ["page", *Level, "all", *(f"by {kind}" for kind in OWED), *list(Standing)[:3]]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    by_page: dict[str, list[Row]] = {}
    for row in coverage.rows.values():
        by_page.setdefault(row.requirement.page, []).append(row)
    lines += [[page, *_counts(rows)] for page, rows in by_page.items()]
    lines.append(["**all**", *_counts(list(coverage.rows.values()))])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _counts(rows: list[Row]) -> list[str]:
    levels = Counter(row.requirement.level for row in rows)
    verdict_table = Counter(row.standing for row in rows)
    counts = [levels[level] for level in Level] + [len(rows)]
    counts += [sum(bool(row.by[kind]) for row in rows) for kind in OWED]
    counts += [verdict_table[standing] for standing in list(Standing)[:3]]
    return [str(count) for count in counts]
