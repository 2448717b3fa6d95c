"""How far a job is, from Spark's own status: one line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final

from pyspark.sql import SparkSession

PAUSE: Final = 0.5
"""Seconds between two looks."""


@contextmanager
def progress(spark: SparkSession, out: IO[str] = sys.stderr) -> Iterator[Callable[[str], None]]:
    """Draws `step: tasks done of all, running` while Spark works; the function that is given names the step."""
    line = _Line(out)
    if not out.isatty():
        yield line.name
        return
    stop = threading.Event()
    watch = _watch_connect if not hasattr(spark, "_jsc") else _watch_classic
    ended = watch(spark, line, stop)
    try:
        yield line.name
    finally:
        stop.set()
        ended()
        line.clear()


class _Line:
    def __init__(self, out: IO[str]) -> None:
        self._out, self._step, self._width = out, "", 0

    def name(self, step: str) -> None:
        """The step that begins."""
        self._step = step

    def show(self, done: int, of: int, running: int) -> None:
        """The line, drawn over the one before."""
        text = f"{self._step}: {done} of {of} tasks, {running} running"
        self._out.write("\r" + text.ljust(self._width))
        self._out.flush()
        self._width = len(text)

    def clear(self) -> None:
        """The line goes."""
        self._out.write("\r" + " " * self._width + "\r")
        self._out.flush()


def _watch_classic(spark: SparkSession, line: _Line, stop: threading.Event) -> Callable[[], None]:
    tracker = spark.sparkContext.statusTracker()

    def look() -> None:
        while not stop.wait(PAUSE):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            text = [stage for stage in stages if stage is not None]
            if text:
                line.show(
                    sum(stage.numCompletedTasks for stage in text), sum(stage.numTasks for stage in text),
                    sum(stage.numActiveTasks for stage in text),
                )  # fmt: skip

    thread = threading.Thread(target=look, daemon=True, name="spark-progress")
    thread.start()
    return thread.join


def _watch_connect(spark: SparkSession, line: _Line, stop: threading.Event) -> Callable[[], None]:
    def handler(stages: Any, inflight_tasks: int = 0, **_more: Any) -> None:
        if stages:
            line.show(
                sum(stage.num_completed_tasks for stage in stages), sum(stage.num_tasks for stage in stages),
                inflight_tasks,
            )  # fmt: skip

    session: Any = spark
    session.registerProgressHandler(handler)
    return lambda: session.removeProgressHandler(handler)
