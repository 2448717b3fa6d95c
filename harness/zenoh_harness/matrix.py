"""The same selection against many targets, several at a time, and the version at which a verdict turns."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version

from zenoh_conformance.verdict import SEVERITY, Verdict, worst
from zenoh_harness.adapters.wheel import settings
from zenoh_harness.errors import UsageError
from zenoh_harness.files import results
from zenoh_harness.files.evidence import slug
from zenoh_harness.files.results import Results
from zenoh_harness.reach import parse

RANGE: Final = re.compile(r"(?P<kind>wheel):(?P<first>[^?]*?)\.\.(?P<last>[^?]*)(?P<options>\?.*)?")


def expand(target: str) -> list[str]:
    """`wheel:1.0.0..1.10.2` as one reach string a version, oldest first; any other string as itself.

    Raises UsageError for an end that is no version, and for a range that holds none.
    """
    found = RANGE.fullmatch(target)
    if not found:
        return [str(parse(target))]
    try:
        first, last = (Version(found[end]) for end in ("first", "last"))
    except InvalidVersion as why:
        raise UsageError(
            f"{target} is no range of versions", step="matrix", seen=str(why), hint="wheel:1.0.0..1.10.2"
        ) from why
    versions = [text for text in settings()["wheel"]["versions"] if first <= Version(text) <= last]
    if not versions:
        raise UsageError(f"{target} holds no version", step="matrix", hint="zconform targets list shows the versions")
    return [f"{found['kind']}:{text}{found['options'] or ''}" for text in sorted(versions, key=Version)]


@dataclass(frozen=True, slots=True)
class Done:
    """One target's run."""

    reach: str
    code: int
    """The exit code of its run; negative when a signal ended it."""
    folder: Path
    told: str
    """The last line that it wrote to standard error, when it has no results."""

    @property
    def results(self) -> Results | None:
        """What it left; None when it never began."""
        file = self.folder / "results.jsonl"
        return results.read(file) if file.exists() else None


class Matrix:
    """Runs `zconform run` for each target in a process of its own, at most `jobs` at a time."""

    def __init__(self, out: Path, options: Sequence[str], jobs: int) -> None:
        self.out, self.options, self.jobs = out, options, jobs
        self._running: set[subprocess.Popen[str]] = set()

    def run(self, targets: Sequence[str]) -> Iterator[Done]:
        """Each target as it is done. What still runs is ended when the caller stops asking."""
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(self.one, target) for target in targets]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()
                self.stop()

    def one(self, target: str) -> Done:
        """One target, now."""
        folder = self.out / slug(target)
        command = [sys.executable, "-m", "zenoh_harness.cli", "run", target, "--out", str(folder), "-q", *self.options]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self._running.add(process)
        try:
            told = process.communicate()[1].strip().splitlines()
        finally:
            self._running.discard(process)
        return Done(target, process.returncode, folder, told[-1] if told else "")

    def stop(self) -> None:
        """Ask what runs to end in order: its results stay."""
        for process in list(self._running):
            os.killpg(process.pid, signal.SIGTERM)


def verdict_of(done: Done) -> Verdict:
    """The worst verdict of a run: `error` when it has none."""
    found = done.results
    if found is None or not found.judgements:
        return Verdict.ERROR
    return worst(judgement.verdict for judgement in found.judgements)


RED: Final = SEVERITY[Verdict.KNOWN]
"""What is graver is red."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a verdict turns: the last target on one side, the first on the other."""

    before: str
    after: str
    became: Verdict
    """What it is from `after` on."""


def turns(targets: Sequence[str], ask: Callable[[str], Verdict]) -> list[Turn]:
    """Where red turns green and back, over targets in order, in about 2 log n runs.

    The ends are asked first; where they agree, middles are asked, halves before quarters, until one differs (a fault that came
    and went). Between two that differ the border is found by halving. Each target is asked once.
    """
    asked: dict[int, Verdict] = {}

    def verdict(index: int) -> Verdict:
        if index not in asked:
            asked[index] = ask(targets[index])
        return asked[index]

    def red(index: int) -> bool:
        return SEVERITY[verdict(index)] > RED

    ends = [0, len(targets) - 1]
    known = sorted(set(ends))
    if len(known) == 2 and red(0) == red(ends[1]):
        known = sorted({*known, *_different(ends[1], red)})
    found = []
    for low, high in pairwise(known):
        if red(low) != red(high):
            edge = _border(low, high, red)
            found.append(Turn(targets[edge - 1], targets[edge], verdict(edge)))
    return found


def _different(last: int, red: Callable[[int], bool]) -> list[int]:
    """One index between 0 and last that differs from both ends, halves before quarters; none when all are alike."""
    gaps = [(0, last)]
    while gaps:
        wider = []
        for low, high in gaps:
            middle = (low + high) // 2
            if middle in (low, high):
                continue
            if red(middle) != red(0):
                return [middle]
            wider += [(low, middle), (middle, high)]
        gaps = wider
    return []


def _border(low: int, high: int, red: Callable[[int], bool]) -> int:
    """The first index after low that is as high is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if red(middle) == red(low) else (low, middle)
    return high
