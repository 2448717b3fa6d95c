"""Versions in their own order: 1.9.0 before 1.10.0, and what is no version after those that are, as text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from packaging.version import InvalidVersion, Version


@lru_cache(maxsize=4096)
def version_key(version: str) -> tuple[Any, ...]:
    """What versions are sorted by; of several joined by `+` or ` / ` each counts, the first one first."""
    try:
        return (0, Version(version))
    except InvalidVersion:
        return (1, natural(version))


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key in which the numbers inside a text count as numbers."""
    parts = re.findall(r"\d+|\D+", text)
    return tuple((0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part) for part in parts)
