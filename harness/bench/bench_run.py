"""The establishment set as responder: seconds and cases a second, against a healthy node and one that fails half of it.

python harness/bench/bench_run.py [REACH]      the healthy one is `wheel?role=router` unless named
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HALF = Path(__file__).with_name("half_refusing.py")


def judged(out: Path) -> Counter[str]:
    """Verdicts of a results file, and how many there are."""
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return Counter(line["verdict"] for line in lines if line["type"] == "judgement")


def run(name: str, reach: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [sys.executable, "-m", "zenoh_harness.cli", "run", reach, "--out", folder, "--quiet"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        took = time.perf_counter() - began
        if ended.returncode not in (0, 1):
            sys.exit(f"{name}: exit {ended.returncode}\n{ended.stderr}")
        verdicts = judged(Path(folder))
    shown = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    print(f"{name:14} {took:6.1f} s  {verdicts.total() / took:5.0f} judgements/s over all   {shown}")


def main() -> None:
    healthy = sys.argv[1] if len(sys.argv) > 1 else "wheel?role=router"
    run("first, warming", healthy)
    run("healthy", healthy)
    run("half refusing", f"exec:{sys.executable} {HALF} {{port}}")


if __name__ == "__main__":
    main()
