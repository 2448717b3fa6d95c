"""Conforming variants: the reference with one permitted peculiarity each. Nothing is red on them, whoever judges.

They are the counterpart of the faulty nodes: what is red there must be green here. A variant says what permits it, and which checks
have nothing to judge on it, with the reason; a check that is red on one is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc

from zenoh_conformance.case import import_all
from zenoh_harness.reference import Reference


@dataclass(frozen=True, slots=True)
class Variant:
    """One conforming node that is not as the reference."""

    name: str
    node: type[Reference]
    about: str
    permitted: str
    """What permits it: a page and section, an erratum, or that no page speaks of it."""
    unjudged: Mapping[str, str]
    """Checks (patterns) that have nothing to judge on it, and why; of what is judged on the reference."""


_VARIANTS: dict[str, Variant] = {}


def variant(
    name: str, *, permitted: str, unjudged: Mapping[str, str] | None = None
) -> Callable[[type[Reference]], type[Reference]]:
    """Register a variant. Raises ValueError for a taken name."""

    def register(node: type[Reference]) -> type[Reference]:
        if name in _VARIANTS and _VARIANTS[name].node.__module__ != node.__module__:
            raise ValueError(f"two variants are called {name}")
        _VARIANTS[name] = Variant(name, node, getdoc(node) or "", permitted, unjudged or {})
        return node

    return register


def all_variants() -> Mapping[str, Variant]:
    """Every variant by name, sorted."""
    import_all("zenoh_harness.variants")
    return dict(sorted(_VARIANTS.items()))
