"""Installs what tox asks for from uv's cache, and from the network only when something is not there.

Every version is pinned, so the cache cannot be out of date; and some indexes have uv fetch and build again, for each
environment, what it has had for long, pyspark's 490 MB among it.

    python .ci/install.py [UV PIP INSTALL ARGUMENTS...]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

TOXW = Path(__file__).resolve().parent.parent / ".tox" / "toxw"


def uv() -> str:
    """The uv that toxw brought, or another on PATH."""
    found = shutil.which("uv", path=str(TOXW / ("Scripts" if sys.platform == "win32" else "bin"))) or shutil.which("uv")
    return found or sys.exit("install: no uv: start tox by ./toxw, or put uv on PATH")


def main(arguments: list[str]) -> int:
    """The exit code of the installation that counted."""
    install = [uv(), "pip", "install"]
    if subprocess.run([*install, "--offline", *arguments], capture_output=True, check=False).returncode == 0:
        return 0
    return subprocess.run([*install, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
