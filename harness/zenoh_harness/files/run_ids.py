"""Run ids: unique names of runs, which sort by the time when the runs began."""

from __future__ import annotations

import os
from hashlib import blake2b


def of_new(date: str, *about: object) -> str:
    """Return the id of a run that begins at `date` (in the format of a header), such as `20260131T120000Z-9f2c41aa00d1`.

    The second part is a digest of `about` and of random bytes, which distinguish runs of the same second; with
    SOURCE_DATE_EPOCH, for reproducible runs, it is a digest of `about` alone.
    """
    chance = "" if os.environ.get("SOURCE_DATE_EPOCH", "").isdigit() else os.urandom(16).hex()
    return of(date, *about, chance)


def of(date: str, *about: object) -> str:
    """Return the id that `date` and `about` determine, without random bytes."""
    digest = blake2b("\x1f".join(map(str, about)).encode("utf-8", "surrogatepass"), digest_size=6)
    return f"{date.replace('-', '').replace(':', '')}-{digest.hexdigest()}"
