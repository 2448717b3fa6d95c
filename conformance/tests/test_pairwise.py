"""`pairwise`: each two values of two names stand together, in far fewer rows than all combinations."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from zenoh_conformance.cases.case import grid, pairs_in, pairwise

VALUES = {"a": (1, 2, 3), "b": (False, True), "c": ("x", "y", "z", "u"), "d": (None, b""), "e": (0, 1, 2)}


def test_each_pair_is_there() -> None:
    rows = pairwise(**VALUES)

    wanted = sum(len(VALUES[one]) * len(VALUES[other]) for one, other in combinations(VALUES, 2))
    assert pairs_in(rows) == wanted
    assert all(set(row) == set(VALUES) for row in rows)


def test_it_is_far_less_than_all() -> None:
    assert len(pairwise(**VALUES)) <= 16 < len(grid(**VALUES)) == 144


def test_it_is_the_same_every_time() -> None:
    assert pairwise(**VALUES) == pairwise(**VALUES)


@pytest.mark.parametrize("values", [{"a": (1, 2), "b": (3,)}, {"a": (1,), "b": (2,), "c": (3,)}])
def test_few_values_are_a_grid(values: dict[str, tuple[int, ...]]) -> None:
    assert {tuple(row.items()) for row in pairwise(**values)} == {
        tuple(zip(values, row, strict=True)) for row in product(*values.values())
    }


def test_less_than_all_pairs_is_seen() -> None:
    """The measure tells when a row is missing."""
    rows = pairwise(**VALUES)
    assert pairs_in(rows[:-1]) < pairs_in(rows)
