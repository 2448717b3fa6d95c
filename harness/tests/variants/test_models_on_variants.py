"""Models on conforming variants, in memory: nothing is red there; where a variant lacks what a model needs, it says so."""

from __future__ import annotations

from types import ModuleType
from zlib import crc32

import pytest

from zenoh_harness.reference.exploring import explored, fits, models
from zenoh_harness.variants import all_variants

pytestmark = pytest.mark.spread

SLICES = 4
"""A variant is tried with one model in so many, other ones on each variant."""

FEW, MANY = 2, 25
"""Runs of each model, here and in the soak."""


def drawn(name: str, model: ModuleType) -> int:
    """A seed of its own for each variant and model."""
    return crc32(f"{name} {model.__name__}".encode())


@pytest.mark.parametrize("name", all_variants())
def test_no_model_finds_anything_on_a_variant(name: str) -> None:
    """Of the models a slice, other ones on each variant."""
    node, turn = all_variants()[name].node, crc32(name.encode())
    fitting = [model for at, model in enumerate(models(), turn) if at % SLICES == 0 and fits(model, node)]
    found = {model.__name__: explored(model, node, seed=drawn(name, model), examples=FEW) for model in fitting}

    assert {model: finding for model, finding in found.items() if finding is not None} == {}


@pytest.mark.soak
@pytest.mark.parametrize("name", all_variants())
@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__.rpartition(".")[2])
def test_no_model_finds_anything_on_a_variant_in_many_runs(name: str, model: ModuleType) -> None:
    node = all_variants()[name].node
    if fits(model, node):
        assert [explored(model, node, seed=seed, examples=MANY) for seed in range(3)] == [None] * 3


def test_a_model_is_left_out_for_what_the_variant_says_that_it_lacks() -> None:
    """The most of them meet every model: what is left out is told as not applicable, with what the node does not do."""
    out = {
        (name, model.__name__)
        for name, one in all_variants().items()
        for model in models()
        if not fits(model, one.node)
    }

    assert all(all_variants()[name].node.lacks for name, _ in out)
    assert len(out) < len(all_variants())
