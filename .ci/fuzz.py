"""Every oracle for a short time, one after the other; a finding fails.

python .ci/fuzz.py [OPTION...]      options of `zconform fuzz codec`
python .ci/fuzz.py codec ORACLE ... one command of `zconform fuzz`
"""

from __future__ import annotations

import shutil
import sys

from zenoh_fuzz import oracle
from zenoh_harness.cli import invoke

CURRENT = "lib:zenoh-codec@1.10.2"
"""What ours is compared with, where cargo can build it."""


def main(words: list[str]) -> int:
    """The worst exit code."""
    if words and not words[0].startswith("-"):
        return invoke(["fuzz", *words])
    worst = 0
    for name in oracle.names():
        kind = oracle.kind_of(name)
        target = ["--target", CURRENT] if kind.wants_targets and shutil.which("cargo") else []
        if kind.wants_targets and not target:
            sys.stderr.write(f"{name}: not run here, needs cargo and a stable Rust toolchain\n")
            continue
        worst = max(worst, invoke(["fuzz", "codec", name, *target, *words]))
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
