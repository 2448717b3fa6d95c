"""The main job: judge, print the summary, and only then make tables and pages.

    python -m zenoh_harness.conform [RUN ARGUMENTS...]

Without arguments the real zenoh-rust that the project pins is judged; arguments are those of `zconform run`. The exit
code is the run's. It is fixed before pages are made, and these before Spark starts: what fails later costs no verdict.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from zenoh_conformance.verdict import Exit

BASELINE = "wheel:1.10.2"
"""The zenoh-rust that is judged when nothing else is named."""

OUT = "out/conform"
"""Where results and report go when `--out` names no other folder; from the folder that one stands in."""

ZCONFORM = (sys.executable, "-m", "zenoh_harness.cli")


def out_of(arguments: Sequence[str]) -> str | None:
    """The folder that the arguments of a run name, or None."""
    for at, argument in enumerate(arguments):
        if argument == "--out" and at + 1 < len(arguments):
            return arguments[at + 1]
        if argument.startswith("--out="):
            return argument.removeprefix("--out=")
    return None


def call(command: Sequence[str]) -> tuple[int, bool]:
    """
    Runs a command to its end, whoever interrupts it: it gets the signal itself, and says what it leaves behind.

    Returns its exit code, negative when a signal ended it, and whether it was interrupted.
    """
    process = subprocess.Popen(command)
    signals: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        signals.append(number)
        if number != signal.SIGINT:  # a terminal's goes to the whole group
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return process.wait(), bool(signals)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def written(results: Path) -> int:
    """When the results were written, in ns; 0 when there are none."""
    return results.stat().st_mtime_ns if results.exists() else 0


def main(arguments: Sequence[str], zconform: Sequence[str] = ZCONFORM) -> int:
    """Runs, then reports; returns the run's exit code. `zconform` is the command that both are subcommands of."""
    named = out_of(arguments)
    out = Path(named or OUT)
    results = out / "results.jsonl"
    earlier = written(results)
    run = [*(arguments or (BASELINE,)), *(() if named else ("--out", OUT))]
    code, interrupted = call([*zconform, "run", *run])
    if code < 0:
        code = int(Exit.CANNOT_GO_ON)  # ended by a signal, it could not say so itself
    if interrupted or code == Exit.USAGE or written(results) == earlier:
        return code
    report = ["report", str(results), "--out", str(out / "report"), "--spark", "--tables", str(out / "tables")]
    if call([*zconform, *report])[0]:
        print(f"conform: pages or tables are missing; the verdict above stands, and so does {results}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
