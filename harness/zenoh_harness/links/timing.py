"""Deadlines on the monotonic clock; one environment variable scales all of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.talking.patience import Patience

SCALE_VARIABLE: Final = "ZCONFORM_TIME_SCALE"


def scale() -> float:
    """The factor for slow machines from ZCONFORM_TIME_SCALE; 1 when it is unset or not a positive number."""
    try:
        factor = float(os.environ.get(SCALE_VARIABLE, "1"))
    except ValueError:
        return 1.0
    return factor if factor > 0 else 1.0


def scaled(seconds: float) -> float:
    """`seconds`, multiplied by the factor for this machine."""
    return seconds * scale()


MOST_STRAIN: Final = 5.0
"""The largest factor by which an overloaded machine stretches timeouts."""


def strain() -> float:
    """The factor by which the current load stretches timeouts, from 1 to MOST_STRAIN.

    It is the load of the last minute per core, less one, so that two runnable tasks per core stretch nothing; 1 on a system
    without load averages.
    """
    if not hasattr(os, "getloadavg"):
        return 1.0
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1) - 1
    return min(MOST_STRAIN, max(1.0, waiting))


def stretched(seconds: float) -> Patience:
    """`seconds`, multiplied by the factors for this machine and, unless the target is seen to be at rest, for its current load."""
    return Patience(strain() * scaled(seconds), scaled(seconds))


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time at which waiting ends."""

    at: float
    """Seconds on `time.monotonic()`."""

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """A deadline `seconds` from now, scaled."""
        return cls(time.monotonic() + scaled(seconds))

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.due - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return time.monotonic() >= self.due

    @property
    def due(self) -> float:
        """When it is over, as it is known now."""
        return self.at

    def or_sooner(self, seconds: float) -> Deadline:
        """The earlier of this deadline and one `seconds` from now."""
        return Deadline(min(self.due, time.monotonic() + scaled(seconds)))


@dataclass(frozen=True, slots=True)
class UnstarvedDeadline(Deadline):
    """A deadline that moves by the time for which a program was ready to run and had no processor."""

    starved: Callable[[], float]
    """Seconds for which it had none so far."""
    most: float
    """Seconds by which it moves at most."""

    @property
    def due(self) -> float:
        """When it is over; the program is looked at only once it would be."""
        return self.at if time.monotonic() < self.at else self.at + min(self.most, self.starved())
