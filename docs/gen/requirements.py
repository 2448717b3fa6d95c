"""Generates the page of all requirements from the TOML files, one table per page of the specification."""

from __future__ import annotations

from collections.abc import Iterator

from zenoh_conformance.spec.requirement import Requirement, requirements
from zenoh_conformance.spec.specification import REVISION
from zenoh_conformance.spec.specification import pages as specification_pages

HEAD = f"""# Requirements

The requirements of revision {REVISION} of the specification in our own words. Ids are permanent. The level LAYOUT marks a row
of a table or a field of a diagram. `zconform requirements show ID` prints one in full.
"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place of the page and its Markdown."""
    by_page: dict[str, list[Requirement]] = {name: [] for name in specification_pages()}
    for each in requirements().values():
        by_page[each.page].append(each)
    tables = [_page(name, found) for name, found in by_page.items() if found]
    yield "generated/requirements.md", "\n".join([HEAD, *tables])


def _page(name: str, found: list[Requirement]) -> str:
    rows = [f"| `{each.id.partition('/')[2]}` | {each.level} | {each.binds} | {_cell(each.says)} |" for each in found]
    return "\n".join([f"## {name}", "", "| id | level | binds | says |", "|---|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
