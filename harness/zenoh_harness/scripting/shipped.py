"""The scripts that ship with the package: faults of old releases that are public, each a case of its own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from zenoh_conformance.cases.case import Case
from zenoh_harness.files import scripts
from zenoh_harness.scripting.binder import case_of

FOLDER: Final = "scripts"


def shipped_scripts() -> dict[str, Path]:
    """Return name to file, sorted."""
    folder = Path(str(files("zenoh_harness.scripting"))) / FOLDER
    return {path.stem: path for path in sorted(folder.glob(f"*{scripts.SUFFIX}"))}


@cache
def script_cases() -> tuple[Case, ...]:
    """Each of them as a case, `scripts/<name>`."""
    return tuple(case_of(scripts.read(path), f"{FOLDER}/{name}") for name, path in shipped_scripts().items())
