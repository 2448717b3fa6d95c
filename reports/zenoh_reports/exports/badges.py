"""Builds one badge per run, as SVG and as JSON for badge services."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.judging.verdict import Exit
from zenoh_reports.plain.runs import LISTED, Run, shown

LABEL: Final = "zenoh conformance"
_COLOURS: Final = {
    "good": ("brightgreen", "#1a6b2f"),
    "listed": ("yellow", "#7a5200"),
    "bad": ("red", "#a3171c"),
    "dull": ("lightgrey", "#5a5a5a"),
}
WIDTH: Final = 6.6
"""Average width of a character in pixels."""


@dataclass(frozen=True, slots=True)
class Badge:
    """The text and colour of a badge."""

    label: str
    message: str
    colour: str
    """One of `_COLOURS`."""

    @property
    def fill(self) -> str:
        """The colour of the right half."""
        return _COLOURS[self.colour][1]

    @property
    def widths(self) -> tuple[int, int]:
        """The widths of both halves in pixels."""
        return round(len(self.label) * WIDTH) + 12, round(len(self.message) * WIDTH) + 12


def badge(run: Run) -> Badge:
    """Return the badge of a run; an incomplete run is never green."""
    deviates = run.complete and run.exit is Exit.NOT_CONFORMING
    colour = "listed" if run.word == LISTED else "good" if run.green else "bad" if deviates else "dull"
    return Badge(LABEL, shown(f"{run.identity.version} {run.word}".strip(), 60), colour)


def endpoint(one: Badge) -> str:
    """Return the JSON that badge services read."""
    text = {"schemaVersion": 1, "label": one.label, "message": one.message, "color": _COLOURS[one.colour][0]}
    return json.dumps(text, ensure_ascii=True) + "\n"
