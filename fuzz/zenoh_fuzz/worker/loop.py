"""The worker's loop: store the input, judge it, store new findings, go on."""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from hashlib import sha1
from typing import Any, Final

from zenoh_fuzz import oracle as oracles
from zenoh_fuzz.compare.targets import open_codecs
from zenoh_fuzz.finding import FuzzFinding
from zenoh_fuzz.mutators import BytesMutator, Mutator
from zenoh_harness.errors import HarnessError

from .blackbox import BlackBox
from .feedback import atheris_counters
from .plan import AT_HAND, CANNOT_BEGIN, CANNOT_WRITE, DEADLY, FIRST, FOUND, SPENT, STATE, WorkerPlan

EVERY: Final = 0.5
"""Seconds between two writes of the state."""
LOOK: Final = 64
"""Inputs between two checks of the clock."""


class WorkerLoop:
    """Runs an oracle on inputs."""

    def __init__(self, plan: WorkerPlan, oracle: oracles.Oracle) -> None:
        self.plan, self.oracle = plan, oracle
        self._box = BlackBox(plan.folder / AT_HAND)
        self._behaves = atheris_counters() if plan.behaviour else None
        deadly = plan.folder / DEADLY
        self._deadly = frozenset(map(bytes.fromhex, deadly.read_text().split())) if deadly.exists() else frozenset()
        self._counts: Counter[str] = Counter()
        self._inputs = 0
        self._next = time.monotonic() + EVERY
        self._mutator: Mutator | None = None
        self._last = b""
        self._kept = f"{plan.corpus}{os.sep}"
        spent = plan.folder / SPENT
        self._spent = (float(spent.read_text()) if spent.exists() else 0.0) - time.process_time()
        atexit.register(self.flush)

    def one_input(self, data: bytes) -> None:
        """Judge an input; called by the engine."""
        if self._deadly and data in self._deadly:
            return
        self._box.hold(data)
        for finding in oracles.judge_input(self.oracle, data):
            self._note(finding)
        self._box.clear()
        if self._behaves is not None:
            self._behaves(self.oracle.behaviour)
        self._inputs += 1
        if self._inputs % LOOK == 0 and time.monotonic() >= self._next:
            self.flush()
            if self.plan.cpu_seconds:
                self._end_if_spent()

    def _end_if_spent(self) -> None:
        """Store the CPU seconds of this and earlier starts, and end the process if they are used up."""
        spent = self._spent + time.process_time()
        self._write(SPENT, str(spent), append=False)
        if spent >= self.plan.cpu_seconds:
            os._exit(0)

    def first(self) -> None:
        """Run the exhaustive inputs, once per campaign; after a crash the next worker continues after the fatal input."""
        marks = self.plan.folder / FIRST
        begin = int(marks.read_text()) if marks.exists() else 0
        clock = time.process_time if self.plan.cpu_seconds else time.monotonic
        until = clock() + self.plan.first_seconds
        for index, data in enumerate(self.oracle.first()):
            if clock() > until:
                break
            if index >= begin:
                if index % LOOK == 0:
                    self._write(FIRST, str(index), append=False)
                self.one_input(data)
        self._write(FIRST, str(1 << 60), append=False)
        self.flush()

    def _note(self, finding: FuzzFinding) -> None:
        self._counts[finding.id] += 1
        if self._counts[finding.id] > 1:
            return
        self._write(FOUND, json.dumps(finding.to_json()) + "\n", append=True)

    def flush(self) -> None:
        """Write the state, and collect late answers."""
        self._note_all(self.oracle.rest())
        state: dict[str, Any] = {
            "inputs": self._inputs,
            "counts": self._counts,
            "tolerated": self.oracle.tolerated,
            "behaviours": self._behaves.seen if self._behaves else 0,
        }
        if self._mutator:
            state |= {"used": self._mutator.used, "brought": self._mutator.brought}
        self._write(STATE, json.dumps(state), append=False)
        self._next = time.monotonic() + EVERY

    def _note_all(self, findings: Iterable[FuzzFinding]) -> None:
        for finding in findings:
            self._note(finding)

    def _write(self, name: str, text: str, *, append: bool) -> None:
        path = self.plan.folder / name
        try:
            if append:
                with path.open("a", encoding="utf-8") as out:
                    out.write(text)
            else:
                new = path.with_suffix(".new")
                new.write_text(text, encoding="utf-8")
                new.replace(path)
        except OSError as why:
            _end(CANNOT_WRITE, f"cannot write {path}: {why}")

    # --- mutation ---------------------------------------------------------------------------------------------------

    def mutate_with(self, engine: BytesMutator) -> None:
        """Mutate inputs by segments; `engine` mutates bytes."""
        self._mutator = Mutator(engine, self.plan.layers)

    def mutate(self, data: bytes, most: int, seed: int) -> bytes:
        """Return a mutate input; called by the engine."""
        assert self._mutator
        self._credit()
        self._last = self._mutator(data, min(most, self.oracle.largest), seed)
        return self._last

    def cross(self, data: bytes, other: bytes, most: int, seed: int) -> bytes:
        """Return a crossover of two inputs; called by the engine."""
        assert self._mutator
        self._credit()
        self._last = self._mutator.cross(data, other, min(most, self.oracle.largest), seed)
        return self._last

    def _credit(self) -> None:
        """Credit the last edits if the engine kept the input: it has a file of that name."""
        if self._last and self._mutator:
            name = sha1(self._last, usedforsecurity=False).hexdigest()
            if os.path.exists(self._kept + name):  # noqa: PTH110  runs for every input; a Path takes five times as long
                self._mutator.credit()


def begin(plan: WorkerPlan) -> WorkerLoop:
    """Return the worker of a plan; exits the process if a target is not available."""
    try:
        before = dict(os.environ)
        os.environ.pop(
            "LD_PRELOAD", None
        )  # not for its child processes: a shell cannot load libraries that need Python
        targets = open_codecs(plan.targets, coverage=True, env=before)
        return WorkerLoop(plan, oracles.make_oracle(plan.oracle, targets))
    except HarnessError as why:
        _end(CANNOT_BEGIN, str(why))
        raise


def _end(code: int, why: str) -> None:
    """Exit without the engine's crash report, which would count as a finding."""
    sys.stderr.write(f"worker: {why}\n")
    sys.stderr.flush()
    os._exit(code)
