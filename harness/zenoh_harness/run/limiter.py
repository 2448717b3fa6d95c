"""Who may be busy: at most so many at a time; whoever waits for the target gives up his place meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock
from typing import Final

MOMENT: Final = 0.02
"""Seconds that somebody may wait and still count as busy."""


class Limiter:
    """Places for those who are busy. A target that does not answer costs patience, and no places.

    Who has heard the target has his place before who only begins: a target waits for his answer, and may not wait long.
    """

    def __init__(self, places: int) -> None:
        self.free = places
        """Places that nobody holds."""
        self._lock = Lock()
        self._back: deque[Event] = deque()
        self._new: deque[Event] = deque()

    @property
    def waiting(self) -> list[Event]:
        """Who waits for a place, in the order in which they get one."""
        with self._lock:
            return [*self._back, *self._new]

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a place."""
        self._take(self._new)
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Do without the place that one holds, and take one again."""
        self._leave()
        try:
            yield
        finally:
            self._take(self._back)

    def _take(self, queue: deque[Event]) -> None:
        with self._lock:
            if self.free:
                self.free -= 1
                return
            turn = Event()
            queue.append(turn)
        turn.wait()

    def _leave(self) -> None:
        """Hand the place over to who waits for one, or leave it free."""
        with self._lock:
            queue = self._back or self._new
            if queue:
                queue.popleft().set()
            else:
                self.free += 1
