"""Check that output can be written before the work begins: a run of hours must not end with `permission denied`."""

from __future__ import annotations

import os
from pathlib import Path

from zenoh_harness.errors import CannotGoOn, UsageError


def check_folders(*folders: Path | None) -> None:
    """Raise CannotGoOn if a folder cannot be created or written into; None is skipped."""
    for folder in folders:
        if folder is None:
            continue
        there = next(place for place in (folder.absolute(), *folder.absolute().parents) if _exists(place))
        why = "" if os.access(there, os.W_OK | os.X_OK) else "may not be written"
        why = why if there.is_dir() else "is no folder"
        if why:
            raise CannotGoOn(f"cannot write into {folder}", step="--out", seen=f"{there} {why}", hint="--out OTHER")


def make_parents(file: Path) -> None:
    """Make the folder of a file. Raises UsageError if it cannot be made."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        hint = "name another file"
        raise UsageError(
            f"cannot make the folder {file.parent}", step="export", seen=str(why.strerror), hint=hint
        ) from why


def check_files(*files: Path | None) -> None:
    """Raise UsageError if a file cannot be written; None is skipped."""
    for file in files:
        if file is None:
            continue
        if not file.parent.is_dir():
            why, hint = f"there is no folder {file.parent}", "make it first"
        elif file.is_dir():
            why, hint = f"{file} is a folder", "name a file"
        elif why := _refusal(file):
            hint = "name another file"
        else:
            continue
        raise UsageError(f"cannot write {file}", step="export", seen=why, hint=hint)


def _refusal(file: Path) -> str:
    """Return why a file cannot be written; empty if it can. A new one is created and removed again."""
    there = file if file.exists() else file.parent
    if not os.access(there, os.W_OK):
        return f"{there} may not be written"
    try:
        if not file.exists():
            file.touch()
            file.unlink()
    except OSError as why:
        return str(why.strerror)
    return ""


def _exists(place: Path) -> bool:
    """Return whether a path exists; False below a file, and below a folder that cannot be read."""
    try:
        return place.exists()
    except OSError:
        return False
