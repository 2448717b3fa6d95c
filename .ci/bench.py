"""Runs each package's benchmarks, `<package>/bench/bench_*.py`, one after the other; each prints its own ratios.

python .ci/bench.py [WORD...]      only files whose path has one of the words
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """The exit code says whether one failed, or whether none was found."""
    words = sys.argv[1:]
    every = sorted(Path().glob("*/bench/bench_*.py"))
    files = [file for file in every if not words or any(word in str(file) for word in words)]
    codes = []
    for file in files:
        print(f"== {file}", flush=True)
        codes.append(subprocess.run([sys.executable, str(file)], check=False).returncode)
    if not files:
        print("bench: no benchmark by that name")
    return 0 if files and not any(codes) else 1


if __name__ == "__main__":
    sys.exit(main())
