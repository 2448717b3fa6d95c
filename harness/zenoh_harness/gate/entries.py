"""The entries of a known-deviations file with the lines where they stand, so that a person can be told which to delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zenoh_conformance.verdict import Verdict
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.known import ListedDeviation
from zenoh_harness.files.list_text import HEAD
from zenoh_harness.run import lists

DUE: Final = "due"
"""How a `reason` or an `owner` begins that somebody still has to write."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A block of lines of a file, from 1, the last one included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"lines {self.first}-{self.last}" if self.last > self.first else f"line {self.first}"


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry and its place."""

    entry: ListedDeviation
    file: Path
    number: int
    """Which of the file's entries, from 1."""
    lines: Lines | None
    """None where entries are not written as `[[deviation]]` blocks."""

    @property
    def place(self) -> str:
        """`lines 3-12 of x.known.toml`."""
        return f"{self.lines or f'entry {self.number}'} of {self.file}"

    @property
    def reason_is_due(self) -> bool:
        """Whether nobody said yet why the deviation is accepted, or who looks after it."""
        return any(text.lower().startswith(DUE) for text in (self.entry.reason, self.entry.owner))


def read(path: Path) -> list[PlacedEntry]:
    """The entries of a file, held against what there is. Raises FileFault for one that is wrong."""
    found = lists.read([path])
    places = blocks(path.read_text(encoding="utf-8-sig").splitlines())
    lines: Sequence[Lines | None] = places if len(places) == len(found) else [None] * len(found)
    placed = [
        PlacedEntry(*row) for row in zip(found, [path] * len(found), range(1, len(found) + 1), lines, strict=True)
    ]
    for one in placed:
        _hold_quarantine(one)
    return placed


def _hold_quarantine(one: PlacedEntry) -> None:
    """An unsteady verdict is excused for a time, and by somebody."""
    if one.entry.verdict is Verdict.FLAKY and not (one.entry.owner and one.entry.expires):
        where = f"{one.file}: entry {one.number}"
        raise FileFault(
            where, None, "a quarantine (verdict 'flaky') needs 'owner' and 'expires'", hint="expires = 2027-01-31"
        )


def blocks(lines: Sequence[str]) -> list[Lines]:
    """Where each `[[deviation]]` block stands: from its head to its last line that is neither blank nor a comment."""
    heads = [number for number, line in enumerate(lines, 1) if HEAD.fullmatch(line)]
    ends = [*(head - 1 for head in heads[1:]), len(lines)][: len(heads)]
    return [Lines(head, _last(lines, head, end)) for head, end in zip(heads, ends, strict=True)]


def _last(lines: Sequence[str], head: int, end: int) -> int:
    while end > head and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end
