"""The documentation is built strictly: a link to nowhere and a page that no menu names are red."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long(20)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def build(tmp_path: Path):
    """Builds a copy of the documentation, with pages changed or added; returns the exit code, output and site."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"):
        shutil.copy(ROOT / name, tmp_path)

    def run(pages: dict[str, str] | None = None) -> tuple[int, str, Path]:
        for page, text in (pages or {}).items():
            with (tmp_path / "docs/pages" / page).open("a") as file:
                file.write(text)
        site = tmp_path / "site"
        command = [sys.executable, "-m", "properdocs", "build", "--strict"]
        where = ["-f", tmp_path / "docs/properdocs.yml", "-d", site]
        done = subprocess.run([*command, *where], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr, site

    return run


def test_it_is_built_with_the_pages_drawn_from_tables(build):
    code, said, site = build()
    assert code == 0, said
    assert "OPEN" in (site / "generated/messages.html").read_text()
    assert "cookie-echo" in (site / "generated/requirements.html").read_text()
    assert "zconform requirements" in (site / "generated/commands.html").read_text()


def test_a_link_to_nowhere_and_a_page_that_no_menu_names_are_red(build):
    """In one go, since each build takes seconds: both are warnings, and strict is red with any."""
    code, said, _ = build({"index.md": "\n[nowhere](nowhere.md)\n", "forgotten.md": "# Forgotten\n"})

    assert (code, "Aborted with 2 warnings in strict mode" in said) == (1, True), said
    assert "nowhere.md" in said
    assert "forgotten.md" in said
