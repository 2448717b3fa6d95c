"""Builds one badge per run, as SVG and as JSON for badge services."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from zenoh_conformance.judging.shares import Shares
from zenoh_conformance.judging.verdict import Exit
from zenoh_reports.pages import links
from zenoh_reports.plain.runs import LISTED, Run, shown

LABEL: Final = "zenoh conformance"
UNKNOWN: Final = "https://ADDRESS-OF-THIS-SITE"
"""What stands for the address of the site where no `--url` names it."""
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


def badge(run: Run, shares: Shares) -> Badge:
    """Return the badge of a run, with the share of what applies; an incomplete run is never green."""
    deviates = run.complete and run.exit is Exit.NOT_CONFORMING
    colour = "listed" if run.word == LISTED else "good" if run.green else "bad" if deviates else "dull"
    stated = f", {shares.main.judged} of {shares.main.applies} judged" if shares.main.applies else ""
    return Badge(LABEL, shown(f"{run.identity.version} {run.word}".strip(), 60) + stated, colour)


def markdown(run: Run, url: str = "") -> str:
    """Return the text that shows the badge in a README and links to the page of the run."""
    site = f"{url or UNKNOWN}/".replace("//", "/").replace(":/", "://")
    return f"[![{LABEL}]({site}{links.badge(run)}.svg)]({site}{links.run(run)})"


def endpoint(one: Badge) -> str:
    """Return the JSON that badge services read."""
    text = {"schemaVersion": 1, "label": one.label, "message": one.message, "color": _COLOURS[one.colour][0]}
    return json.dumps(text, ensure_ascii=True) + "\n"
