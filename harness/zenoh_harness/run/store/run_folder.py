"""The folder of a run: nobody else writes there meanwhile, and nothing of an earlier run is left in it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zenoh_harness.errors import CannotGoOn, UsageError
from zenoh_harness.files import evidence


@contextmanager
def claimed(out: Path, *, keep: bool = False) -> Iterator[Path]:
    """The folder, made, cleared of earlier evidence (unless `keep`), and ours until the end. UsageError when another run has it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(out / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as why:
        raise CannotGoOn(f"cannot write into {out}", step="make the results folder", seen=str(why)) from why
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as why:
            raise UsageError(
                f"another run writes into {out}", step="claim the results folder", hint="--out OTHER"
            ) from why
        if not keep:
            shutil.rmtree(out / evidence.FOLDER, ignore_errors=True)
        yield out
        (out / ".lock").unlink(missing_ok=True)
    finally:
        os.close(handle)
