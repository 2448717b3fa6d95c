"""Scenarios: short functions that let two applications talk, found by decorator, named by phrase.

A scenario sees the world through a `Talk`: the application on the one node (`here`), the one on the other (`there`), and
the link between the nodes. Its docstring is the report's text; its check is `interop/<function in words>`. Each is run in
both directions: `here` is once the initiator's side and once the responder's.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from itertools import product
from types import MappingProxyType
from typing import Any, TypeVar

from zenoh_conformance.cases.case import shown
from zenoh_conformance.reading.conversation import Side
from zenoh_harness.errors import UsageError, nearest
from zenoh_harness.files.results import check_label
from zenoh_harness.run.plan.plan import matches

Function = TypeVar("Function", bound=Callable[..., None])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario, with the values that it is run with."""

    id: str
    """`interop/a-sample-keeps-its-encoding`: check and requirement at once."""
    topic: str
    """The module in which it stands."""
    about: str
    function: Callable[..., None]
    each: Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class ScenarioInstance:
    """One scenario with one set of values in one direction: one judgement."""

    scenario: Scenario
    here: Side
    """On whose side the application stands that begins."""
    values: tuple[tuple[str, Any], ...]

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The values as the judgement's key has them."""
        return tuple((name, shown(value)) for name, value in self.values)

    @property
    def label(self) -> str:
        """`interop/name[value=...]`, as `--only` takes it."""
        return check_label(self.scenario.id, self.parameters)


_SCENARIOS: dict[str, Scenario] = {}


def scenario(**each: Sequence[Any]) -> Callable[[Function], Function]:
    """Register a scenario, to be run with each combination of the values. Raises ValueError for a taken name."""

    def register(function: Function) -> Function:
        name = "interop/" + function.__name__.replace("_", "-")
        module = function.__module__
        if name in _SCENARIOS and _SCENARIOS[name].function.__module__ != module:
            raise ValueError(f"two scenarios are called {name}")
        _SCENARIOS[name] = Scenario(
            id=name,
            topic=module.rpartition(".")[2],
            about=getdoc(function) or "",
            function=function,
            each=MappingProxyType(each),
        )
        return function

    return register


@cache
def all_scenarios() -> Mapping[str, Scenario]:
    """Every scenario by id, topic by topic, in the order in which they are written."""
    package = importlib.import_module("zenoh_harness.interop.scenarios")
    for module in sorted(found.name for found in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    return MappingProxyType(dict(_SCENARIOS))


def steps(patterns: Sequence[str] = ()) -> list[ScenarioInstance]:
    """What is to be run. Raises UsageError, with the nearest names, for a pattern that matches nothing."""
    every = list(_every())
    for pattern in patterns:
        if not any(_takes((pattern,), step) for step in every):
            names = {
                name
                for one in all_scenarios().values()
                for name in (one.topic, one.id, one.id.removeprefix("interop/"))
            }
            raise UsageError(f"no scenario matches {pattern!r}", step="--only", hint=nearest(pattern, names))
    return [step for step in every if not patterns or _takes(patterns, step)]


def _every() -> Iterator[ScenarioInstance]:
    for one in all_scenarios().values():
        for here in Side:
            for values in product(*one.each.values()):
                yield ScenarioInstance(one, here, tuple(zip(one.each, values, strict=True)))


def _takes(patterns: Sequence[str], step: ScenarioInstance) -> bool:
    plain = tuple(name.removeprefix("interop/") for name in (step.label, step.scenario.id))
    names = (step.label, step.scenario.id, *plain, step.scenario.topic)
    return any(matches(pattern, name) for pattern in patterns for name in names)
