"""Many things at once in threads that never keep the program from ending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import Empty, Queue
from threading import Event as Flag
from threading import Lock, Thread
from types import TracebackType
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

    def finished(self) -> dict[int, Value]:
        """The results that are there already, by the place of their task. Raises what a task raises."""
        while not self._done.empty():
            self._keep(self._done.get())
        return dict(self._results)

    def _keep(self, done: tuple[int, Value | Exception]) -> Value:
        index, value = done
        if isinstance(value, Exception):
            self.stop()
            raise value
        self._results[index] = value
        return value

    def wait(self, patience: float, each: Callable[[Value], None] | None = None) -> list[Value | None]:
        """The results in the order of the tasks; None for those left when nothing ended for `patience` seconds.

        Raises what a task raises.
        """
        while len(self._results) < len(self._tasks):
            try:
                value = self._keep(self._done.get(timeout=scaled(patience)))
            except Empty:
                self.stop()
                break
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


class Beside:
    """One task beside what the `with` block does: waited for at the block's end, where its error is raised.

    When the block fails, the task is told to stop first.
    """

    def __init__(self, task: Callable[[], object], stop: Flag) -> None:
        self._task, self._stop = task, stop
        self._why: BaseException | None = None
        self._thread = Thread(target=self._work, name="zconform-beside", daemon=True)

    def _work(self) -> None:
        try:
            self._task()
        except BaseException as why:  # noqa: BLE001 - raised where it is waited for
            self._why = why

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self._stop.set()
        self._thread.join()
        if kind is None and self._why is not None:
            raise self._why
