"""Generates the page of effects on a live node, from the table that `python -m zenoh_harness.foreign.live effects` writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from zenoh_harness.foreign.live.effects import effects_table

HEAD = """# Effects on a live node

For each field and each extension of the declarations, two messages that differ in nothing else were sent to {witness}.
*Log* shows how the node's log differs; *effect* shows where the difference was observed: in an application on the node,
in another session to which the node forwards, or in its answer to the harness. An arrow goes from the first message to
the second. If the column *effect* is empty, only the log shows a difference.

`python -m zenoh_harness.foreign.live effects` writes the table again.
"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place of the page and its Markdown."""
    table = effects_table()
    sections = []
    for kind, rows in groupby(table["rows"], key=lambda row: row["row"].partition(".")[0]):
        lines = [f"## {kind}", "", "| row | | log | effect |", "|---|---|---|---|"]
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
