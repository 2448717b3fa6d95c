"""What a run is called: two runs have two names, and names sort as their runs began."""

from __future__ import annotations

import os
from hashlib import blake2b


def of_new(date: str, *about: object) -> str:
    """The name of a run that begins at `date` (as headers have it): `20260131T120000Z-9f2c41aa00d1`.

    What tells it from others of that second is of `about` and of chance; of `about` alone where SOURCE_DATE_EPOCH asks for
    the same file twice.
    """
    chance = "" if os.environ.get("SOURCE_DATE_EPOCH", "").isdigit() else os.urandom(16).hex()
    return of(date, *about, chance)


def of(date: str, *about: object) -> str:
    """The same of what is known: the same parts, the same name."""
    digest = blake2b("\x1f".join(map(str, about)).encode("utf-8", "surrogatepass"), digest_size=6)
    return f"{date.replace('-', '').replace(':', '')}-{digest.hexdigest()}"
