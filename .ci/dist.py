"""Builds the wheel, installs it in a clean environment, and uses it from outside the checkout.

python .ci/dist.py [--keep FOLDER]      the wheel is kept in FOLDER, else thrown away
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

from uv import find_uv_bin

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("zenoh_conformance", "zenoh_vectors", "zenoh_harness", "zenoh_fuzz", "zenoh_reports")
SMOKE: tuple[tuple[str, ...], ...] = (
    ("--version",),
    ("--help",),
    ("targets", "list"),
    ("requirements", "list"),
    ("cases", "list"),
    ("vectors", "check"),
    ("run", "reference", "--depth", "quick", "--out", "results"),
)
"""What must work with the base dependencies alone; the exit code of each must be 0."""


def step(*command: str, cwd: Path = ROOT) -> str:
    """Runs one step and returns what it printed; ends the program where it fails."""
    done = subprocess.run(command, cwd=cwd, text=True, capture_output=True, check=False, env=outside())
    if done.returncode:
        sys.exit(f"dist: exit {done.returncode} from: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def outside() -> dict[str, str]:
    """The environment without what would lead back into the checkout."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}


def build(folder: Path) -> Path:
    """The wheel, built by way of the source distribution, as a packager would."""
    step(find_uv_bin(), "build", "--quiet", "--out-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def lost(wheel: Path) -> list[str]:
    """The files of the packages, known to git or new, that the wheel lacks."""
    folders = [f"*/{name}/*" for name in PACKAGES]
    listed = step("git", "ls-files", "--cached", "--others", "--exclude-standard", *folders, cwd=ROOT)
    inside = set(ZipFile(wheel).namelist())
    wanted = {name.partition("/")[2] for name in listed.splitlines() if (ROOT / name).exists()}
    return sorted(wanted - inside)


def smoke(wheel: Path, folder: Path) -> None:
    """Installs the wheel alone and uses it."""
    environment = folder / "environment"
    step(find_uv_bin(), "venv", "--quiet", "--python", sys.executable, str(environment))
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    constraints = str(ROOT / "constraints.txt")
    step(find_uv_bin(), "pip", "install", "--quiet", "--python", str(python), "--constraint", constraints, str(wheel))
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for arguments in SMOKE:
        step(str(python.with_name("zconform")), *arguments, cwd=elsewhere)
        print(f"dist: zconform {' '.join(arguments)}", flush=True)
    step(str(python), "-c", "import " + ", ".join(PACKAGES), cwd=elsewhere)


def main() -> int:
    """Exit code 0 when the wheel is whole and works."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path)
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory(prefix="zconform-dist-") as name:
        folder = Path(name)
        wheel = build(keep or folder / "wheel")
        if missing := lost(wheel):
            print("dist: in the checkout and not in the wheel:", *missing, sep="\n  ")
            return 1
        smoke(wheel, folder)
        print(f"dist: {wheel.name}, {wheel.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
