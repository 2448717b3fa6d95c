"""The time that a run may take: what is judged first where it is short, and when to leave the rest out.

What is left out is named, as not observed. Nothing that is judged is judged otherwise: a shorter time means fewer checks.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from zenoh_harness.errors import UsageError
from zenoh_harness.run.plan.plan import Item

AT_FULL: Final = 600.0
"""Seconds that a run of depth `full` may take unless it is told otherwise."""

SOME: Final = 16
"""Items between two looks at the clock, where time is short."""

_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
_WRITTEN: Final = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")


IN_VAIN: Final = 20.0
"""Seconds that a quick run goes on with a target of which no plain session works: few checks can say anything of it."""


@dataclass(slots=True)
class Allowance:
    """Until when a run, or a part of it, may go on."""

    until: float = inf
    """On `time.monotonic()`."""
    seconds: float = inf
    """What was allowed in all."""
    why: str = ""
    """Why it is less than the user allowed."""

    @classmethod
    def of(cls, seconds: float) -> Allowance:
        """So many seconds from now."""
        return cls(time.monotonic() + seconds, seconds)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self.until - time.monotonic())

    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0

    def share(self, part: float) -> Allowance:
        """A part of what is left, as of 1."""
        return Allowance(time.monotonic() + self.left * min(1.0, part), self.seconds, self.why)

    def cut(self, until: float, why: str) -> None:
        """Let it end at a time of `time.monotonic`, unless it ends before."""
        if until < self.until:
            self.until, self.why = until, why

    @property
    def is_over_because(self) -> str:
        """Why it is over, as a clause."""
        return self.why or f"the budget of {self} was over"

    def __str__(self) -> str:
        return f"{self.seconds / 60:g} min" if self.seconds >= 60 else f"{self.seconds:g} s"


def seconds_of(text: str, option: str = "--budget") -> float:
    """`90`, `90s`, `10m`, `1h`, or `none`. Raises UsageError."""
    if text == "none":
        return inf
    found = _WRITTEN.fullmatch(text)
    if found is None or float(found[1]) <= 0:
        raise UsageError(f"{text!r} is no time", step=option, hint="as in 90s, 10m or 1h; none for no limit")
    return float(found[1]) * _UNITS[found[2] or "s"]


def in_rounds(items: Sequence[Item]) -> list[Item]:
    """The items so that every prefix has some of each case: the first and the last parameters first, then those between."""
    of: dict[str, list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        of[item.case.id].append(at)
    rank = {at: rank for places in of.values() for rank, at in enumerate(_spread(places))}
    return [items[at] for at in sorted(rank, key=lambda at: (rank[at], at))]


def _spread(places: Sequence[int]) -> Iterator[int]:
    """First, last, the middle, the middles of the halves, and so on; each once."""
    yield places[0]
    if len(places) > 1:
        yield places[-1]
    between = [(0, len(places) - 1)]
    while between:
        low, high = between.pop(0)
        middle = (low + high) // 2
        if low < middle < high:
            yield places[middle]
            between += [(low, middle), (middle, high)]


def some(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """A few at a time."""
    for at in range(0, len(items), SOME):
        yield items[at : at + SOME]
