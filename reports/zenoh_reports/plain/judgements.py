"""Results rows to runs, judgements and the matrix, in plain Python; `zenoh_reports.pipeline` does the same on Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final, TypeVar

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.spec.requirement import Requirement

from .results import ResultRow
from .versions import version_order

UNOBSERVED: Final = tuple(verdict.value for verdict in Verdict if not verdict.is_judged)
"""Verdicts of what judged nothing: also an error of the harness."""
SUBJECT: Final = ("kind", "target", "role", "profile", "link", "requirement", "check", "parameters")
"""What a judgement is about, whatever the version and the run."""
COLUMN: Final = ("target", "version", "kind", "profile")
"""A column of the matrix: what is compared with what."""
ID: Final = 16
SEPARATOR: Final = "\x1f"
Row = TypeVar("Row")
Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the harness."""

    run: str
    day: str
    file: str
    target: str
    version: str
    version_order: str
    """As text it sorts as versions do."""
    kind: str
    digest: str
    date: str
    """When it began, as its header says it; empty in old results."""
    role: str
    reach: str
    spec: str
    harness: str
    seed: int
    complete: bool
    """It has a footer, and nothing was pending."""
    why: str
    judgements: int
    planned: int
    pending: int
    """As the footer says; of a run without footer, planned less judged."""
    embargoed: int
    exit: int
    """-1 without a footer."""
    faults: int
    """Lines that were left out."""


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """One judgement of one run."""

    id: str
    """Of the run and the line: reading again changes nothing."""
    run: str
    day: str
    kind: str
    target: str
    version: str
    version_order: str
    """As text it sorts as versions do."""
    role: str
    profile: str
    link: str
    requirement: str
    level: str
    check: str
    parameters: str
    verdict: str
    severity: int
    reading: str
    cause: str
    end: str
    attempts: int
    evidence: str
    repeat: str


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One requirement in one column: target, version, kind and profile."""

    page: str
    requirement: str
    level: str
    says: str
    target: str
    version: str
    version_order: str
    """As text it sorts as versions do."""
    kind: str
    profile: str
    verdict: str
    """The worst; `not-observed` where nothing judged it."""
    cause: str
    judgements: int
    """Those that say this verdict."""
    judged: int
    """All that judged anything."""
    unobserved: int
    """Those that met nothing to judge, do not apply, or are not implemented."""
    runs: int


def content_id(*parts: object) -> str:
    """A name made of content: the same parts, the same name, here and in Spark."""
    return sha256(SEPARATOR.join(map(str, parts)).encode()).hexdigest()[:ID]


def grouped(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of these columns, in order of the values."""
    key = attrgetter(*names)
    found: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        value: Hashable = key(row)
        found[value if isinstance(value, tuple) else (value,)].append(row)
    return dict(sorted(found.items()))


def runs(rows: Iterable[ResultRow]) -> list[RunRow]:
    """One row a run, by run; two files with the same content are one."""
    made = []
    for lines in grouped(rows, ["run"]).values():
        first = min(line.file for line in lines)
        made.append(_run([line for line in lines if line.file == first]))
    return made


def _run(lines: Sequence[ResultRow]) -> RunRow:
    of = {
        kind: [line for line in lines if line.type == kind]
        for kind in ("header", "plan", "judgement", "footer", "fault")
    }
    head = min(of["header"] or lines, key=attrgetter("line"))
    foot = max(of["footer"], key=attrgetter("line"), default=None)
    planned = sum(len(line.names) for line in of["plan"])
    judged = len(of["judgement"])
    pending = len(foot.names) if foot else max(0, planned - judged)
    why = foot.why if foot else (min(line.fault for line in of["fault"]) if of["fault"] and not of["header"] else "")
    return RunRow(
        run=head.run, day=head.day, file=head.file, target=head.target, version=head.version,
        version_order=head.version_order, kind=head.kind,
        digest=head.digest, date=head.date, role=head.role, reach=head.reach, spec=head.spec, harness=head.harness, seed=head.seed,
        complete=foot is not None and not pending, why=why, judgements=judged, planned=planned, pending=pending,
        embargoed=foot.embargoed if foot else 0, exit=foot.exit if foot else -1, faults=len(of["fault"]),
    )  # fmt: skip


def judgements(rows: Iterable[ResultRow]) -> list[JudgementRow]:
    """One row a judgement, by id; a run that was read twice counts once."""
    shared = [each.name for each in fields(JudgementRow) if each.name != "id"]
    made = {
        id_: JudgementRow(id_, *(getattr(row, name) for name in shared))
        for row in rows
        if row.type == "judgement"
        for id_ in [content_id(row.run, row.line)]
    }
    return [row for _, row in sorted(made.items())]


def newest(rows: Iterable[JudgementRow]) -> list[JudgementRow]:
    """The judgements of the newest run of each target, version, kind, role and profile: by day, then by run."""
    rows = list(rows)
    last = {
        key: max((row.day, row.run) for row in found)
        for key, found in grouped(rows, [*COLUMN, "role"]).items()
    }  # fmt: skip
    column = attrgetter(*COLUMN, "role")
    return sorted((row for row in rows if (row.day, row.run) == last[column(row)]), key=attrgetter("id"))


def matrix(rows: Iterable[JudgementRow], requirements: Iterable[Requirement]) -> list[MatrixRow]:
    """Each requirement in each column, by page, requirement and column; what nothing judged is there as `not-observed`."""
    rows = list(rows)
    found = grouped(rows, ["requirement", *COLUMN])
    every = sorted(grouped(rows, COLUMN))
    made = [
        _cell(needed, column, found.get((needed.id, *column), []))
        for needed in requirements for column in every
    ]  # fmt: skip
    return sorted(made, key=attrgetter("page", "requirement", "target", "version_order", "kind", "profile"))


def _cell(needed: Requirement, column: tuple[Any, ...], rows: Sequence[JudgementRow]) -> MatrixRow:
    unobserved = sum(row.verdict in UNOBSERVED for row in rows)
    worst = max(rows, key=attrgetter("severity", "cause"), default=None)
    target, version, kind, profile = column
    return MatrixRow(
        page=needed.id.partition("/")[0], requirement=needed.id, level=str(needed.level), says=needed.says,
        target=target, version=version, version_order=version_order(version), kind=kind, profile=profile,
        verdict=worst.verdict if worst else Verdict.NOT_OBSERVED.value, cause=worst.cause if worst else "",
        judgements=sum(row.verdict == worst.verdict for row in rows) if worst else 0,
        judged=len(rows) - unobserved, unobserved=unobserved, runs=len({row.run for row in rows}),
    )  # fmt: skip
