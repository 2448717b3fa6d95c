"""Read the entries of a file of known deviations with their line numbers, so that messages can point at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.files.faults import FileFault
from zenoh_harness.files.known import ListedDeviation
from zenoh_harness.files.list_text import HEAD
from zenoh_harness.run import known_deviations

DUE: Final = "due"
"""Prefix of a `reason` or an `owner` that still has to be written."""


@dataclass(frozen=True, slots=True)
class LineRange:
    """A range of lines of a file, from 1, both ends included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"lines {self.first}-{self.last}" if self.last > self.first else f"line {self.first}"


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry, with the file and the lines in which it stands."""

    entry: ListedDeviation
    file: Path
    number: int
    """Position among the entries of the file, from 1."""
    lines: LineRange | None
    """None if the file does not write its entries as `[[deviation]]` blocks."""

    @property
    def place(self) -> str:
        """`lines 3-12 of x.known.toml`."""
        return f"{self.lines or f'entry {self.number}'} of {self.file}"

    @property
    def reason_is_due(self) -> bool:
        """Whether the reason or the owner is still to be written."""
        return any(field.lower().startswith(DUE) for field in (self.entry.reason, self.entry.owner))


def read_entries(path: Path) -> list[PlacedEntry]:
    """Read and check the entries of a file. Raises FileFault for a wrong one."""
    entries = known_deviations.read([path])
    blocks = find_blocks(path.read_text(encoding="utf-8-sig").splitlines())
    ranges: Sequence[LineRange | None] = blocks if len(blocks) == len(entries) else [None] * len(entries)
    pairs = enumerate(zip(entries, ranges, strict=True), 1)
    placed = [PlacedEntry(entry, path, number, lines) for number, (entry, lines) in pairs]
    for item in placed:
        _check_quarantine(item)
    return placed


def _check_quarantine(placed: PlacedEntry) -> None:
    """Raise FileFault for a quarantine without an owner or an end date."""
    if placed.entry.verdict is Verdict.FLAKY and not (placed.entry.owner and placed.entry.expires):
        where = f"{placed.file}: entry {placed.number}"
        raise FileFault(
            where, None, "a quarantine (verdict 'flaky') needs 'owner' and 'expires'", hint="expires = 2027-01-31"
        )


def find_blocks(lines: Sequence[str]) -> list[LineRange]:
    """Return the lines of each `[[deviation]]` block, without the blank lines and comments that follow it."""
    heads = [number for number, line in enumerate(lines, 1) if HEAD.fullmatch(line)]
    ends = [*(head - 1 for head in heads[1:]), len(lines)][: len(heads)]
    return [LineRange(head, _last(lines, head, end)) for head, end in zip(heads, ends, strict=True)]


def _last(lines: Sequence[str], head: int, end: int) -> int:
    while end > head and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end
