"""Behaviour as coverage: one libFuzzer counter for each different behaviour of an input.

Atheris has no public function for this; only this module wraps the two functions that its own instrumentation uses, after
checking that they exist.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Final

from zenoh_harness.errors import CannotGoOn

COUNTERS: Final = 4096
TRIED: Final = ("3.0.",)
"""Versions of Atheris in which these functions work."""


class Behaviour:
    """Counts behaviours; created before the engine starts, since counters cannot be added later."""

    def __init__(self, reserve: Callable[[], int], count: Callable[[int], None], *, counters: int = COUNTERS) -> None:
        self._first = reserve()
        for expected in range(self._first + 1, self._first + counters):
            if reserve() != expected:
                raise CannotGoOn("the engine's counters do not follow each other", step="fuzz codec")
        self._count, self._size = count, counters
        self._places: dict[object, int] = {}

    def __call__(self, behaviour: object) -> None:
        """Count a behaviour; each new one gets a counter, and they share counters if there are too many."""
        place = self._places.get(behaviour)
        if place is None:
            place = self._places[behaviour] = self._first + len(self._places) % self._size
        self._count(place)

    @property
    def seen(self) -> int:
        """Number of different behaviours so far."""
        return len(self._places)


def atheris_counters() -> Behaviour:
    """Return the counters of the installed Atheris. Raises CannotGoOn for an untested version."""
    import atheris

    version = importlib.metadata.version("atheris")
    if (
        not version.startswith(TRIED)
        or not hasattr(atheris, "_reserve_counter")
        or not hasattr(atheris, "_trace_branch")
    ):
        raise CannotGoOn(
            f"atheris {version} is not supported for behaviour counters",
            step="fuzz codec",
            hint=f"install atheris {TRIED[-1]}*, or go without: --no-behaviour",
        )
    return Behaviour(atheris._reserve_counter, lambda place: atheris._trace_branch(place))
