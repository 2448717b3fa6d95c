"""Faulty nodes: the reference with one fault each. The cases or laws that a faulty node names must be red on it.

A fault has the smallest form that holds it:

- a row, `fault("its-name", "What it does wrong.", hook=lambda node, base, ..: .., caught_by=..)`: one expression in place of a hook,
  or another value of an attribute;
- a function under `@faulty("hook", caught_by=..)`: the body of one hook;
- a subclass of the reference under `@faulty(caught_by=..)`: several hooks that share something.

A row's lambda and a function take by name what they need: `node`, arguments of the hook, and `base`, the replaced hook. `base()` calls
it with the same arguments, `base(message=other)` with another message (`reference.hooked`); `before(effect)` and `after(effect)` are
hooks that do something beside the replaced one. Functions here have no annotations: `reference` has the types of each hook, and the
names of the parameters are compared at import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from typing import Any

from zenoh_conformance.cases.case import Case, Parameters
from zenoh_conformance.loading import import_all
from zenoh_conformance.reading.kinds import AnyKind
from zenoh_harness.reference import Reference, derive_node, name_of


@dataclass(frozen=True, slots=True)
class FaultyNode:
    """One faulty node."""

    name: str
    node: type[Reference]
    caught_by: tuple[str, ...]
    """Ids of the cases or laws that must be red on it."""
    about: str
    also: Mapping[str, str]
    """Other checks (patterns) that are red on it, and why."""
    values: tuple[Parameters, ...] = ()
    """Parameter sets at which the cases of `caught_by` are red, if only nightly ones show the fault: few and small."""

    def own(self, case: Case) -> tuple[Parameters, ...]:
        """The node's own parameter sets for a case."""
        return self.values if case.id in self.caught_by else ()


_FAULTY_NODES: dict[str, FaultyNode] = {}


def fault(
    name: str,
    about: str,
    *,
    caught_by: str | tuple[str, ...],
    also: Mapping[str, str] | None = None,
    of: type[Any] = Reference,
    **changes: Any,
) -> None:
    """Register a faulty node in a row: the checks that must be red on it, and why others are red too.

    `changes`: hooks to functions, other attributes to values. `of`: the class that has the hooks; if it is an application, the node is
    the reference below it. Raises ValueError for a taken name, TypeError for parameters that are not the hook's.
    """
    module = sys._getframe(1).f_globals["__name__"]
    _register(name, derive_node(name, changes, of, module), about, caught_by, also)


def faulty(
    hook: str = "",
    *,
    caught_by: str | tuple[str, ...],
    also: Mapping[str, str] | None = None,
    values: tuple[Parameters, ...] = (),
    of: type[Any] = Reference,
    **attributes: Any,
) -> Callable[[Any], Any]:
    """Register a faulty node: the decorated function in place of `hook`, or the decorated class.

    Its name is that of the function or class in words, `about` is its docstring; `values`: see `FaultyNode`, the rest: see `fault`.
    """

    def register(decorated: Any) -> Any:
        name = name_of(decorated)
        node = derive_node(name, {hook: decorated, **attributes}, of) if hook else decorated
        _register(name, node, getdoc(decorated) or "", caught_by, also, values)
        return decorated

    return register


def say_before(kind: AnyKind, first: Any) -> Callable[..., None]:
    """A `send` that sends `first` before each message of a kind."""

    def send(base: Callable[..., None], messages: tuple[Any, ...]) -> None:
        if any(kind.matches(message) for message in messages):
            base(messages=(first,))
        base()

    return send


def _register(
    name: str,
    node: type[Reference],
    about: str,
    caught_by: str | tuple[str, ...],
    also: Mapping[str, str] | None,
    values: tuple[Parameters, ...] = (),
) -> None:
    known = _FAULTY_NODES.get(name)
    if known is not None and (known.node.__module__, known.about) != (node.__module__, about):
        raise ValueError(f"two faulty nodes are called {name}")
    catchers = (caught_by,) if isinstance(caught_by, str) else caught_by
    _FAULTY_NODES[name] = FaultyNode(name, node, catchers, about, also or {}, values)


def all_faulty_nodes() -> Mapping[str, FaultyNode]:
    """Every faulty node by name, sorted."""
    import_all("zenoh_harness.faulty")
    return dict(sorted(_FAULTY_NODES.items()))
