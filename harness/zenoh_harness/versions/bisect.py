"""The versions at which a verdict turns, found in a logarithm of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from zenoh_conformance.judging.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a verdict turns: the last target on one side, the first on the other."""

    before: str
    after: str
    became: Verdict
    """What it is from `after` on."""

    @property
    def bad(self) -> bool:
        """Whether it turned to the bad."""
        return self.became.is_wrong


class _Unjudged(Exception):  # noqa: N818  a way back, no error
    def __init__(self, target: str) -> None:
        self.target = target


def turns(targets: Sequence[str], ask: Callable[[str], Verdict]) -> list[Turn]:
    """Where bad turns good and back, over targets in order, in about 2 log n runs.

    The ends are asked first; where they agree, middles are asked, halves before quarters, until one differs (a fault that came
    and went). Between two that differ the border is found by halving. Each target is asked once; one that cannot be
    judged is left out, as if it were not there.
    """
    asked: dict[str, Verdict] = {}

    def bad(target: str) -> bool:
        if target not in asked:
            asked[target] = ask(target)
        if not asked[target].is_judged:
            raise _Unjudged(target)
        return asked[target].is_wrong

    left = list(targets)
    while left:
        try:
            return [Turn(left[edge - 1], left[edge], asked[left[edge]]) for edge in _edges(left, bad)]
        except _Unjudged as one:
            left.remove(one.target)
    return []


def _edges(targets: Sequence[str], bad: Callable[[str], bool]) -> list[int]:
    """The indexes of those that differ from the one before them."""

    def red(index: int) -> bool:
        return bad(targets[index])

    last = len(targets) - 1
    known = sorted({0, last})
    if red(0) == red(last):
        known = sorted({*known, *_different(last, red)})
    return [_border(low, high, red) for low, high in pairwise(known) if red(low) != red(high)]


def _different(last: int, red: Callable[[int], bool]) -> list[int]:
    """One index between 0 and last that differs from both ends, halves before quarters; none when all are alike."""
    gaps = [(0, last)]
    while gaps:
        wider = []
        for low, high in gaps:
            middle = (low + high) // 2
            if middle in (low, high):
                continue
            if red(middle) != red(0):
                return [middle]
            wider += [(low, middle), (middle, high)]
        gaps = wider
    return []


def _border(low: int, high: int, red: Callable[[int], bool]) -> int:
    """The first index after low that is as high is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if red(middle) == red(low) else (low, middle)
    return high
