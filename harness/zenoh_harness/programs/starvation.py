"""For how long a program could not run: what it does not say meanwhile is no silence of its own."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

GLANCE: Final = 0.05
"""Seconds between two looks at least."""

TIMES: Final = 20
"""How many times as long as a look takes it is not looked at again."""

KEPT: Final = 4096
"""Looks that are kept: some minutes, longer than anything is waited for."""

STALLED: Final = "D"
"""The state of a thread that waits for a disk, as one of which pages were swapped out."""

READY: Final = "R"


def own() -> float:
    """Seconds for which the calling thread was ready to run so far and had no processor; 0 where the kernel does not count."""
    try:
        return int(_words("/proc/thread-self/schedstat")[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _words(path: str, after: bytes = b"") -> list[bytes]:
    """The words of a file of the kernel, behind the last `after`; `open` and not Path: a program may have hundreds of threads."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        data = file.read()
    return (data.rpartition(after)[2] if after else data).split()


@dataclass(frozen=True, slots=True)
class _Thread:
    """What the kernel counts of one thread."""

    ran: int
    """Nanoseconds on a processor."""
    delayed: int
    """Nanoseconds in which it was ready to run and had none."""
    state: str
    faults: int
    """Pages that had to be read from a disk."""

    @classmethod
    def read(cls, task: str) -> _Thread:
        """Of `/proc/PID/task/TID`. Raises OSError, IndexError or ValueError where it is gone, or the kernel does not count."""
        ran, delayed, *_ = _words(f"{task}/schedstat")
        state, *rest = _words(f"{task}/stat", after=b")")
        return cls(int(ran), int(delayed), state.decode(), int(rest[8]))

    def is_held(self, before: _Thread) -> bool:
        """Whether it stood still since then for want of a processor that the kernel has not counted yet, or of its memory."""
        waits = self.state == READY and self.ran == before.ran
        return waits or self.state == STALLED or self.faults > before.faults


@dataclass(slots=True)
class Starvation:
    """For how long a process of this machine, and those below it, could not run; looked at only when asked."""

    pid: int
    _threads: dict[str, _Thread] = field(default_factory=dict)
    _looks: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=KEPT))
    """When it was looked at, and for how many seconds it could not run until then."""
    _next: float = 0.0
    """When it is looked at again at the earliest."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def since(self, moment: float) -> float:
        """Seconds since a moment of `time.monotonic`, of all threads together, rather too many; infinite where they cannot be seen."""
        with self._lock:
            if time.monotonic() >= self._next:
                began = time.thread_time()
                self._look()
                self._next = time.monotonic() + max(GLANCE, TIMES * (time.thread_time() - began))
            before = next((held for at, held in reversed(self._looks) if at <= moment), 0.0)
            return self._looks[-1][1] - before

    def _look(self) -> None:
        now = time.monotonic()
        at, held = self._looks[-1] if self._looks else (now, 0.0)
        threads = _threads_of(self.pid)
        if threads is None:
            self._looks.append((now, math.inf))
            return
        fresh = _Thread(0, 0, "", 0)
        pairs = [(one, self._threads.get(name, fresh)) for name, one in threads.items()]
        delayed = sum(one.delayed - before.delayed for one, before in pairs) / 1e9
        stood = now - at if any(one.is_held(before) for one, before in pairs if before is not fresh) else 0.0
        self._threads = threads
        self._looks.append((now, held + max(delayed, stood)))


def _threads_of(pid: int) -> dict[str, _Thread] | None:
    """The threads of a process and of all below it, by their paths; None where the kernel does not count, none where it is gone."""
    if not os.path.exists("/proc/self/schedstat"):  # noqa: PTH110  asked often
        return None
    found: dict[str, _Thread] = {}
    tasks: list[str] = []
    with suppress(OSError):
        tasks = [f"/proc/{pid}/task/{name}" for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208
    for task in tasks:
        try:
            found[task] = _Thread.read(task)
            children = _words(f"{task}/children")
        except (OSError, IndexError, ValueError):
            continue
        for child in children:
            found |= _threads_of(int(child)) or {}
    return found
