"""Workers side by side on one corpus: started, followed, and started again when an input has ended one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import RawIOBase
from pathlib import Path
from typing import Any, Final

from zenoh_harness.links.timing import scaled

from .blackbox import at_hand
from .launcher import Launcher, environment
from .plan import AT_HAND, DEADLY, FIRST, FOUND, STATE, Plan

STATUS: Final = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)")
DONE: Final = re.compile(r"Done (\d+) runs")
ENDED: Final = re.compile(r"ERROR: libFuzzer: (.+)|DEADLYSIGNAL|(SEGV on .+)|(Uncaught Python exception)")
HANG = 10
"""Seconds that one input may take."""

LATE: Final = 45.0
"""Seconds that a worker may need beyond its limit, to begin and to end."""
KEPT: Final = 40
"""Last lines of a worker."""


@dataclass(slots=True)
class Death:
    """How a worker ended that did not end in order."""

    worker: int
    code: int
    why: str
    """What the engine said: deadly signal, timeout after 11 seconds, out-of-memory, ..."""
    data: bytes | None
    """The input at hand."""
    lines: tuple[str, ...]


@dataclass(slots=True)
class Worker:
    """One worker's process, through all its lives."""

    number: int
    plan: Plan
    launcher: Launcher
    process: subprocess.Popen[bytes] | None = None
    edges: int = 0
    features: int = 0
    corpus: int = 0
    runs: int = 0
    """Inputs of this life, as the engine said last."""
    before: int = 0
    """Inputs of earlier lives."""
    lines: list[str] = field(default_factory=list)
    tail: threading.Thread | None = None
    read: int = 0
    """Bytes of its findings that were read."""
    since: float = 0.0
    """When the input at hand was first seen there."""
    held: bytes | None = None
    totals: Counter[str] = field(default_factory=Counter)
    """Counts of earlier lives."""
    state: Mapping[str, Any] = field(default_factory=dict)

    def start(self, seconds: float, seed: int, extra: list[str]) -> None:
        """Begin, with `seconds` to go."""
        (self.plan.folder / STATE).unlink(missing_ok=True)
        (self.plan.folder / AT_HAND).unlink(missing_ok=True)
        command = [
            str(self.launcher.program), f"-max_total_time={max(1, round(seconds))}", f"-seed={seed}",
            f"-max_len={self.plan.largest}", f"-timeout={3 * HANG}", "-rss_limit_mb=3072", "-reload=1", "-print_final_stats=1",
            f"-artifact_prefix={self.plan.folder}/", *extra,
        ]  # fmt: skip
        self.before, self.runs = self.before + self.runs, 0
        self.lines, self.held = [], None
        log = (self.plan.folder / "log.txt").open("ab", buffering=0)
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, env=environment(),
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.tail = threading.Thread(target=self._follow, args=(self.process, log), daemon=True)
        self.tail.start()

    def _follow(self, process: subprocess.Popen[bytes], log: RawIOBase) -> None:
        assert process.stderr is not None
        # What it says is read to the end whatever becomes of the log: who stops reading stops the worker.
        with log:
            for raw in process.stderr:
                with suppress(OSError):  # a disk that is full: the worker meets it too, and tells
                    log.write(raw)
                line = raw.decode(errors="replace").rstrip()
                if found := STATUS.match(line):
                    self.runs, self.edges, self.features, self.corpus = (int(found[n]) for n in range(1, 5))
                elif done := DONE.match(line):
                    self.runs = int(done[1])
                else:
                    self.lines = [*self.lines[-KEPT:], line]

    @property
    def inputs(self) -> int:
        """Of all lives; as the worker says, or the engine."""
        return self.before + max(self.runs, int(self.state.get("inputs", 0)))

    def look(self) -> list[dict[str, Any]]:
        """Read its state, and what it has found since the last look."""
        state = self.plan.folder / STATE
        if state.exists():
            self.state = json.loads(state.read_text(encoding="utf-8"))
        found = self.plan.folder / FOUND
        if not found.exists():
            return []
        with found.open("rb") as file:
            file.seek(self.read)
            lines = file.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]
        self.read += sum(map(len, whole))
        return [json.loads(line) for line in whole]

    def counts(self, name: str) -> Counter[str]:
        """A counter of its state: of this life and, for what is counted on, of those before."""
        return Counter(self.state.get(name, {}))

    def ended(self) -> Death | int | None:
        """None while it runs; 0 when it has ended in order; else how it died."""
        assert self.process is not None
        code = self.process.poll()
        if code is None:
            return None
        if self.tail is not None:
            self.tail.join(5)
        if code == 0:
            return 0
        said = next((m for line in self.lines if (m := ENDED.search(line))), None)
        why = next(filter(None, said.groups()), said[0]) if said else f"exit code {code}"
        if code < 0 and said is None:
            why = signal.Signals(-code).name
        return Death(self.number, code, why, at_hand(self.plan.folder / AT_HAND), tuple(self.lines))

    def stuck(self) -> bool:
        """Whether one input has been at hand for too long; the worker is then ended, and `ended` tells of it.

        The engine looks for this too, but only once it runs: not in the small spaces before.
        """
        data = at_hand(self.plan.folder / AT_HAND)
        if data is None or data != self.held:
            self.held, self.since = data, time.monotonic()
        if self.held is None or time.monotonic() - self.since < scaled(HANG):
            return False
        self.lines.append("ERROR: libFuzzer: timeout")
        self.kill()
        return True

    def condemn(self, data: bytes) -> None:
        """Never run this input again: no worker survives it."""
        with (self.plan.folder / DEADLY).open("a", encoding="utf-8") as out:
            out.write(data.hex() + "\n")

    def kill(self) -> None:
        """End it and what it started."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.tail is not None:
            self.tail.join(5)


def time_left(until: float) -> float:
    """Seconds until then."""
    return until - time.monotonic()


def worker(number: int, plan: Plan) -> Worker:
    """A worker that is not started yet."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    for name in (FOUND, STATE, AT_HAND, FIRST):
        (plan.folder / name).unlink(missing_ok=True)
    path = plan.folder / "plan.json"
    plan.write(path)
    return Worker(number, plan, Launcher(path, structure=plan.structure))


def corpus_files(folder: Path) -> list[Path]:
    """The inputs in a corpus: its files; what is no file is passed by."""
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
