"""The page: what it says, that the same rows make the same bytes, that it escapes what a target said, and how it looks to a browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from zenoh_reports.pages.site import Run, pages, targets, write

HOSTILE = "<script>alert(1)</script>"


def row(requirement: str, verdict: str, cause: str = "") -> dict[str, Any]:
    return {
        "page": requirement.partition("/")[0], "requirement": requirement, "level": "MUST", "says": "It holds.",
        "target": "node", "version": "1", "verdict": verdict, "judgements": 1, "cause": cause,
    }  # fmt: skip


ROWS = [row("query/a", "pass"), row("query/b", "fail", HOSTILE), row("push/c", "not-observed")]
RUN = Run(
    reach="exec:node",
    name="node",
    version="1",
    complete=False,
    why="it was interrupted; 3 checks were pending",
    embargoed=2,
)


def test_targets_are_counted_worst_first() -> None:
    assert targets(ROWS) == [{"name": "node 1", "counts": {"fail": 1, "pass": 1, "not-observed": 1}}]


def test_requirements_stand_under_their_page() -> None:
    assert [(page["name"], [entry["id"] for entry in page["requirements"]]) for page in pages(ROWS)] == [
        ("push", ["push/c"]),
        ("query", ["query/a", "query/b"]),
    ]


def test_the_same_rows_make_the_same_bytes(tmp_path: Path) -> None:
    assert write(tmp_path / "a", [RUN], ROWS).read_bytes() == write(tmp_path / "b", [RUN], ROWS).read_bytes()


def test_what_a_target_said_is_escaped(tmp_path: Path) -> None:
    text = write(tmp_path, [RUN], ROWS).read_text()

    assert HOSTILE not in text
    assert "&lt;script&gt;" in text


def test_an_incomplete_run_and_an_embargo_are_told(tmp_path: Path) -> None:
    text = write(tmp_path, [RUN], ROWS).read_text()

    assert "3 checks were pending" in text
    assert "2 findings" in text


@pytest.mark.needs("browser")
def test_a_browser_shows_it(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    page = write(tmp_path, [RUN], ROWS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            tab = browser.new_page()
            faults: list[str] = []
            tab.on("pageerror", lambda fault: faults.append(str(fault)))
            tab.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
            tab.goto(page.as_uri())
            verdicts = tab.locator("tbody .v").all_inner_texts()
            heading = tab.locator("h1").inner_text()
        finally:
            browser.close()

    assert heading == "Zenoh conformance"
    assert verdicts.count("fail") == 2
    assert faults == []
