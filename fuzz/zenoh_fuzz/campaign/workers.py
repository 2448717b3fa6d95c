"""Worker processes on one corpus: start them, follow their output, and report how they end."""

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

from zenoh_fuzz.worker.blackbox import last_input
from zenoh_fuzz.worker.launcher import Launcher, environment
from zenoh_fuzz.worker.plan import AT_HAND, DEADLY, FIRST, FOUND, SPENT, STATE, WorkerPlan
from zenoh_harness.links.timing import scaled

STATUS: Final = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)")
DONE: Final = re.compile(r"Done (\d+) runs")
ENDED: Final = re.compile(r"ERROR: libFuzzer: (.+)|DEADLYSIGNAL|(SEGV on .+)|(Uncaught Python exception)")
HANG = 10
"""Seconds that one input may take."""

LATE: Final = 45.0
"""Seconds that a worker may need beyond its limit, to begin and to end."""
KEPT: Final = 40
"""Lines of a worker's output that are kept."""


@dataclass(slots=True)
class WorkerDeath:
    """The abnormal end of a worker."""

    prepare_worker: int
    code: int
    why: str
    """The engine's reason: deadly signal, timeout after 11 seconds, out-of-memory, ..."""
    data: bytes | None
    """The input that it was running."""
    lines: tuple[str, ...]


@dataclass(slots=True)
class WorkerProcess:
    """A worker's process, through all its restarts."""

    number: int
    plan: WorkerPlan
    launcher: Launcher
    process: subprocess.Popen[bytes] | None = None
    edges: int = 0
    features: int = 0
    corpus: int = 0
    runs: int = 0
    """Inputs since the last start, as the engine reported."""
    before: int = 0
    """Inputs before the last start."""
    lines: list[str] = field(default_factory=list)
    tail: threading.Thread | None = None
    read: int = 0
    """Bytes of its findings file that were read."""
    since: float = 0.0
    """Time at which the current input was first seen."""
    current: bytes | None = None
    state: Mapping[str, Any] = field(default_factory=dict)

    def start(self, seconds: float, seed: int, extra: list[str]) -> None:
        """Start the process for `seconds`."""
        (self.plan.folder / STATE).unlink(missing_ok=True)
        (self.plan.folder / AT_HAND).unlink(missing_ok=True)
        command = [
            str(self.launcher.program),
            f"-max_total_time={max(1, round(seconds))}",
            f"-seed={seed}",
            f"-max_len={self.plan.largest}",
            f"-timeout={3 * HANG}",
            "-rss_limit_mb=3072",
            "-reload=1",
            "-print_final_stats=1",
            f"-artifact_prefix={self.plan.folder}/",
            *extra,
        ]
        self.before, self.runs = self.before + self.runs, 0
        self.lines, self.current = [], None
        log = (self.plan.folder / "log.txt").open("ab", buffering=0)
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environment(),
            stdin=subprocess.DEVNULL,
        )
        self.tail = threading.Thread(target=self._follow, args=(self.process, log), daemon=True)
        self.tail.start()

    def _follow(self, process: subprocess.Popen[bytes], log: RawIOBase) -> None:
        assert process.stderr is not None
        # The output is read to its end even if the log fails: a worker whose output is not read stops.
        with log:
            for raw in process.stderr:
                with suppress(OSError):  # a full disk: the worker meets it too, and reports it
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
        """Inputs of all starts, as reported by the worker or the engine."""
        return self.before + max(self.runs, int(self.state.get("inputs", 0)))

    def new_findings(self) -> list[dict[str, Any]]:
        """Read its state, and return the findings since the last call."""
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
        """Return a counter from its state."""
        return Counter(self.state.get(name, {}))

    def end_state(self) -> WorkerDeath | int | None:
        """Return None while it runs, 0 if it ended in order, else how it died."""
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
        return WorkerDeath(self.number, code, why, last_input(self.plan.folder / AT_HAND), tuple(self.lines))

    def kill_if_stuck(self) -> bool:
        """Kill the worker if one input has run for too long; return whether it did.

        The engine detects this too, but only in its main loop, not in the exhaustive inputs before it.
        """
        data = last_input(self.plan.folder / AT_HAND)
        if data is None or data != self.current:
            self.current, self.since = data, time.monotonic()
        if self.current is None or time.monotonic() - self.since < scaled(HANG):
            return False
        self.lines.append("ERROR: libFuzzer: timeout")
        self.kill()
        return True

    def skip_input(self, data: bytes) -> None:
        """Skip this input from now on, since it ends the worker."""
        with (self.plan.folder / DEADLY).open("a", encoding="utf-8") as out:
            out.write(data.hex() + "\n")

    def kill(self) -> None:
        """Kill it and its children."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.tail is not None:
            self.tail.join(5)


def time_left(until: float) -> float:
    """Return the seconds until a time."""
    return until - time.monotonic()


def prepare_worker(number: int, plan: WorkerPlan) -> WorkerProcess:
    """Return a worker that is not started yet."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    for name in (FOUND, STATE, AT_HAND, FIRST, SPENT):
        (plan.folder / name).unlink(missing_ok=True)
    path = plan.folder / "plan.json"
    plan.write(path)
    return WorkerProcess(number, plan, Launcher(path, structure=plan.structure))


def corpus_files(folder: Path) -> list[Path]:
    """Return the files of a corpus; other entries are ignored."""
    return sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
