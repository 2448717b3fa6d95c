"""A worker as a program of its own: a file that can be executed, under an absolute path without blanks.

libFuzzer starts its own program again, through a shell, to merge corpora. Started as `python -m ...` it would find
nothing to start, say nothing, and leave an empty corpus.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final, Self

from zenoh_harness.errors import CannotGoOn

RUNTIME: Final = "ubsan_with_fuzzer.so"
"""libFuzzer with what counters of native code need; in the Atheris package."""

_TEXT: Final = """#!/bin/sh
LD_PRELOAD={preload}
export LD_PRELOAD
exec {python} -m zenoh_fuzz.engine {plan} "$0" "$@"
"""


def check_atheris() -> None:
    """Raises CannotGoOn where Atheris is not installed."""
    if importlib.util.find_spec("atheris") is None:
        raise CannotGoOn("atheris is not installed", step="fuzz codec",
                         hint="install zenoh-conformance[fuzz] (Linux x86-64, Python 3.11 to 3.13)")  # fmt: skip


def preload(*, structure: bool) -> list[Path]:
    """The libraries that a worker needs before all others; with `structure`, those through which its mutators are called."""
    spec = importlib.util.find_spec("atheris")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    runtime = package.parent / RUNTIME
    if not runtime.exists():
        raise CannotGoOn(f"Atheris has no {RUNTIME}", step="fuzz codec", seen=str(package), hint="install atheris 3.0")
    custom = [*package.glob("custom_mutator.*.so"), *package.glob("custom_crossover.*.so")] if structure else []
    return [runtime, *sorted(custom)]


class Launcher:
    """A folder with the program and links to the folders that it works on; gone when it is closed."""

    def __init__(self, plan: Path, *, structure: bool) -> None:
        """Write the program.  CannotGoOn where there is no place for it."""
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="zconform-fuzz-"))
        except OSError as why:
            raise CannotGoOn("no place for a worker's program", step="fuzz codec", seen=str(why)) from why
        if " " in str(self.folder):
            raise CannotGoOn(f"{self.folder} has a blank in it", step="fuzz codec", hint="set TMPDIR to another folder")
        self.program = self.folder / "worker"
        libraries = " ".join(map(str, preload(structure=structure)))
        text = _TEXT.format(preload=_quoted(libraries), python=_quoted(sys.executable), plan=_quoted(str(plan)))
        self.program.write_text(text, encoding="utf-8")
        self.program.chmod(0o700)

    def link(self, name: str, to: Path) -> Path:
        """A path without blanks to a folder."""
        link = self.folder / name
        link.symlink_to(to.resolve(), target_is_directory=True)
        return link

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def environment() -> dict[str, str]:
    """A worker's: as ours, with strings hashed alike in every run, and without what was put before us."""
    kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    search = [*(path for path in sys.path if path and Path(path).is_dir())]
    return kept | {"PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(search), "PYTHONDONTWRITEBYTECODE": "1"}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
