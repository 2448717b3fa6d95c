"""Groups runs into ranges of versions, which are shorter than a list of names."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import groupby

from zenoh_reports.plain.runs import Run


@dataclass(frozen=True, slots=True)
class VersionSpan:
    """A range of adjacent versions of one target."""

    first: Run
    last: Run
    count: int

    @property
    def label(self) -> str:
        """`node 1.0.0 to 1.4.0 (5)`, or the label of a single run."""
        if self.count == 1:
            return self.first.label
        between = "and" if self.count == 2 else "to"
        return f"{self.first.label} {between} {self.last.identity.version or self.last.label} ({self.count})"


def spans(every: Sequence[Run], having: Container[str]) -> list[VersionSpan]:
    """Return the ranges of consecutive runs whose slug is in `having`."""
    found = []
    for (there, *_), group in groupby(every, lambda run: (run.slug in having, run.identity.name, run.identity.kind)):
        if there:
            runs = list(group)
            found.append(VersionSpan(runs[0], runs[-1], len(runs)))
    return found
