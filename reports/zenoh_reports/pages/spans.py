"""Runs that share something, told as ranges of versions: twenty-five names in a row say less than the first and the last."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import groupby

from zenoh_reports.plain.runs import Run


@dataclass(frozen=True, slots=True)
class Span:
    """Neighbouring versions of one target."""

    first: Run
    last: Run
    count: int

    @property
    def label(self) -> str:
        """`node 1.0.0 to 1.4.0 (5)`; of one run its label."""
        if self.count == 1:
            return self.first.label
        between = "and" if self.count == 2 else "to"
        return f"{self.first.label} {between} {self.last.identity.version or self.last.label} ({self.count})"


def spans(every: Sequence[Run], having: Container[str]) -> list[Span]:
    """Of runs in order, those whose slug is in `having`; a run between them that is not breaks a span."""
    found = []
    for (there, *_), group in groupby(every, lambda run: (run.slug in having, run.identity.name, run.identity.kind)):
        if there:
            runs = list(group)
            found.append(Span(runs[0], runs[-1], len(runs)))
    return found
