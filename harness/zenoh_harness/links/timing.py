"""Deadlines on the monotonic clock, stretched together by one environment variable."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Final

SCALE_VARIABLE: Final = "ZCONFORM_TIME_SCALE"


def scale() -> float:
    """The factor that slow machines put in ZCONFORM_TIME_SCALE (1 when unset or unreadable)."""
    try:
        factor = float(os.environ.get(SCALE_VARIABLE, "1"))
    except ValueError:
        return 1.0
    return factor if factor > 0 else 1.0


def scaled(seconds: float) -> float:
    """`seconds` in this machine's time."""
    return seconds * scale()


MOST_STRAIN: Final = 5.0
"""What patience is stretched by at most where more wants to run than the machine has cores."""


def strain() -> float:
    """How many times as long everything takes now as on an idle machine, from 1 to MOST_STRAIN: silence says less on a busy one.

    It is the load of the last minute for each core, less one: two that want to run on each core stretch nothing. 1 where the
    system tells no load.
    """
    if not hasattr(os, "getloadavg"):
        return 1.0
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1) - 1
    return min(MOST_STRAIN, max(1.0, waiting))


def stretched(seconds: float) -> float:
    """`seconds` in this machine's time, as busy as it is: how long to wait for what is due."""
    return strain() * scaled(seconds)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment after which nobody waits any more."""

    at: float
    """Seconds on `time.monotonic()`."""

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """A deadline `seconds` from now, scaled."""
        return cls(time.monotonic() + scaled(seconds))

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return time.monotonic() >= self.at

    def or_sooner(self, seconds: float) -> Deadline:
        """The earlier of this deadline and one `seconds` from now."""
        return Deadline(min(self.at, time.monotonic() + scaled(seconds)))
