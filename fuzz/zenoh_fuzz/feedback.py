"""Behaviour as coverage: a counter of libFuzzer's for each thing that inputs are seen to do.

Atheris has no public way to count; its own instrumentation uses two functions, which are wrapped here and nowhere else.
They are looked for by name, and tried, before a campaign relies on them.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Final

from zenoh_harness.errors import CannotGoOn

COUNTERS: Final = 4096
TRIED: Final = ("3.0.",)
"""Versions of Atheris whose functions were seen to work."""


class Behaviour:
    """Counts behaviours; made before the engine is set up, since counters cannot be added later."""

    def __init__(self, reserve: Callable[[], int], count: Callable[[int], None], *, counters: int = COUNTERS) -> None:
        self._first = reserve()
        for expected in range(self._first + 1, self._first + counters):
            if reserve() != expected:
                raise CannotGoOn("the engine's counters do not follow each other", step="fuzz codec")
        self._count, self._size = count, counters
        self._places: dict[object, int] = {}

    def __call__(self, behaviour: object) -> None:
        """This was seen; the counters are given out as new things are, and shared when there are no more."""
        place = self._places.get(behaviour)
        if place is None:
            place = self._places[behaviour] = self._first + len(self._places) % self._size
        self._count(place)

    @property
    def seen(self) -> int:
        """Different behaviours so far."""
        return len(self._places)


def of_atheris() -> Behaviour:
    """The counters of the Atheris that is installed.  CannotGoOn for a version in which they were never tried."""
    import atheris

    version = importlib.metadata.version("atheris")
    if (
        not version.startswith(TRIED)
        or not hasattr(atheris, "_reserve_counter")
        or not hasattr(atheris, "_trace_branch")
    ):
        raise CannotGoOn(f"atheris {version} was not tried with behaviour counters", step="fuzz codec",
                         hint=f"install atheris {TRIED[-1]}*, or go without: --no-behaviour")  # fmt: skip
    return Behaviour(atheris._reserve_counter, lambda place: atheris._trace_branch(place))
