"""Badges: one a target, as SVG and as the JSON that badge services read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.verdict import Exit
from zenoh_reports.plain.runs import LISTED, Run, shown

LABEL: Final = "zenoh conformance"
_COLOURS: Final = {
    "good": ("brightgreen", "#1a6b2f"), "listed": ("yellow", "#7a5200"), "bad": ("red", "#a3171c"), "dull": ("lightgrey", "#5a5a5a"),
}  # fmt: skip
WIDTH: Final = 6.6
"""Pixels of a character, on the average of the fonts that browsers take."""


@dataclass(frozen=True, slots=True)
class Badge:
    """What a badge says."""

    label: str
    message: str
    colour: str
    """One of `_COLOURS`."""

    @property
    def fill(self) -> str:
        """The colour of its right half."""
        return _COLOURS[self.colour][1]

    @property
    def widths(self) -> tuple[int, int]:
        """Of both halves, in pixels."""
        return round(len(self.label) * WIDTH) + 12, round(len(self.message) * WIDTH) + 12


def badge(run: Run) -> Badge:
    """A run as a badge: what is not complete is never green."""
    deviates = run.complete and run.exit is Exit.NOT_CONFORMING
    colour = "listed" if run.word == LISTED else "good" if run.green else "bad" if deviates else "dull"
    return Badge(LABEL, shown(f"{run.identity.version} {run.word}".strip(), 60), colour)


def endpoint(one: Badge) -> str:
    """As badge services read it."""
    text = {"schemaVersion": 1, "label": one.label, "message": one.message, "color": _COLOURS[one.colour][0]}
    return json.dumps(text, ensure_ascii=True) + "\n"
