"""Who may be busy: at most so many at a time; whoever waits for the target gives up his place meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Final

MOMENT: Final = 0.02
"""Seconds that somebody may wait and still count as busy."""


class Limiter:
    """Places for those who are busy. A target that does not answer costs patience, and no places."""

    def __init__(self, places: int) -> None:
        self._places = BoundedSemaphore(places)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a place."""
        with self._places:
            yield

    @contextmanager
    def left(self) -> Iterator[None]:
        """Do without the place that one holds, and take one again."""
        self._places.release()
        try:
            yield
        finally:
            self._places.acquire()
