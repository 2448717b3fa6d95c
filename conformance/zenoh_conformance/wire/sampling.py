"""Builds values of declared classes from a source of choices: random numbers, or a Hypothesis strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import registry
from .declare import Declaration, Field
from .extensions import Exts, Unknown
from .types import WireType

Values = Mapping[str, Any]
"""The earlier fields of the same message."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The decisions that a declaration leaves open."""

    coin: Callable[[], bool]
    among: Callable[[Sequence[Any]], Any]
    wire: Callable[[WireType, Values], Any]
    """A value of a wire type, given the earlier fields."""
    chain: Callable[[Declaration], Iterable[Any]]
    """Extensions for a message."""

    def value_of(self, declared: Declaration) -> Any:
        """Return a value of a declared class."""
        values: dict[str, Any] = {}
        given: dict[str, bool] = {}
        if declared.extensions is not None:
            values["exts"] = self.chain(declared)
        for field in declared.fields:
            values[field.name] = self._field(field, values, given)
        if declared.extensions is not None:
            values["exts"] = Exts(each for each in values["exts"] if _has_place(each, values))
        return declared.cls(**values)

    def _field(self, field: Field, values: Values, given: dict[str, bool]) -> Any:
        presence = field.presence
        how = presence.how if presence else ""
        if how == "flag":
            return self.coin()
        if how == "bits":
            return self.among(list(field.values or ()))
        if presence and how == "given":
            follows = given.setdefault(presence.what, self.coin())
        else:
            follows = presence is None or _holds(presence.what, values)
        assert field.wire
        return self.wire(field.wire, values) if follows else None


def _has_place(extension: Any, values: Values) -> bool:
    only = "" if isinstance(extension, Unknown) else registry.of(type(extension)).only
    return not only or _holds(only, values)


def _holds(condition: str, values: Values) -> bool:
    return bool(eval(_compile_condition(condition), {}, dict(values)))  # noqa: S307  a condition of our declarations


@cache
def _compile_condition(condition: str) -> Any:
    return compile(condition, "<condition>", "eval")
