"""Conforming variants: the reference node with one permitted peculiarity each. No check may be red on a variant.

They are the counterpart of the faulty nodes. A variant names the page that permits it, and the checks that have nothing to
judge on it, with the reason. It is written in the shortest of these forms:

- a row, `row("its-name", "What it does.", permitted="..", settings={..})`: other class attributes, or an expression in place of a hook;
- a function under `@variant("hook", permitted="..")`: the body of one hook;
- a subclass of the reference under `@variant(permitted="..")`: several hooks, or state that they share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from typing import Any, TypeVar

from zenoh_conformance.loading import import_all
from zenoh_harness.reference import Reference, derive_node, name_of

D = TypeVar("D", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Variant:
    """A conforming node that differs from the reference node."""

    name: str
    node: type[Reference]
    about: str
    permitted: str
    """Page and section, or erratum, that permits it, or the statement that no page restricts it."""
    unjudged: Mapping[str, str]
    """Pattern of check ids to the reason why these checks, which judge the reference node, have nothing to judge here."""


_VARIANTS: dict[str, Variant] = {}


def row(
    name: str,
    about: str,
    *,
    permitted: str,
    unjudged: Mapping[str, str] | None = None,
    of: type[Reference] = Reference,
    **changes: Any,
) -> type[Reference]:
    """Register a variant of `of` with other attributes or hooks (`derive_node`). Raises ValueError for a taken name."""
    node = derive_node(name, changes, of)
    _register(Variant(name, node, about, permitted, unjudged or {}))
    return node


def variant(
    hook: str = "",
    *,
    permitted: str,
    unjudged: Mapping[str, str] | None = None,
    of: type[Reference] = Reference,
    **attributes: Any,
) -> Callable[[D], D]:
    """
    Register a variant: the decorated function in place of a hook of `of`, or the decorated class.

    Its name is that of the function or class in words, and its docstring says what it does. Raises ValueError for a taken name.
    """

    def register(decorated: D) -> D:
        name, node = name_of(decorated), decorated
        if hook:
            node = derive_node(name, {hook: decorated, **attributes}, of)  # type: ignore[assignment]
        _register(Variant(name, node, getdoc(decorated) or "", permitted, unjudged or {}))  # type: ignore[arg-type]
        return decorated

    return register


def _register(variant: Variant) -> None:
    if variant.name in _VARIANTS and _VARIANTS[variant.name].about != variant.about:
        raise ValueError(f"two variants are called {variant.name}")
    _VARIANTS[variant.name] = variant


def all_variants() -> Mapping[str, Variant]:
    """Return every variant by name, sorted."""
    import_all("zenoh_harness.variants")
    return dict(sorted(_VARIANTS.items()))
