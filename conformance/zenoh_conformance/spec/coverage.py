"""Coverage: the checks of each requirement, the checks still owed, and names of requirements that do not exist.

Callers pass plain triples (kind, name, requirement ids), so that this module imports nothing from higher layers. Pass only
checks that have failed once on a faulty node or trace: a check that only names a requirement does not cover it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources

from .requirement import OWED, Level, Requirement, Requirements

Witness = tuple[str, str, Iterable[str]]
"""A check: its kind (one of `OWED`), its name, and the ids of the requirements that it judges."""


class CoverageStatus(StrEnum):
    """The coverage of one requirement."""

    COVERED = "covered"
    OWED = "owed"
    EXCUSED = "excused"
    UNCOVERED = "uncovered"
    """None of the three: a fault."""


@dataclass(slots=True)
class RequirementCoverage:
    """A requirement and the checks that judge it."""

    requirement: Requirement
    by: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in OWED})
    """The names of the checks, by kind."""

    @property
    def covered(self) -> bool:
        """Whether a check judges it: a vector if a codec alone can break it, else a law, case or model."""
        if self.requirement.by_codec:
            return bool(self.by["vector"])
        return any(names for kind, names in self.by.items() if kind != "vector")

    @property
    def standing(self) -> CoverageStatus:
        """Its status; COVERED comes first, so that `Coverage.settled` finds requirements that are still marked as owed."""
        if self.covered:
            return CoverageStatus.COVERED
        if self.requirement.owed:
            return CoverageStatus.OWED
        return CoverageStatus.EXCUSED if self.requirement.unobservable else CoverageStatus.UNCOVERED


@dataclass(frozen=True, slots=True)
class Coverage:
    """All requirements with their checks."""

    rows: Mapping[str, RequirementCoverage]
    unknown: tuple[tuple[str, str, str], ...]
    """(kind, name, requirement id) of each check that names a requirement that does not exist."""

    def standing(self, standing: CoverageStatus) -> list[Requirement]:
        """The requirements with this status, in order."""
        return [row.requirement for row in self.rows.values() if row.standing is standing]

    @property
    def settled(self) -> list[Requirement]:
        """The covered requirements that are still marked as owed or unobservable."""
        return [
            row.requirement
            for row in self.rows.values()
            if row.covered and (row.requirement.owed or row.requirement.unobservable)
        ]

    def count_owed(self) -> Counter[str]:
        """The number of requirements that are marked as owed, by kind."""
        return Counter(row.requirement.owed for row in self.rows.values() if row.requirement.owed)

    def faults(self) -> list[str]:
        """The faults, one per line: uncovered requirements, unknown names, outdated marks."""
        unknown = [f"{kind} {name}: no requirement is called {ident}" for kind, name, ident in self.unknown]
        uncovered = [row.id for row in self.standing(CoverageStatus.UNCOVERED)]
        return [
            *unknown,
            *(f"{ident}: neither covered, nor owed, nor excused" for ident in uncovered),
            *(f"{row.id}: is covered meanwhile; strike its mark, and lower owed.ceiling" for row in self.settled),
        ]


def cover(requirements: Requirements, witnesses: Iterable[Witness]) -> Coverage:
    """Assign each check to the requirements that it judges. Raises ValueError for an unknown kind."""
    rows = {ident: RequirementCoverage(requirement) for ident, requirement in requirements.items()}
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
    """The committed number of requirements that may be owed, which only falls."""
    file = resources.files("zenoh_conformance.spec").joinpath("requirements", "owed.ceiling")
    return int(file.read_text(encoding="utf-8"))


def remove_marks(text: str, phrases: Iterable[str]) -> str:
    """A page's TOML without the marks (`owed`, `unobservable`) of these requirements."""
    for phrase in phrases:
        block = re.compile(rf"^\[{re.escape(phrase)}\]\n(?:[^\[\n][^\n]*\n)*", re.MULTILINE)
        text = block.sub(lambda match: re.sub(r"(?m)^(?:owed|unobservable) = .*\n", "", match[0]), text)
    return text


BEGIN, END = "<!-- coverage: written by `zconform requirements update` -->\n", "<!-- end of coverage -->\n"


def insert_table(document: str, rows: str) -> str:
    """Put the rows between the two marks of a document. Raises ValueError if the marks are missing."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no place for the table: {BEGIN.strip()} and {END.strip()} are expected, a line each")
    return f"{before}{begin}\n{rows}\n{end}{after}"


def table(coverage: Coverage) -> str:
    """The coverage table of the documentation, as Markdown: one line per page, one column per level and kind of check."""
    heads = ["page", *Level, "all", *(f"by {kind}" for kind in OWED), *list(CoverageStatus)[:3]]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    by_page: dict[str, list[RequirementCoverage]] = {}
    for row in coverage.rows.values():
        by_page.setdefault(row.requirement.page, []).append(row)
    lines += [[page, *_counts(rows)] for page, rows in by_page.items()]
    lines.append(["**all**", *_counts(list(coverage.rows.values()))])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _counts(rows: list[RequirementCoverage]) -> list[str]:
    levels = Counter(row.requirement.level for row in rows)
    verdict_table = Counter(row.standing for row in rows)
    counts = [levels[level] for level in Level] + [len(rows)]
    counts += [sum(bool(row.by[kind]) for row in rows) for kind in OWED]
    counts += [verdict_table[standing] for standing in list(CoverageStatus)[:3]]
    return [str(count) for count in counts]
