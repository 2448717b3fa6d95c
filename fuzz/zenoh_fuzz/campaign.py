"""One campaign: an oracle, a corpus, a time; what it did and what it found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

STARTUP = 60.0
"""Seconds that the engine may need beyond its own limit."""
PROGRESS = re.compile(r"#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+)(?:.*exec/s: (\d+))?")
CRASH = re.compile(r"Test unit written to (\S+)")
FAULT = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception|Assertion\w*))(?:: (.*))?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a campaign did."""

    inputs: int
    coverage: int
    """Edges of the instrumented code that were reached."""
    findings: tuple[Path, ...]
    """Inputs that broke the oracle."""
    why: str
    """The last exception that it reported."""
    ended: int
    """The engine's exit code: 0 for an end in order, 77 for a finding."""
    log: Path


def run(
    oracle: str,
    folder: Path,
    *,
    seconds: int,
    seed: int = 1,
    seeds: Sequence[Path] = (),
    show: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Run the engine in a process group of its own, in `folder` (corpus, findings, log). Raises OSError when it cannot start."""
    corpus, findings, log = folder / "corpus", folder / "findings", folder / "log.txt"
    for place in (corpus, findings):
        place.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-m", "zenoh_fuzz.engine", oracle, f"-max_total_time={seconds}", f"-seed={seed}",
        f"-artifact_prefix={findings}/", "-max_len=4096", "-timeout=10", "-rss_limit_mb=2048", str(corpus), *map(str, seeds),
    ]  # fmt: skip
    with log.open("wb") as out:
        engine = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, env=dict(os.environ)
        )
        try:
            lines = _follow(engine, out, show)
            ended = engine.wait(timeout=STARTUP)
        finally:
            if engine.poll() is None:
                os.killpg(engine.pid, 9)
                engine.wait()
    return _outcome(lines, findings, ended, log)


def _follow(engine: subprocess.Popen[bytes], out: object, show: Callable[[str], None]) -> list[str]:
    lines: list[str] = []
    assert engine.stdout is not None
    for raw in engine.stdout:
        out.write(raw)  # type: ignore[attr-defined]
        line = raw.decode(errors="replace").rstrip()
        lines.append(line)
        show(line)
    return lines


def _outcome(lines: list[str], findings: Path, ended: int, log: Path) -> Outcome:
    inputs = coverage = 0
    why = ""
    for line in lines:
        if found := PROGRESS.match(line):
            inputs, coverage = int(found[1]), int(found[3])
        elif fault := FAULT.match(line.strip()):
            why = f"{fault[1]}: {fault[2]}" if fault[2] else fault[1]
        elif done := re.match(r"Done (\d+) runs", line.strip()):
            inputs = int(done[1])
    return Outcome(
        inputs=inputs, coverage=coverage, findings=tuple(sorted(findings.iterdir())), why=why, ended=ended, log=log
    )
