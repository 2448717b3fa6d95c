"""How long is waited for a target: less where it is seen to be at rest, and never longer than any traffic can extend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Self

from .budget import ReadBudget

LATE_BYTES: Final = 1 << 20
LATE_MESSAGES: Final = 1_000
LATE_READS: Final = 200
"""What a wait still reads after its deadline: it may have arrived in time, on a busy machine."""


STEP: Final = 0.05
"""Seconds by which a wait moves at least, if at all: then the target is looked at again."""


class Patience(float):
    """Seconds that are waited for an answer at most; `calm` of them, where the target could run all the time."""

    __slots__ = ("calm",)
    calm: float

    def __new__(cls, most: float, calm: float) -> Self:
        """A patience of `most` seconds, and of `calm` with a target that had a processor whenever it wanted one."""
        patience = super().__new__(cls, most)
        patience.calm = calm
        return patience

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        """What a copy is made of."""
        return float(self), self.calm


def calm(seconds: float) -> float:
    """Seconds that are waited of these where the target could run: all, unless they are a `Patience`."""
    return seconds.calm if isinstance(seconds, Patience) else seconds


def share(seconds: float, part: float) -> float:
    """A part of a patience."""
    return Patience(part * seconds, part * calm(seconds))


def longer(*each: float) -> float:
    """The longest of these, on a busy machine and on a calm one."""
    return Patience(max(each), max(map(calm, each)))


@dataclass(slots=True)
class Wait:
    """One wait: it ends when its time is over, or when little more than what can have arrived by then was read.

    Its time moves by that for which the target was ready to run and had no processor, up to the whole patience.
    """

    began: float
    patience: float
    held_up: Callable[[float], float] = lambda _since: 0.0
    """Seconds since a time for which the target could not run."""
    due: float = field(init=False)
    """When it is over, as far as is known now."""
    _late: tuple[int, int, int] | None = None
    """Bytes, messages and reads when the deadline had passed."""

    def __post_init__(self) -> None:
        self.due = self.began + calm(self.patience)

    def is_over(self, now: float, budget: ReadBudget) -> bool:
        """Return whether nothing more is to be read."""
        if now < self.due or (self._late is None and self.moves(now)):
            return False
        count = budget.bytes, budget.messages, budget.reads
        if self._late is None:
            self._late = count
        since = (now - then for now, then in zip(count, self._late, strict=True))
        return any(more > most for more, most in zip(since, (LATE_BYTES, LATE_MESSAGES, LATE_READS), strict=True))

    def moves(self, now: float) -> bool:
        """Whether its time would be over now, and moved: the target could not run meanwhile."""
        end = self.began + self.patience
        if now < self.due or self.due >= end:
            return False
        due = self.began + calm(self.patience) + self.held_up(self.began)
        if due > now:
            self.due = min(end, max(due, now + STEP))
        return now < self.due
