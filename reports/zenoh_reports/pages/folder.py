"""Writes the output folder: files of an earlier report may be deleted, other files may not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files.writable import check_folders

LIST: Final = "site-files.json"
"""The list of all files of a site, so that the next report can delete them."""


def write(out: Path, files: Mapping[str, bytes], *, force: bool = False) -> None:
    """Write these files and delete those of an earlier report; with `force` other files stay.

    Raises UsageError if the folder contains other files, CannotGoOn if it cannot be written.
    """
    ours = check(out, force=force)
    listed = json.dumps(sorted(files), indent=1) + "\n"
    try:
        for name in sorted(ours - files.keys()):
            (out / name).unlink(missing_ok=True)
        for name, data in {**files, LIST: listed.encode()}.items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    except OSError as why:
        raise CannotGoOn(f"the site cannot be written: {why}", step="--out") from why
    for folder in sorted((path for path in out.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def check(out: Path, *, force: bool = False) -> set[str]:
    """Return the files of an earlier report in the folder. Raises as `write` does, before a site is built."""
    check_folders(out)
    ours = written_before(out)
    strangers = foreign(out, ours)
    if strangers and not force:
        raise UsageError(
            f"{out} contains {len(strangers)} files that no report wrote, for example {strangers[0]}",
            step="--out",
            hint="name another folder, or add --force to keep them and write anyway",
        )
    return ours


def written_before(out: Path) -> set[str]:
    """Return the files on an earlier report's list; names outside the folder are ignored."""
    try:
        listed = json.loads((out / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    names = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    inside = out.resolve()
    return {name for name in names if (out / name).resolve().is_relative_to(inside)}


def foreign(out: Path, ours: set[str]) -> list[str]:
    """Return the files in the folder that no earlier report listed."""
    if not out.is_dir():
        return []
    every = (path.relative_to(out).as_posix() for path in sorted(out.rglob("*")) if not path.is_dir())
    return [name for name in every if name not in ours and name != LIST]
