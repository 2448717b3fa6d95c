"""Faulty nodes: the reference with one fault each, a few lines through a named hook.

Each is caught by the case or law that it names; a case that no faulty node fails is not finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import getdoc

from zenoh_conformance.case import Case, Parameters, import_all
from zenoh_harness.reference import Reference


@dataclass(frozen=True, slots=True)
class FaultyNode:
    """One faulty node."""

    name: str
    node: type[Reference]
    caught_by: tuple[str, ...]
    """Ids of the cases or laws that must be red on it."""
    about: str
    also: Mapping[str, str]
    """Other checks (patterns) that are red on it, and why they are."""
    values: tuple[Parameters, ...] = ()
    """Values at which what should catch it does, where only a night has such: as few as show it."""

    def own(self, case: Case) -> tuple[Parameters, ...]:
        """The values of its own with which a case is tried on it."""
        return self.values if case.id in self.caught_by else ()


_FAULTY_NODES: dict[str, FaultyNode] = {}


def faulty(
    name: str,
    *,
    caught_by: str | tuple[str, ...],
    also: Mapping[str, str] | None = None,
    values: tuple[Parameters, ...] = (),
) -> Callable[[type[Reference]], type[Reference]]:
    """
    Register a faulty node: the checks that must catch it, and why any others are red too. Raises ValueError for a taken name.

    `values`: see `FaultyNode`.
    """

    def register(node: type[Reference]) -> type[Reference]:
        if name in _FAULTY_NODES and _FAULTY_NODES[name].node.__module__ != node.__module__:
            raise ValueError(f"two faulty nodes are called {name}")
        catchers = (caught_by,) if isinstance(caught_by, str) else caught_by
        _FAULTY_NODES[name] = FaultyNode(name, node, catchers, getdoc(node) or "", also or {}, values)
        return node

    return register


def all_faulty_nodes() -> Mapping[str, FaultyNode]:
    """Every faulty node by name, sorted."""
    import_all("zenoh_harness.faulty")
    return dict(sorted(_FAULTY_NODES.items()))


def find_faulty_node(name: str) -> FaultyNode:
    """The faulty node of that name. Raises KeyError with the nearest names."""
    known = all_faulty_nodes()
    if name not in known:
        near = get_close_matches(name, known, n=3, cutoff=0.4)
        raise KeyError(f"no faulty node {name!r}; nearest: {', '.join(near) or 'none'}")
    return known[name]
