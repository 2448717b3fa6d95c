"""What changed: verdicts over runs, against a baseline, and how often a check wavers; in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Final

from .judgements import SUBJECT, JudgementRow, Values, grouped

FLAKY: Final = "flaky"


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a row is about, in the order of SUBJECT."""

    kind: str
    target: str
    role: str
    profile: str
    link: str
    requirement: str
    check: str
    parameters: str


@dataclass(frozen=True, slots=True)
class TurnRow(_Subject):
    """A run in which a check's verdict was another than in the run before; the first run counts as one."""

    day: str
    run: str
    version: str
    verdict: str
    cause: str
    before: str
    """The verdict of the run before; empty at the first."""


@dataclass(frozen=True, slots=True)
class ChangeRow(_Subject):
    """A check that says something else than in the baseline run."""

    verdict: str
    """Empty where it is not judged any more."""
    cause: str
    before: str
    """Empty where the baseline did not judge it."""
    change: str
    """`new`, `gone`, `worse`, `better`."""


@dataclass(frozen=True, slots=True)
class FlakeRow(_Subject):
    """How often a check of one version wavers."""

    version: str
    version_order: str
    """As text it sorts as versions do."""
    runs: int
    flaky: int
    """Runs that said so themselves."""
    changes: int
    """Runs that said something else than the run before."""
    retried: int
    """Runs that needed more than one attempt."""
    rate: float
    """(flaky + changes) / runs, at most 1."""


@dataclass(frozen=True, slots=True)
class LastRow(_Subject):
    """The newest run in which a check was judged."""

    day: str
    run: str
    verdict: str


@dataclass(frozen=True, slots=True)
class FlakeState(FlakeRow):
    """The rate of a check, and the newest run that it counts."""

    day: str
    run: str
    verdict: str


def of_runs(rows: Iterable[JudgementRow], names: Sequence[str]) -> dict[Values, list[JudgementRow]]:
    """For each value of these columns, one judgement a run, the worst, in order of day and run."""
    made = {}
    for key, found in grouped(rows, names).items():
        a_run = (
            max(each, key=attrgetter("severity", "cause", "id")) for each in grouped(found, ["day", "run"]).values()
        )
        made[key] = sorted(a_run, key=attrgetter("day", "run"))
    return made


def history(rows: Iterable[JudgementRow]) -> list[TurnRow]:
    """Where verdicts turned, by what was judged, day and run."""
    made = []
    for key, runs in of_runs(rows, SUBJECT).items():
        before = ""
        for row in runs:
            if row.verdict != before:
                made.append(TurnRow(*(*key, row.day, row.run, row.version, row.verdict, row.cause, before)))
            before = row.verdict
    return made


def against(rows: Iterable[JudgementRow], baseline: Iterable[JudgementRow]) -> list[ChangeRow]:
    """What is new, gone, worse or better than in the baseline; what says the same is left out."""
    now, then = (of_runs(each, SUBJECT) for each in (rows, baseline))
    made = []
    for key in sorted({*now, *then}):
        here, there = now.get(key, [None])[-1], then.get(key, [None])[-1]
        verdict, before = here.verdict if here else "", there.verdict if there else ""
        if verdict != before:
            ranks = (here.severity if here else 0, there.severity if there else 0)
            change = (
                "new" if there is None else "gone" if here is None else "worse" if ranks[0] > ranks[1] else "better"
            )
            made.append(ChangeRow(*(*key, verdict, here.cause if here else "", before, change)))
    return made


def flakes(rows: Iterable[JudgementRow]) -> list[FlakeRow]:
    """The rate of each check of each version, by what was judged and version."""
    made = []
    for key, runs in of_runs(rows, [*SUBJECT, "version", "version_order"]).items():
        flaky = sum(row.verdict == FLAKY for row in runs)
        changes = sum(row.verdict != before.verdict for before, row in pairwise(runs))
        retried = sum(row.attempts > 1 for row in runs)
        rate = min(1.0, (flaky + changes) / len(runs))
        made.append(FlakeRow(*(*key, len(runs), flaky, changes, retried, rate)))
    return made
