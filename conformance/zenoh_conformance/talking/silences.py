"""What a target never answers is waited for a few times, and then no longer each time anew."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from .patience import share

IN_VAIN: Final = 3
"""Waits of the whole patience that were all in vain, after which a target is not expected to say it at all."""

BRIEF: Final = 0.1
"""The share of the patience that is waited from then on."""


@dataclass(slots=True)
class Silences:
    """What the checks of one target waited for, by the name of what was expected, and whether it ever came."""

    came: set[str] = field(default_factory=set)
    in_vain: Counter[str] = field(default_factory=Counter)

    def patience(self, unit: float, expected: str) -> float:
        """Seconds to wait for it: `unit`, or a share of that where it never came, however often it was waited for."""
        lost = expected not in self.came and self.in_vain[expected] >= IN_VAIN
        return share(unit, BRIEF) if lost else unit

    def note(self, expected: str, *, came: bool) -> None:
        """Note how one wait ended: what is expected came, or there was silence until patience was over."""
        if came:
            self.came.add(expected)
        else:
            self.in_vain[expected] += 1
