"""Where something is to be written at the end, looked at before the work begins: hours of it are not to end in `permission denied`."""

from __future__ import annotations

import os
from pathlib import Path

from zenoh_harness.errors import CannotGoOn, UsageError


def check_folders(*folders: Path | None) -> None:
    """Raise CannotGoOn for a folder that could not be made or written into; None is one that nobody asked for."""
    for folder in folders:
        if folder is None:
            continue
        there = next(place for place in (folder.absolute(), *folder.absolute().parents) if _exists(place))
        why = "" if os.access(there, os.W_OK | os.X_OK) else "may not be written"
        why = why if there.is_dir() else "is no folder"
        if why:
            raise CannotGoOn(f"cannot write into {folder}", step="--out", seen=f"{there} {why}", hint="--out OTHER")


def check_files(*files: Path | None) -> None:
    """Raise UsageError for a file that could not be written; None is one that nobody asked for."""
    for file in files:
        if file is None:
            continue
        if not file.parent.is_dir():
            why, hint = f"there is no folder {file.parent}", "make it first"
        elif file.is_dir():
            why, hint = f"{file} is a folder", "name a file"
        elif not os.access(file if file.exists() else file.parent, os.W_OK):
            why, hint = f"{file if file.exists() else file.parent} may not be written", "name another file"
        else:
            continue
        raise UsageError(f"cannot write {file}", step="export", seen=why, hint=hint)


def _exists(place: Path) -> bool:
    """Whether it is there: below what is a file nothing is, and below what may not be read nobody knows."""
    try:
        return place.exists()
    except OSError:
        return False
