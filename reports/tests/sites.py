"""Sites for tests: made of folders, read as links, and asked for at the command line."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from zenoh_harness.cli import main
from zenoh_reports.pages.build import build
from zenoh_reports.pages.site import Report
from zenoh_reports.plain import runs


def site_of(*folders: Path, **more: Any) -> dict[str, bytes]:
    """Every file of the site of these folders."""
    read, unread = runs.load(runs.found(folders))
    return build(Report(read, unread, **more))


def dated(folder: Path, date: str) -> Path:
    """Change the date in the header of a run, and return its folder."""
    file = folder / "results.jsonl"
    header, rest = file.read_text().split("\n", 1)
    file.write_text(json.dumps({**json.loads(header), "date": date}) + "\n" + rest)
    return folder


class Links(HTMLParser):
    """The links, ids and inline styles of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links, self.ids, self.styles = [], set(), []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.links += [told[name] for name in ("href", "src") if told.get(name)]
        if told.get("id"):
            assert told["id"] not in self.ids, f"id {told['id']} twice"
            self.ids.add(told["id"])
        self.styles += [name for name in told if name == "style" or name.startswith("on")]


def parsed(data: bytes) -> Links:
    """A page, read."""
    found = Links()
    found.feed(data.decode())
    return found


def run_report(*arguments: str) -> int:
    """The exit code of `zconform report`."""
    with pytest.raises(SystemExit) as left:
        main(["report", *arguments])
    return int(left.value.code or 0)
