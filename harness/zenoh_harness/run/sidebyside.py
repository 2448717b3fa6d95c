"""Many things at once in threads that never keep the program from ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import Empty, Queue
from threading import Lock, Thread
from typing import Generic, TypeVar

from zenoh_harness.links.timing import scaled

Value = TypeVar("Value")


class SideBySide(Generic[Value]):
    """Tasks in at most `jobs` threads, the first given started first."""

    def __init__(self, tasks: Sequence[Callable[[], Value]], jobs: int) -> None:
        self._tasks = list(enumerate(tasks))
        self._results: dict[int, Value] = {}
        self._done: Queue[tuple[int, Value | Exception]] = Queue()
        self._lock = Lock()
        self._next = 0
        for number in range(min(jobs, len(self._tasks))):
            Thread(target=self._work, name=f"zconform-case-{number}", daemon=True).start()

    def _work(self) -> None:
        while (mine := self._take()) is not None:
            index, task = mine
            try:
                self._done.put((index, task()))
            except Exception as why:  # noqa: BLE001 - raised where the results are waited for
                self._done.put((index, why))

    def _take(self) -> tuple[int, Callable[[], Value]] | None:
        with self._lock:
            if self._next >= len(self._tasks):
                return None
            self._next += 1
            return self._tasks[self._next - 1]

    def stop(self) -> None:
        """Begin no further task."""
        with self._lock:
            self._next = len(self._tasks)

    def wait(self, patience: float, each: Callable[[Value], None] | None = None) -> list[Value | None]:
        """The results in the order of the tasks; None for those left when nothing ended for `patience` seconds.

        Raises what a task raises.
        """
        while len(self._results) < len(self._tasks):
            try:
                index, value = self._done.get(timeout=scaled(patience))
            except Empty:
                self.stop()
                break
            if isinstance(value, Exception):
                self.stop()
                raise value
            self._results[index] = value
            if each is not None:
                each(value)
        return [self._results.get(index) for index, _ in self._tasks]


class Aside:
    """What is done beside everything else, and waited for once."""

    def __init__(self) -> None:
        self._threads: list[Thread] = []

    def add(self, task: Callable[[], object]) -> None:
        """Begin it."""
        self._threads.append(Thread(target=task, name="zconform-aside", daemon=True))
        self._threads[-1].start()

    def wait(self) -> None:
        """Until all of it is done."""
        for thread in self._threads:
            thread.join()
