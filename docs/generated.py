"""Adds the pages that are drawn from the project's own tables: what `docs/gen/*.py` yield as (place, Markdown).

A new one is a file there with a function ``pages()`` that yields pairs; its places are listed in the menu of
``properdocs.yml``. The project's own README-like files become pages too, so that they are written once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from properdocs.config.defaults import ProperDocsConfig
from properdocs.structure.files import File, Files
from properdocs.structure.pages import Page

from zenoh_conformance.verdict import MEANS

HERE = Path(__file__).parent
COPIED = {"architecture.md": "ARCHITECTURE.md", "contributing.md": "CONTRIBUTING.md"}
"""Page to the file at the top of the checkout that it is."""

LINKS = {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md", "README.md": "index.md"}
"""How those files name each other, and what that is among the pages."""


def _drawn(script: Path) -> Iterator[tuple[str, str]]:
    spec = importlib.util.spec_from_file_location(f"docs_gen_{script.stem}", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield from module.pages()


def _copied() -> Iterator[tuple[str, str]]:
    for place, name in COPIED.items():
        text = (HERE.parent / name).read_text(encoding="utf-8")
        for theirs, ours in LINKS.items():
            text = text.replace(f"]({theirs}", f"]({ours}")
        yield place, text


def generated() -> dict[str, str]:
    """Every page that is not written in docs/pages, by its place. ValueError when two claim one place."""
    found: dict[str, str] = {}
    drawn = (page for script in sorted((HERE / "gen").glob("*.py")) for page in _drawn(script))
    for place, text in (*drawn, *_copied()):
        if place in found:
            raise ValueError(f"two pages at {place}")
        found[place] = text
    return found


def on_files(files: Files, config: ProperDocsConfig) -> Files:
    """Called by the builder once it has listed docs/pages."""
    for place, text in generated().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: ProperDocsConfig, files: Files) -> str:
    """Called by the builder for each page: where it asks for the verdicts, they stand as the harness has them."""
    rows = "\n".join(f"| `{verdict.value}` | {text} |" for verdict, text in MEANS.items())
    return markdown.replace("{{ verdicts }}", rows)
