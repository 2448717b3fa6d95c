"""A user's own vectors on a node: judgements of their own, `vectors/ID`, one for each requirement that a vector covers.

A requirement passes by one only where a planted misreading of its row is noticed on nodes of that kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zenoh_conformance.judging.verdict import Verdict, verdict_for
from zenoh_conformance.spec.requirement import requirements
from zenoh_harness.run.judge.decide import level_of
from zenoh_harness.run.plan.plan import Selection
from zenoh_harness.run.vectors.answers import VectorAnswer
from zenoh_harness.run.vectors.codec_run import check_of, requirements_wanted
from zenoh_harness.run.vectors.effects import SURVIVED
from zenoh_harness.run.vectors.rows import RowVerdict, counts_of, judged_on
from zenoh_vectors.loader import Vector


@dataclass(frozen=True, slots=True)
class OwnRow:
    """One judgement that is due: a vector, and a requirement that it covers."""

    vector: Vector
    requirement: str

    @property
    def check(self) -> str:
        """The id of the check."""
        return check_of(self.vector)

    def judge(self, answer: VectorAnswer, kind: str) -> RowVerdict:
        """Return what the answer of a node of that kind says of the requirement."""
        counts: Mapping[str, Any] = counts_of([answer])
        if answer.verdict.is_wrong:
            verdict = verdict_for(level_of(self.requirement)) if answer.verdict is Verdict.FAIL else answer.verdict
            details = {**counts, "bytes": self.vector.data.hex(), "vectors": [self.vector.id]}
            return RowVerdict(verdict, answer.cause, answer.reading, details, answer.record)
        is_shown = self.requirement not in requirements() or self.requirement in judged_on()[kind]
        if answer.verdict is Verdict.PASS and not is_shown:
            why = f"{SURVIVED}: no planted misreading of the row shows on a {kind}"
            return RowVerdict(Verdict.NOT_OBSERVED, why, None, counts)
        return RowVerdict(answer.verdict, answer.cause, answer.reading, counts)


def own_rows(vectors: Iterable[Vector], selection: Selection) -> tuple[OwnRow, ...]:
    """The judgements of these vectors that are selected."""
    return tuple(OwnRow(one, requirement) for one in vectors for requirement in requirements_wanted(one, selection))
