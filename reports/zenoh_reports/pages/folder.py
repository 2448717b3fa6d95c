"""The output folder: what we wrote there before may go, what is somebody else's may not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files.places import check_folders

LIST: Final = "site-files.json"
"""Names all files of a site, so that the next one can take them away."""


def write(out: Path, files: Mapping[str, bytes], *, force: bool = False) -> None:
    """Make the folder hold exactly these files, besides what others put there with `force`.

    Raises UsageError for a folder that holds what is not ours, CannotGoOn for one that cannot be written.
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
    """The files that an earlier site left in the folder. Raises as `write`, and before a site is built."""
    check_folders(out)
    ours = written_before(out)
    strangers = foreign(out, ours)
    if strangers and not force:
        raise UsageError(
            f"{out} holds {len(strangers)} files that no report wrote, {strangers[0]} for one", step="--out",
            hint="name another folder, or say --force to write beside them",
        )  # fmt: skip
    return ours


def written_before(out: Path) -> set[str]:
    """The files of an earlier site in this folder, by its own list; names that lead elsewhere are not believed."""
    try:
        listed = json.loads((out / LIST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    names = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    inside = out.resolve()
    return {name for name in names if (out / name).resolve().is_relative_to(inside)}


def foreign(out: Path, ours: set[str]) -> list[str]:
    """Files in the folder that an earlier site did not list."""
    if not out.is_dir():
        return []
    every = (path.relative_to(out).as_posix() for path in sorted(out.rglob("*")) if not path.is_dir())
    return [name for name in every if name not in ours and name != LIST]
