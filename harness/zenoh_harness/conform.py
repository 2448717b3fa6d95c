"""Judge, print the summary, and then make tables and pages.

    python -m zenoh_harness.conform [RUN ARGUMENTS...]

Without arguments the run judges the zenoh-rust release that the project pins; arguments are those of `zconform run`. The exit
code is the run's. It is known before pages are made, and pages are made before Spark starts: a later failure costs no verdict.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from zenoh_conformance.judging.verdict import Exit

BASELINE = "wheel:1.10.2"
"""The target if no other is named."""

OUT = "out/conform"
"""Folder for results and report if `--out` names no other one; relative to the current folder."""

ZCONFORM = (sys.executable, "-m", "zenoh_harness.cli")


def out_of(arguments: Sequence[str]) -> str | None:
    """Return the folder that the arguments of a run name, or None."""
    for at, argument in enumerate(arguments):
        if argument == "--out" and at + 1 < len(arguments):
            return arguments[at + 1]
        if argument.startswith("--out="):
            return argument.removeprefix("--out=")
    return None


def run_command(command: Sequence[str]) -> tuple[int, bool]:
    """
    Run a command to its end; signals to this process are passed on to it.

    Returns its exit code, negative when a signal ended it, and whether it was interrupted.
    """
    process = subprocess.Popen(command)
    signals: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        signals.append(number)
        if number != signal.SIGINT:  # a terminal sends SIGINT to the whole group
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return process.wait(), bool(signals)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def results_time(results: Path) -> int:
    """Return the modification time of the results in ns; 0 if there are none."""
    return results.stat().st_mtime_ns if results.exists() else 0


def main(arguments: Sequence[str], zconform: Sequence[str] = ZCONFORM) -> int:
    """Run, then report; return the run's exit code. `zconform` is the command with both subcommands."""
    named = out_of(arguments)
    out = Path(named or OUT)
    results = out / "results.jsonl"
    earlier = results_time(results)
    run = [*(arguments or (BASELINE,)), *(() if named else ("--out", OUT))]
    code, interrupted = run_command([*zconform, "run", *run])
    if code < 0:
        code = int(Exit.CANNOT_GO_ON)  # a run ended by a signal reports no code of its own
    if interrupted or code == Exit.USAGE or results_time(results) == earlier:
        return code
    report = ["report", str(results), "--out", str(out / "report"), "--spark", "--tables", str(out / "tables")]
    if run_command([*zconform, *report])[0]:
        print(f"conform: cannot make all pages and tables; the verdict above and {results} are valid", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
