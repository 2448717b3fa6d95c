"""What a worker does with each input: writes it down, lets the oracle judge it, keeps what is new, goes on."""

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

from zenoh_harness.errors import HarnessError

from . import oracle as oracles
from .blackbox import BlackBox
from .feedback import of_atheris
from .finding import Finding
from .mutators import BytesMutator, Mutator
from .plan import AT_HAND, CANNOT_BEGIN, CANNOT_WRITE, DEADLY, FIRST, FOUND, STATE, Plan
from .targets import opened

EVERY: Final = 0.5
"""Seconds between two writings of the state."""
LOOK: Final = 64
"""Inputs between two looks at the clock."""


class Worker:
    """One oracle and its inputs."""

    def __init__(self, plan: Plan, oracle: oracles.Oracle) -> None:
        self.plan, self.oracle = plan, oracle
        self._box = BlackBox(plan.folder / AT_HAND)
        self._behaves = of_atheris() if plan.behaviour else None
        deadly = plan.folder / DEADLY
        self._deadly = frozenset(map(bytes.fromhex, deadly.read_text().split())) if deadly.exists() else frozenset()
        self._counts: Counter[str] = Counter()
        self._inputs = 0
        self._next = time.monotonic() + EVERY
        self._mutator: Mutator | None = None
        self._last = b""
        self._kept = f"{plan.corpus}{os.sep}"
        atexit.register(self.flush)

    def one_input(self, data: bytes) -> None:
        """What the engine calls."""
        if self._deadly and data in self._deadly:
            return
        self._box.hold(data)
        for finding in oracles.judged(self.oracle, data):
            self._note(finding)
        self._box.clear()
        if self._behaves is not None:
            self._behaves(self.oracle.behaviour)
        self._inputs += 1
        if self._inputs % LOOK == 0 and time.monotonic() >= self._next:
            self.flush()

    def first(self) -> None:
        """Look at the small spaces whole, once a run: where an input ends the worker, the next one goes on behind it."""
        marks = self.plan.folder / FIRST
        begin = int(marks.read_text()) if marks.exists() else 0
        until = time.monotonic() + self.plan.first_seconds
        for index, data in enumerate(self.oracle.first()):
            if time.monotonic() > until:
                break
            if index >= begin:
                if index % LOOK == 0:
                    self._write(FIRST, str(index), append=False)
                self.one_input(data)
        self._write(FIRST, str(1 << 60), append=False)
        self.flush()

    def _note(self, finding: Finding) -> None:
        self._counts[finding.id] += 1
        if self._counts[finding.id] > 1:
            return
        row = {
            "id": finding.id, "oracle": finding.oracle, "rule": finding.rule, "signature": finding.signature,
            "why": finding.why, "input": finding.data.hex(), "grave": finding.grave, "subject": finding.subject,
            "sides": [{"name": one.name, "verdict": one.verdict, "told": one.told} for one in finding.sides],
        }  # fmt: skip
        self._write(FOUND, json.dumps(row) + "\n", append=True)

    def flush(self) -> None:
        """Say how far it is, and take the answers that are still owed."""
        self._note_all(self.oracle.rest())
        state: dict[str, Any] = {
            "inputs": self._inputs, "counts": self._counts, "tolerated": self.oracle.tolerated,
            "behaviours": self._behaves.seen if self._behaves else 0,
        }  # fmt: skip
        if self._mutator:
            state |= {"used": self._mutator.used, "brought": self._mutator.brought}
        self._write(STATE, json.dumps(state), append=False)
        self._next = time.monotonic() + EVERY

    def _note_all(self, findings: Iterable[Finding]) -> None:
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
        """Change inputs by their segments; `engine` changes bytes."""
        self._mutator = Mutator(engine, self.plan.layers)

    def mutated(self, data: bytes, most: int, seed: int) -> bytes:
        """What the engine calls for another input."""
        assert self._mutator
        self._credit()
        self._last = self._mutator(data, min(most, self.oracle.largest), seed)
        return self._last

    def crossed(self, data: bytes, other: bytes, most: int, seed: int) -> bytes:
        """What the engine calls to make one input of two."""
        assert self._mutator
        self._credit()
        self._last = self._mutator.cross(data, other, min(most, self.oracle.largest), seed)
        return self._last

    def _credit(self) -> None:
        """The engine has kept the last input when there is a file of its name."""
        if self._last and self._mutator:
            name = sha1(self._last, usedforsecurity=False).hexdigest()
            if os.path.exists(self._kept + name):  # noqa: PTH110  asked of every input; a Path takes five times as long
                self._mutator.credit()


def begin(plan: Plan) -> Worker:
    """The worker of a plan; ends the process where a target cannot be had."""
    try:
        before = dict(os.environ)
        os.environ.pop("LD_PRELOAD", None)  # what a worker starts is none, and a shell cannot load what serves Python
        targets = opened(plan.targets, coverage=True, env=before)
        return Worker(plan, oracles.made(plan.oracle, targets))
    except HarnessError as why:
        _end(CANNOT_BEGIN, str(why))
        raise


def _end(code: int, why: str) -> None:
    """End without the engine's own epitaph, which would take this for a finding."""
    sys.stderr.write(f"worker: {why}\n")
    sys.stderr.flush()
    os._exit(code)
