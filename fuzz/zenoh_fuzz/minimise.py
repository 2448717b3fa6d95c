"""The smallest input that is the same finding: parts of the message go first, then bytes; never another finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from .mutators.segmented import segments_of

Same = Callable[[bytes], bool]
"""Whether an input is the same finding."""

MOST: Final = 4000
"""Inputs that are tried at most."""


class _SpentError(Exception):
    """No more inputs are tried."""


def smallest(data: bytes, same: Same, *, most: int = MOST) -> bytes:
    """The smallest input found that is the same finding; `data` itself when it is not one any more."""
    tried: set[bytes] = {data}

    def check(candidate: bytes) -> bool:
        if candidate in tried:
            return False
        if len(tried) > most:
            raise _SpentError
        tried.add(candidate)
        return same(candidate)

    best = data
    try:
        while (smaller := _step(best, check)) is not None:
            best = smaller
        best = _plainer(best, check)
    except _SpentError:
        pass
    return best


def _step(data: bytes, check: Same) -> bytes | None:
    """A smaller input that is the same finding; None when none was found."""
    for candidate in _candidates(data):
        if len(candidate) < len(data) and check(candidate):
            return candidate
    return None


def _candidates(data: bytes) -> Iterator[bytes]:
    yield from _without_parts(data)
    size = max(len(data) // 2, 1)
    while size:
        for begin in range(1, len(data), size):
            yield data[:begin] + data[begin + size :]
        size //= 2


def _without_parts(data: bytes) -> Iterator[bytes]:
    """The input without each part of its messages, the largest parts first, with lengths made true and left as they are."""
    found = segments_of(data)
    if found is None:
        return
    segments, rest = found
    owners = {".".join(path.split(".")[:depth]) for path in segments.paths() for depth in range(1, path.count(".") + 2)}
    for path in sorted(owners, key=lambda one: (one.count("."), one)):
        for recompute in (True, False):
            try:
                yield data[:1] + segments.cut(path, recompute=recompute).join() + rest
            except (LookupError, ValueError):
                continue  # it has no place of its own
    if rest:
        yield data[:1] + segments.join()


def _plainer(data: bytes, check: Same) -> bytes:
    """The same length, with zeros where any byte will do."""
    for at in range(1, min(len(data), 200)):
        candidate = data[:at] + b"\0" + data[at + 1 :]
        if data[at] and check(candidate):
            data = candidate
    return data
