"""Versions in their own order: 1.9.0 before 1.10.0, and what is no version after those that are, as text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from packaging.version import InvalidVersion, Version


@lru_cache(maxsize=4096)
def version_key(version: str) -> tuple[Any, ...]:
    """What versions are sorted by; of several joined by `+` or ` / ` each counts, the first one first."""
    try:
        return (0, Version(version))
    except InvalidVersion:
        return (1, natural(version))


@lru_cache(maxsize=4096)
def version_order(version: str) -> str:
    """The order of `version_key` as text: what sorts tables by text sorts by this column as versions do."""
    try:
        found = Version(version)
    except InvalidVersion:
        return "1" + "".join(
            _number(part) if is_text == 0 else f"1{text}{END}" for is_text, part, text in natural(version)
        )
    release = re.sub(r"(\.0)+$", "", ".".join(map(str, found.release)))
    letter, number = found.pre or ("dev" if found.dev is not None and found.post is None else "", 0)
    post = "0" if found.post is None else _number(found.post)
    dev = "1" if found.dev is None else _number(found.dev)
    local = (_number(int(part)) if part.isdecimal() else f"-{part}{END}" for part in (found.local or "").split("."))
    return "".join([
        "0", _number(found.epoch), *(_number(int(part)) for part in release.split(".")), END, _PHASES[letter], _number(number),
        "1" if found.post is not None else "0", post, dev, *(local if found.local else ()), END,
    ])  # fmt: skip


END: Final = "\x1f"
"""Less than whatever a text goes on with."""
_PHASES: Final = {"dev": "0", "a": "1", "b": "2", "rc": "3", "": "4"}


def _number(number: int) -> str:
    """A number behind how many digits it has: as text it sorts as a number."""
    return f"0{len(str(number)):03}{number}"


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key in which the numbers inside a text count as numbers."""
    parts = re.findall(r"\d+|\D+", text)
    return tuple((0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part) for part in parts)
