"""Environments for wheels: one per version in the user's cache, made once with uv."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import filelock
import platformdirs

from zenoh_harness.errors import CannotGoOn, UsageError, nearest
from zenoh_harness.links.timing import scaled

CACHE_VARIABLE: Final = "ZCONFORM_CACHE_DIR"
_COMPLETE: Final = ".complete"
_MAKING: Final = 300.0
"""Seconds to make an environment, or to wait for another process that makes it."""


def cache_folder() -> Path:
    """The folder of environments: ZCONFORM_CACHE_DIR, else the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else platformdirs.user_cache_path("zenoh-conformance")


def python_with(package: str, version: str, *, known: tuple[str, ...] = ()) -> Path:
    """The Python of an environment with `package` at `version`, made if it does not exist yet.

    `known` are versions to suggest. Raises UsageError for a version that does not exist or has no wheel, CannotGoOn without
    network, disk space or uv.
    """
    tag = f"{sys.implementation.cache_tag}-{sys.platform}"
    folder = cache_folder() / "environments" / f"{package}-{version}-{tag}"
    python = folder / "bin" / "python"
    if (folder / _COMPLETE).exists() and python.exists():
        return python
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{folder}.lock", timeout=scaled(_MAKING)):
            if not ((folder / _COMPLETE).exists() and python.exists()):
                _make(folder, python, package, version, known)
    except filelock.Timeout as why:
        busy, seen = f"another process is still making {folder.name}", f"{folder}.lock is held"
        raise CannotGoOn(busy, step="environment", seen=seen, hint="is an older run hanging?") from why
    except OSError as why:
        hint = f"set {CACHE_VARIABLE} to another folder"
        raise CannotGoOn(f"cannot make {folder}", step="environment", seen=str(why), hint=hint) from why
    return python


def _make(folder: Path, python: Path, package: str, version: str, known: tuple[str, ...]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        _uv("venv", "--python", sys.executable, str(folder))
        _uv("pip", "install", "--python", str(python), "--only-binary", ":all:", f"{package}=={version}")
    except subprocess.CalledProcessError as why:
        shutil.rmtree(folder, ignore_errors=True)
        raise _install_error(package, version, why.stderr, known) from why
    except subprocess.TimeoutExpired as why:
        shutil.rmtree(folder, ignore_errors=True)
        hint = "is the package index reachable?"
        raise CannotGoOn(f"installing {package} {version} stalls", step="environment", hint=hint) from why
    (folder / _COMPLETE).touch()


def _uv(*arguments: str) -> None:
    from uv import find_uv_bin

    environment = {
        name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH", "LD_PRELOAD")
    }
    command = [find_uv_bin(), "--quiet", "--no-config", *arguments]
    subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        timeout=scaled(_MAKING),
        stdin=subprocess.DEVNULL,
    )


def _install_error(package: str, version: str, stderr: str, known: tuple[str, ...]) -> CannotGoOn | UsageError:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()][:4]
    suggestion = nearest(version, known) or f"known releases: {', '.join(known)}"
    if "has no usable wheels" in stderr or "has no wheels" in stderr:
        why = f"{package} {version} has no wheel for this platform"
        return UsageError(why, step="environment", seen=lines, hint=suggestion)
    if "there is no version of" in stderr or "Failed to parse" in stderr:
        return UsageError(f"there is no {package} {version}", step="environment", seen=lines, hint=suggestion)
    why, hint = f"cannot install {package} {version}", "is the package index reachable?"
    return CannotGoOn(why, step="environment", seen=lines, hint=hint)
