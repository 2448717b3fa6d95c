"""Limits how many tasks are busy at a time; a task that waits for the target releases its slot."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock
from typing import Final

PROMPT: Final = 0.001
"""Seconds for which a thread computes, at most, while another one has an answer for an impatient target."""

MOMENT: Final = 0.02
"""Seconds that a task may wait and still count as busy."""


@contextmanager
def prompt_threads(wanted: bool) -> Iterator[None]:
    """Let a thread that answers a target interrupt one that judges a conversation, sooner than Python does by itself."""
    before = sys.getswitchinterval()
    if wanted:
        sys.setswitchinterval(PROMPT)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Limiter:
    """Places for those who are busy. A target that does not answer costs patience, and no places.

    A task that resumes after a reply gets a slot before one that has not started: the target waits for its answer.
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
        """Hand the slot over to a waiting task, or leave it free."""
        with self._lock:
            queue = self._back or self._new
            if queue:
                queue.popleft().set()
            else:
                self.free += 1
