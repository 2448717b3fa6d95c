"""The summary of `zconform vectors play`: what was judged, what only survived, what was not played, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from zenoh_conformance.judging.verdict import Judgement, Key
from zenoh_harness.profiles import DEFAULT
from zenoh_harness.run.judge.decide import level_of
from zenoh_harness.run.store import embargo
from zenoh_harness.run.vectors.answers import Answers, VectorAnswer
from zenoh_harness.run.vectors.effects import NOT_PLAYED, SURVIVED
from zenoh_harness.run.vectors.rows import Played, check_of, judge_row
from zenoh_harness.targets.target import NodeTarget
from zenoh_vectors.loader import Vector


class Showing(Enum):
    """What a node showed of a vector."""

    JUDGED = "judged"
    SURVIVED = SURVIVED
    NOT_PLAYED = NOT_PLAYED


def showing(answer: VectorAnswer) -> Showing:
    """Return what the node showed of a vector, by the answer for it."""
    if answer.verdict.is_judged:
        return Showing.JUDGED
    return Showing.NOT_PLAYED if answer.cause.startswith(NOT_PLAYED) else Showing.SURVIVED


def hold_back(target: NodeTarget, answers: Sequence[tuple[Vector, VectorAnswer]]) -> list[Judgement]:
    """Keep what is grave on an implementation that others maintain in the user's data folder; return what was kept."""
    if not embargo.guarded(target):
        return []
    kept = [_judgement(target, vector, answer) for vector, answer in answers if answer.verdict.is_grave]
    for judgement in kept:
        embargo.keep(judgement)
    return kept


def _judgement(target: NodeTarget, vector: Vector, answer: VectorAnswer) -> Judgement:
    check, requirement = f"vectors/{vector.id}", vector.covers[0] if vector.covers else f"vectors/{vector.id}"
    who = target.identity
    key = Key(
        target=who.name,
        version=who.version,
        role=target.role,
        profile="default",
        link="tcp",
        requirement=requirement,
        check=check,
    )
    repeat = f"zconform vectors play '{target.reach}' '{vector.id}'"
    return Judgement(
        key=key, level=level_of(requirement), verdict=answer.verdict, cause=answer.cause, embargo=True, repeat=repeat
    )


def judge_rows(target: NodeTarget, answers: Answers, *, routes: bool) -> Iterator[Judgement]:
    """Yield what the answers say of each requirement that the vectors cover, as a run records it; what is grave is left out."""
    shown = [(vector, answer) for vector, answer in answers if not answer.verdict.is_grave]
    played, who = Played.of(shown, routes=routes, side=target.side), target.identity
    for requirement in sorted({row for vector, _ in answers for row in vector.covers}):
        row = judge_row(requirement, played)
        key = Key(
            target=who.name,
            version=who.version,
            role=target.role,
            profile=DEFAULT,
            link="tcp",
            requirement=requirement,
            check=check_of(requirement),
        )
        yield Judgement(
            key=key,
            level=level_of(requirement),
            verdict=row.verdict,
            cause=row.cause,
            reading=row.reading,
            details=row.details,
            repeat=f"zconform vectors play '{target.reach}'",
        )


def totals(answers: Iterable[VectorAnswer]) -> dict[str, dict[str, int]]:
    """Return how many vectors were judged, survived and were not played, each by verdict or reason, the most frequent first."""
    counts: dict[Showing, Counter[str]] = {kind: Counter() for kind in Showing}
    for answer in answers:
        kind = showing(answer)
        reason = answer.cause.removeprefix(f"{NOT_PLAYED}: ").removeprefix(f"{SURVIVED}; ")
        counts[kind][answer.verdict.value if kind is Showing.JUDGED else reason or answer.verdict.value] += 1
    return {kind.value: dict(count.most_common()) for kind, count in counts.items()}


def table(found: dict[str, dict[str, int]]) -> Iterator[str]:
    """Yield the summary as lines."""
    for kind, reasons in found.items():
        yield f"{sum(reasons.values()):>6} {kind}"
        for reason, count in reasons.items():
            yield f"       {count:>6}  {reason}"


def carrier_lines(carried: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each carrier in which some vectors were played again, with how many were read."""
    yield from (f"{count:>6} read again {how.removeprefix('only ')}" for how, count in carried.items())


def details(answer: VectorAnswer) -> dict[str, Any]:
    """Return what the result of a vector says beyond that of a codec."""
    return {"by": "node", "shows": showing(answer).value}
