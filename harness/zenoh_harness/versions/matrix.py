"""The same selection against many targets, several at a time, each in a process of its own."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Final

import psutil
from packaging.version import InvalidVersion, Version

from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.results import Results, check_label
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.links.timing import Deadline
from zenoh_harness.programs import processes
from zenoh_harness.run.plan.plan import matches
from zenoh_harness.targets.adapters.wheel import settings
from zenoh_harness.targets.catalogue import find

RANGE: Final = re.compile(r"(?P<kind>wheel):(?P<first>[^?]*?)\.\.(?P<last>[^?]*)(?P<options>\?.*)?")
MEMORY: Final = 512 << 20
"""Bytes that one run and its target are given room for."""
ENDING: Final = 30.0
"""Seconds in which a run that is asked to end writes what it has and lets go of its target."""
_OF_LISTS: Final = ("known/has-gone", "judged/no-longer")
LOOK: Final = 0.2
"""Seconds between two looks at whether a run is to be ended."""


def expand(targets: Sequence[str]) -> list[str]:
    """Target strings, `wheel:1.0.0..1.10.2` as one a version, oldest first; each once.

    Raises UsageError for an end that is no version, and for a range that holds none.
    """
    return list(dict.fromkeys(reach for target in targets for reach in _expanded(target)))


def _expanded(target: str) -> list[str]:
    found = RANGE.fullmatch(target)
    if not found:
        return [str(find(target))]
    try:
        first, last = (Version(found[end]) for end in ("first", "last"))
    except InvalidVersion as why:
        raise UsageError(
            f"{target} is no range of versions", step="matrix", seen=str(why), hint="wheel:1.0.0..1.10.2"
        ) from why
    versions = [text for text in settings()["wheel"]["versions"] if first <= Version(text) <= last]
    if not versions:
        raise UsageError(f"{target} holds no version", step="matrix", hint=f"it knows {_span()}")
    return [f"{found['kind']}:{text}{found['options'] or ''}" for text in sorted(versions, key=Version)]


def _span() -> str:
    versions = sorted(settings()["wheel"]["versions"], key=Version)
    return f"{len(versions)} versions from {versions[0]} to {versions[-1]}"


def room() -> int:
    """How many targets at a time this machine has processors and memory for; one at least."""
    return max(1, min(len(os.sched_getaffinity(0)), psutil.virtual_memory().available // MEMORY))


@dataclass(frozen=True)
class Done:
    """One target's run."""

    reach: str
    code: int
    """The exit code of its run; negative when a signal ended it."""
    folder: Path
    text: str
    """What it said last: why it ended, when it has no results."""
    seconds: float

    @cached_property
    def results(self) -> Results | None:
        """What it left; None when it never began."""
        file = self.folder / "results.jsonl"
        return results.read(file) if file.exists() else None


class Matrix:
    """Runs `zconform run` for each target in a process of its own, at most `jobs` at a time."""

    def __init__(self, out: Path, options: Sequence[str], jobs: int = 1, *, resume: bool = False) -> None:
        """`resume`: go on with what a matrix that was killed has left of each target."""
        self.out, self.options, self.jobs, self.resume = out, options, jobs, resume
        self._stop = Event()

    def run(self, targets: Sequence[str]) -> Iterator[Done]:
        """Each target as it is done. What still runs is ended when the caller stops asking."""
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(self.one, target) for target in targets]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                self._stop.set()
                for future in futures:
                    future.cancel()

    def one(self, target: str) -> Done:
        """One target, now; what an earlier matrix left of it is gone first, unless it is resumed."""
        folder = self.out / slug(target)
        if not self.resume:
            (folder / "results.jsonl").unlink(missing_ok=True)
        began = time.monotonic()
        more = ["--resume"] if self.resume else []
        code, _, text = self._zconform("run", target, "--out", str(folder), "-q", *more, *self.options)
        return Done(target, code, folder, text, time.monotonic() - began)

    def verdict(self, target: str, check: str) -> tuple[Verdict, str]:
        """What a check says of a target, and the cause: a death during it counts as its own."""
        done = self.with_options("--only", check).one(target)
        if done.results is None:
            return Verdict.ERROR, done.text
        of_check = [one for one in done.results.judgements if _is_of(check, one)]
        bad = [one for one in of_check if one.verdict.is_wrong]
        said = bad or [one for one in of_check if one.key.check != STAYS_UP or check == STAYS_UP]
        telling = max(said, key=lambda one: one.verdict.severity, default=None)
        if telling is None:
            return Verdict.NOT_OBSERVED if done.results.complete else Verdict.ERROR, done.text
        return telling.verdict, telling.cause

    def replayed(self, target: str, script: Path) -> tuple[Verdict, str]:
        """What a script file says of a target, and the cause."""
        code, out, text = self._zconform("replay", str(script), target, "--format", "json")
        try:
            answer = json.loads(out)
        except ValueError:
            return Verdict.ERROR, text or f"exit {code}"
        return Verdict(answer["verdict"]), str(answer["cause"])

    def with_options(self, *options: str) -> Matrix:
        """The same, told more."""
        return Matrix(self.out, [*self.options, *options], self.jobs)

    def _zconform(self, *words: str) -> tuple[int, str, str]:
        """Exit code, output, and what was said last: a run ends in order when the matrix does, and dies with us."""
        folder = processes.work_folder()  # its temporary files are in there, and go with it
        command = [sys.executable, "-m", "zenoh_harness.cli", *words]
        with processes.start(command, folder=folder, env={"TMPDIR": str(folder)}) as program:
            try:
                while program.wait(Deadline.after(LOOK)) is None and not self._stop.is_set():
                    pass
            finally:
                ended = program.stop(ENDING)
        return ended.code, program.output("stdout"), _said(program.output("stderr"))


def _is_of(check: str, one: Judgement) -> bool:
    """Whether a judgement speaks of that check, or of a death meanwhile; not of the list of known deviations."""
    key = one.key
    if key.check in (STAYS_UP, *_OF_LISTS):
        return key.check == STAYS_UP
    return any(matches(check, name) for name in (key.check, check_label(key.check, key.parameters), key.requirement))


def _said(text: str) -> str:
    """The message of a command that gave up, else the last line that it wrote."""
    lines = text.strip().splitlines() or [""]
    return next((line for line in reversed(lines) if line.startswith("zconform: ")), lines[-1])
