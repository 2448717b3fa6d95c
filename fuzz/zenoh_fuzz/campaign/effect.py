"""How two engines differ in trials that were repeated with several seeds: rank statistics, which ask for no distribution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import median


def superiority(first: Sequence[float], second: Sequence[float]) -> float:
    """Return how often a trial of the first is quicker than one of the second (Vargha and Delaney's A); 0.5 is no difference."""
    return _wins(first, second) / (len(first) * len(second))


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p of Mann and Whitney's test, exact, with ties.

    It is the share of all ways to deal the trials out to the two that differ as much as the way that was seen.
    """
    pooled = (*first, *second)
    middle = len(first) * len(second) / 2
    seen = abs(_wins(first, second) - middle)
    # With ranks instead of pairs each way costs a sum.
    ranks = [sum(other < one for other in pooled) + (pooled.count(one) - 1) / 2 for one in pooled]
    least = len(first) * (len(first) - 1) / 2
    wins = [len(first) * len(second) - (sum(dealt) - least) for dealt in combinations(ranks, len(first))]
    return sum(abs(one - middle) >= seen - 1e-9 for one in wins) / len(wins)


def _wins(first: Sequence[float], second: Sequence[float]) -> float:
    return sum((one < other) + (one == other) / 2 for one in first for other in second)


def compare(first: Sequence[float], second: Sequence[float]) -> str:
    """Return both medians, p and effect size in one line; a trial that found nothing is infinite."""
    medians = " and ".join(f"{median(each):.1f}" for each in (first, second))
    return f"medians {medians}, p {mann_whitney(first, second):.3g}, A {superiority(first, second):.2f}"
