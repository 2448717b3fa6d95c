"""Makes the image of the harness: its wheel and what that needs, put on a base that has Python.

    python .ci/image.py [--base IMAGE] [--tag NAME]

Everything is fetched here and copied: the build itself needs no network. BASE must have Python 3.11 as `python3`.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import dist
import install

HERE = Path(__file__).resolve().parent / "image"
PYTHON = "3.11"
"""What the base's Python is, and so what the dependencies are chosen for."""


def context(folder: Path) -> None:
    """What the image is made of: the Dockerfile, the program's name, and the wheel with its dependencies."""
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    wheel = dist.build(folder / "wheel")
    chosen = [
        "--python-version",
        PYTHON,
        "--python-platform",
        f"{platform.machine()}-manylinux_2_28",
        "--only-binary",
        ":all:",
    ]
    constraints = ["--constraint", str(dist.ROOT / "constraints.txt")]
    if code := install.main(["--quiet", "--target", str(folder / "site"), *chosen, *constraints, f"{wheel}[docker]"]):
        sys.exit(code)
    shutil.rmtree(folder / "wheel")


def main() -> int:
    """Exit code 0 when the image is made and its zconform says its version; its name is the last line."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--base", help="what it stands on; the Dockerfile's own, python:3.11-slim, unless said otherwise"
    )
    parser.add_argument("--tag", default=f"zconform/harness:{version('zenoh-conformance')}")
    asked = parser.parse_args()
    base = ["--build-arg", f"BASE={asked.base}"] if asked.base else []
    with tempfile.TemporaryDirectory(prefix="zconform-image-") as name:
        context(Path(name))
        built = subprocess.run(["docker", "build", "--quiet", *base, "--tag", asked.tag, name], check=False)
        if built.returncode:
            return built.returncode
    said = subprocess.run(
        ["docker", "run", "--rm", "--network", "none", asked.tag, "zconform", "--version"], check=False
    )
    print(asked.tag)
    return said.returncode


if __name__ == "__main__":
    sys.exit(main())
