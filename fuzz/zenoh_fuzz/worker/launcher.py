"""A worker as an executable file under an absolute path without blanks.

libFuzzer restarts its own program through a shell to merge corpora. For `python -m ...` it would find no program, print
nothing, and leave an empty corpus.
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
"""libFuzzer with the runtime for counters of native code; part of the Atheris package."""

_TEXT: Final = """#!/bin/sh
LD_PRELOAD={preload}
export LD_PRELOAD
exec {python} -m zenoh_fuzz.worker.engine {plan} "$0" "$@"
"""


def check_atheris() -> None:
    """Raise CannotGoOn if Atheris is not installed."""
    if importlib.util.find_spec("atheris") is None:
        raise CannotGoOn(
            "atheris is not installed",
            step="fuzz codec",
            hint="install zenoh-conformance[fuzz] (Linux x86-64, Python 3.11 to 3.13)",
        )


def preload(*, structure: bool) -> list[Path]:
    """Return the libraries that a worker preloads; with `structure`, those that call its mutators."""
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
    """A temporary folder with the program and links to its folders; `close` removes it."""

    def __init__(self, plan: Path, *, structure: bool) -> None:
        """Write the program. Raises CannotGoOn."""
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="zconform-fuzz-"))
        except OSError as why:
            raise CannotGoOn(
                "cannot create a folder for the worker's program", step="fuzz codec", seen=str(why)
            ) from why
        if " " in str(self.folder):
            raise CannotGoOn(f"{self.folder} contains a blank", step="fuzz codec", hint="set TMPDIR to another folder")
        self.program = self.folder / "worker"
        libraries = " ".join(map(str, preload(structure=structure)))
        text = _TEXT.format(preload=_quote(libraries), python=_quote(sys.executable), plan=_quote(str(plan)))
        self.program.write_text(text, encoding="utf-8")
        self.program.chmod(0o700)

    def link(self, name: str, to: Path) -> Path:
        """Return a path without blanks to a folder."""
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
    """Return a worker's environment: ours, with fixed string hashes and without our LD_PRELOAD."""
    kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    search = [*(path for path in sys.path if path and Path(path).is_dir())]
    return kept | {"PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(search), "PYTHONDONTWRITEBYTECODE": "1"}


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
