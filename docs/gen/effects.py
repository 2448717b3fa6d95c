"""The page of what a live node makes of what we send, from the table that `python -m zenoh_harness.foreign.live effects` fills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from zenoh_harness.foreign.live.effects import committed

HEAD = """# Understood by a live node

For each field and each extension of the declarations two messages that differ in nothing else were sent to {witness}.
*Its log* tells how its reading of the two differs; *effect* tells who noticed: an application on the node, another
session to which it forwards, or we, in what it answers. An arrow goes from the first message to the second. Where the
column of effects is empty, the node keeps the difference to itself: what it did with it stands in its log alone.

`python -m zenoh_harness.foreign.live effects` fills the table again.
"""


def pages() -> Iterator[tuple[str, str]]:
    """The place of the page and its Markdown."""
    table = committed()
    sections = []
    for kind, rows in groupby(table["rows"], key=lambda row: row["row"].partition(".")[0]):
        lines = [f"## {kind}", "", "| row | | its log | effect |", "|---|---|---|---|"]
        sections.append("\n".join([*lines, *map(_row, rows), ""]))
    yield "generated/effects.md", "\n".join([HEAD.format(witness=table["witness"]), *sections])


def _row(row: Mapping[str, str]) -> str:
    cells = [
        f"`{row['row']}`",
        row.get("doc", ""),
        _code(row.get("log", "")),
        row.get("why") or _code(row.get("seen", "")),
    ]
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
