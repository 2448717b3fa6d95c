"""Conforming variants: the reference with one permitted peculiarity each. No check may be red on a variant.

They are the counterpart of the faulty nodes. A variant says what permits it, and which checks have nothing to judge on it, with the
reason. It has the smallest form that holds it:

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
from zenoh_harness.reference import Reference
from zenoh_harness.reference.hooked import derive_node, name_of

D = TypeVar("D", bound=Callable[..., Any])


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
    """Every variant by name, sorted."""
    import_all("zenoh_harness.variants")
    return dict(sorted(_VARIANTS.items()))
