"""Minimise the input of a stored finding while it shows the same finding: first parts of the message go, then bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from zenoh_fuzz.mutators.segmented import segments_of
from zenoh_harness.errors import UsageError
from zenoh_harness.files import campaigns
from zenoh_harness.files.campaigns import FindingRow

from .judge_process import JudgeProcess
from .report import explain_finding

Same = Callable[[bytes], bool]
"""Whether an input shows the same finding."""

MOST: Final = 4000
"""Inputs that are tried, at most."""


class _SpentError(Exception):
    """The limit of inputs is reached."""


def minimise_finding(place: Path) -> FindingRow:
    """Minimise and explain the finding in a folder, and store it there and in the campaign's ledger.

    Raises UsageError if the input no longer shows the finding.
    """
    row = campaigns.read_finding(place)
    found: dict[bytes, FindingRow] = {}
    with JudgeProcess(row.oracle, row.targets, dict(row.versions)) as judge:

        def same(data: bytes) -> bool:
            hit = next((one for one in judge(data) if one.signature == row.signature), None)
            if hit is not None:
                found[data] = hit
            return hit is not None

        data = bytes.fromhex(row.input)
        if not same(data):
            raise UsageError(
                f"{place}: the input does not show this finding",
                step="minimise",
                hint="another version of the target may have fixed it: promote --as fixed",
            )
        best = smallest(data, same)
    standing: campaigns.Standing = "minimised" if row.standing == "new" else row.standing
    small = replace(
        found[best],
        input=best.hex(),
        count=row.count,
        standing=standing,
        embargo=row.embargo,
        versions=row.versions,
    )
    small = explain_finding(small, str(place))
    keep(place, small)
    return small


def keep(place: Path, row: FindingRow) -> None:
    """Store a changed finding in its folder, and in the campaign's ledger if there is one."""
    folder = place.resolve().parent.parent
    campaigns.keep_finding(folder, row)
    ledger = campaigns.read_ledger(folder)
    if row.id in ledger:
        ledger[row.id] = row
        campaigns.write_ledger(folder, ledger)


def smallest(data: bytes, same: Same, *, most: int = MOST) -> bytes:
    """Return the smallest input found that shows the same finding; `data` itself if it does not."""
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
    """Return a smaller input with the same finding, or None."""
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
    """Yield the input without each part of its messages, largest first, with lengths recomputed and unchanged."""
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
                continue  # not a segment of its own
    if rest:
        yield data[:1] + segments.join()


def _plainer(data: bytes, check: Same) -> bytes:
    """Return an input of the same length, with zeros where any byte will do."""
    for at in range(1, min(len(data), 200)):
        candidate = data[:at] + b"\0" + data[at + 1 :]
        if data[at] and check(candidate):
            data = candidate
    return data
