"""The table of requirements, the checks that judge them, and the verdict on each target; an empty cell needs a reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from zenoh_conformance.judging.verdict import Judgement, Verdict, worst
from zenoh_conformance.spec.coverage import Coverage, CoverageStatus, RequirementCoverage
from zenoh_harness.files.results import Results
from zenoh_vectors.loader import Vector

KINDS: Final = ("law", "case", "model", "vector")
EMPTY: Final = "nothing judged it"
"""Text of a cell without a verdict and without a reason: an error."""


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """One target, with its judgements from all results."""

    title: str
    version: str
    judged: dict[str, list[Judgement]]


@dataclass(frozen=True, slots=True)
class RequirementVerdicts:
    """One requirement: the number of checks of each kind, and a cell for each target."""

    row: RequirementCoverage
    cells: tuple[str, ...]

    @property
    def by(self) -> tuple[str, ...]:
        """The laws, cases, models and vectors that judge it: their number, or the name of a single one."""
        return tuple(_name_or_count(self.row.by[kind]) for kind in KINDS)


def columns(results: Iterable[Results]) -> list[TargetColumn]:
    """Return one column per target, in the order of the results; several runs of a target share a column."""
    by_title: dict[str, TargetColumn] = {}
    for result in results:
        header = result.header
        title = " ".join(dict.fromkeys(part for part in (header.kind, header.name, header.version) if part))
        column = by_title.setdefault(title, TargetColumn(title, header.version, defaultdict(list)))
        for judgement in result.judgements:
            column.judged[judgement.key.requirement].append(judgement)
    return list(by_title.values())


def table_rows(
    coverage: Coverage, vectors: Sequence[Vector], targets: Sequence[TargetColumn], pattern: str = "*"
) -> Iterator[RequirementVerdicts]:
    """Yield a row for each requirement whose id matches, in order."""
    by_requirement: dict[str, list[Vector]] = defaultdict(list)
    for vector in vectors:
        for ident in vector.covers:
            by_requirement[ident].append(vector)
    for ident, row in coverage.rows.items():
        if fnmatchcase(ident, pattern):
            yield RequirementVerdicts(row, tuple(cell(row, column, by_requirement[ident]) for column in targets))


def cell(row: RequirementCoverage, column: TargetColumn, vectors: Sequence[Vector]) -> str:
    """Return the verdict on a requirement for one target, or why there is none."""
    judgements = column.judged.get(row.requirement.id, [])
    verdict = worst(judgement.verdict for judgement in judgements)
    if any(judgement.verdict.is_judged for judgement in judgements):
        return _verdict_count(verdict, judgements)
    if row.requirement.by_codec and (confirmed := _confirmed_vectors(vectors, column.version)):
        return confirmed
    if judgements:
        why = next(
            (judgement.cause for judgement in judgements if judgement.verdict is verdict and judgement.cause), ""
        )
        return f"{verdict.value}: {why or 'no check met anything to judge'}"
    if row.standing is CoverageStatus.OWED:
        return f"uncovered: a {row.requirement.owed} is due"
    return f"cannot be seen: {row.requirement.unobservable}" if row.requirement.unobservable else EMPTY


def _verdict_count(verdict: Verdict, judgements: Sequence[Judgement]) -> str:
    """Return the worst verdict, how many judgements have it, and their readings."""
    same = sum(judgement.verdict is verdict for judgement in judgements)
    number = f"{len(judgements)}" if same == len(judgements) else f"{same} of {len(judgements)}"
    readings = sorted({judgement.reading for judgement in judgements if judgement.reading})
    return f"{verdict.value} ({number})" + "".join(f", {reading}" for reading in readings)


def _confirmed_vectors(vectors: Sequence[Vector], version: str) -> str:
    """Return how many golden vectors the codec of this release confirmed; empty if none."""
    agreed = sum(any(name.endswith(f" {version}") for name in vector.confirmed_by) for vector in vectors)
    return f"{agreed} of {len(vectors)} vectors" if agreed else ""


def _name_or_count(names: Sequence[str]) -> str:
    return names[0].partition("/")[2] or names[0] if len(names) == 1 else str(len(names) or "")


def unexplained_gaps(table: Iterable[RequirementVerdicts]) -> list[str]:
    """Return the ids of requirements that have a cell without a verdict and without a reason."""
    return [line.row.requirement.id for line in table if EMPTY in line.cells]


def markdown(table: Sequence[RequirementVerdicts], targets: Sequence[TargetColumn]) -> str:
    """Return the table as Markdown."""
    heads = ["requirement", "level", *KINDS, *(column.title for column in targets)]
    rows = [heads, ["---"] * len(heads)]
    rows += [[line.row.requirement.id, line.row.requirement.level, *line.by, *line.cells] for line in table]
    return "".join(f"| {' | '.join(_flat(cell) for cell in row)} |\n" for row in rows)


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
