"""The table requirement by {law, case, model} by verdict on each target of some results: nothing in it is empty without a reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from zenoh_conformance.coverage import Coverage, Row, Standing
from zenoh_conformance.verdict import Judgement, Verdict, worst
from zenoh_harness.files.results import Results
from zenoh_vectors.loader import Vector

KINDS: Final = ("law", "case", "model", "vector")
EMPTY: Final = "nothing judged it"
"""A cell without a verdict and without a reason: a fault."""

_UNTOLD: Final = frozenset({Verdict.NOT_OBSERVED, Verdict.NOT_APPLICABLE, Verdict.UNIMPLEMENTED})


@dataclass(frozen=True, slots=True)
class Column:
    """One target, with all that any of its results say."""

    title: str
    version: str
    judged: dict[str, list[Judgement]]


@dataclass(frozen=True, slots=True)
class Line:
    """One requirement: how many checks of each kind judge it, and what they said of each target."""

    row: Row
    cells: tuple[str, ...]

    @property
    def by(self) -> tuple[str, ...]:
        """The laws, cases, models and vectors that judge it, by number; the one that is alone by name."""
        return tuple(_some(self.row.by[kind]) for kind in KINDS)


def columns(results: Iterable[Results]) -> list[Column]:
    """One a target, in the order of the results; a target judged in several runs (roles, profiles) is one column."""
    found: dict[str, Column] = {}
    for each in results:
        header = each.header
        title = " ".join(dict.fromkeys(part for part in (header.kind, header.name, header.version) if part))
        column = found.setdefault(title, Column(title, header.version, defaultdict(list)))
        for judgement in each.judgements:
            column.judged[judgement.key.requirement].append(judgement)
    return list(found.values())


def lines(
    coverage: Coverage, vectors: Sequence[Vector], targets: Sequence[Column], pattern: str = "*"
) -> Iterator[Line]:
    """The table's rows: requirements whose id matches, in order."""
    by_requirement: dict[str, list[Vector]] = defaultdict(list)
    for vector in vectors:
        for ident in vector.covers:
            by_requirement[ident].append(vector)
    for ident, row in coverage.rows.items():
        if fnmatchcase(ident, pattern):
            yield Line(row, tuple(cell(row, column, by_requirement[ident]) for column in targets))


def cell(row: Row, column: Column, vectors: Sequence[Vector]) -> str:
    """What is known of one requirement and one target: its verdict, or why there is none."""
    judgements = column.judged.get(row.requirement.id, [])
    verdict = worst(judgement.verdict for judgement in judgements)
    if judgements and verdict not in _UNTOLD:
        return _counted(verdict, judgements)
    if row.requirement.by_codec and (confirmed := _confirmed(vectors, column.version)):
        return confirmed
    if judgements:
        why = next(
            (judgement.cause for judgement in judgements if judgement.verdict is verdict and judgement.cause), ""
        )
        return f"{verdict.value}: {why or 'no check met anything to judge'}"
    if row.standing is Standing.OWED:
        return f"uncovered: a {row.requirement.owed} is due"
    return f"cannot be seen: {row.requirement.unobservable}" if row.requirement.unobservable else EMPTY


def _counted(verdict: Verdict, judgements: Sequence[Judgement]) -> str:
    """The worst verdict, how many say so, and the reading where one can be told."""
    same = sum(judgement.verdict is verdict for judgement in judgements)
    number = f"{len(judgements)}" if same == len(judgements) else f"{same} of {len(judgements)}"
    readings = sorted({judgement.reading for judgement in judgements if judgement.reading})
    return f"{verdict.value} ({number})" + "".join(f", {reading}" for reading in readings)


def _confirmed(vectors: Sequence[Vector], version: str) -> str:
    """How many of its golden vectors this release's own codec agreed with; empty when it was never asked."""
    agreed = sum(any(one.endswith(f" {version}") for one in vector.confirmed_by) for vector in vectors)
    return f"{agreed} of {len(vectors)} vectors" if agreed else ""


def _some(names: Sequence[str]) -> str:
    return names[0].partition("/")[2] or names[0] if len(names) == 1 else str(len(names) or "")


def empty(table: Iterable[Line]) -> list[str]:
    """The ids of the requirements that have a cell without a verdict and without a reason."""
    return [line.row.requirement.id for line in table if EMPTY in line.cells]


def markdown(table: Sequence[Line], targets: Sequence[Column]) -> str:
    """The table as people and pages read it."""
    heads = ["requirement", "level", *KINDS, *(column.title for column in targets)]
    rows = [heads, ["---"] * len(heads)]
    rows += [[line.row.requirement.id, line.row.requirement.level, *line.by, *line.cells] for line in table]
    return "".join(f"| {' | '.join(_flat(text) for text in row)} |\n" for row in rows)


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
