"""Environments for wheels: one a version in the user's cache, made once with uv, whoever asks first."""

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
"""Seconds that making one may take, waiting for another maker included."""


def cache_folder() -> Path:
    """Where environments are kept: ZCONFORM_CACHE_DIR, else the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else platformdirs.user_cache_path("zenoh-conformance")


def python_with(package: str, version: str, *, known: tuple[str, ...] = ()) -> Path:
    """The Python of an environment that holds `package` at `version`, made when it is not there yet.

    `known` are versions to offer when this one does not exist. UsageError: no such version, or none with a wheel;
    CannotGoOn: no network, no room, no uv.
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
        raise CannotGoOn(
            f"another process keeps making {folder.name}",
            step="environment",
            seen=f"{folder}.lock is held",
            hint="is an older run hanging?",
        ) from why
    except OSError as why:
        raise CannotGoOn(
            f"cannot make {folder}", step="environment", seen=str(why), hint=f"{CACHE_VARIABLE} names another folder"
        ) from why
    return python


def _make(folder: Path, python: Path, package: str, version: str, known: tuple[str, ...]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        _uv("venv", "--python", sys.executable, str(folder))
        _uv("pip", "install", "--python", str(python), "--only-binary", ":all:", f"{package}=={version}")
    except subprocess.CalledProcessError as why:
        shutil.rmtree(folder, ignore_errors=True)
        raise _refused(package, version, why.stderr, known) from why
    except subprocess.TimeoutExpired as why:
        shutil.rmtree(folder, ignore_errors=True)
        raise CannotGoOn(
            f"installing {package} {version} stalls", step="environment", hint="is the package index reachable?"
        ) from why
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


def _refused(package: str, version: str, said: str, known: tuple[str, ...]) -> CannotGoOn | UsageError:
    lines = [line.strip() for line in said.splitlines() if line.strip()][:4]
    if "has no usable wheels" in said or "has no wheels" in said:
        return UsageError(
            f"{package} {version} has no wheel for this platform",
            step="environment",
            seen=lines,
            hint=nearest(version, known),
        )
    if "there is no version of" in said or "Failed to parse" in said:
        return UsageError(
            f"there is no {package} {version}", step="environment", seen=lines, hint=nearest(version, known)
        )
    return CannotGoOn(
        f"cannot install {package} {version}", step="environment", seen=lines, hint="is the package index reachable?"
    )
