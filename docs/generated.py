"""Adds pages that are generated from the project's own tables: what `docs/gen/*.py` yield as (place, Markdown).

To add one, write a file there with a function ``pages()`` that yields such pairs, and list its places in the menu of
``properdocs.yml``. ARCHITECTURE.md and CONTRIBUTING.md become pages too; the glossary at the
end of the latter is a page of its own.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

from properdocs.config.defaults import ProperDocsConfig
from properdocs.structure.files import File, Files
from properdocs.structure.pages import Page

from zenoh_conformance.judging.verdict import Verdict

HERE = Path(__file__).parent
COPIED = {"architecture.md": "ARCHITECTURE.md", "contributing.md": "CONTRIBUTING.md"}
"""Page to the file at the top of the checkout from which it is copied."""

LINKS = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "docs/pages/": "",
}
"""The beginning of a link in those files to its beginning among the pages."""

GLOSSARY = re.compile(r"(?<=^## Glossary\n\n).*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""The text of the section of CONTRIBUTING.md that is the page `glossary.md`."""


BEGIN = re.compile(r"^## Begin here\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def _drawn(script: Path) -> Iterator[tuple[str, str]]:
    spec = importlib.util.spec_from_file_location(f"docs_gen_{script.stem}", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield from module.pages()


def _begin_here() -> str:
    """Return the section of the README with which a user begins, its links among the pages. Raises ValueError if it is gone."""
    section = BEGIN.search((HERE.parent / "README.md").read_text(encoding="utf-8"))
    if section is None:
        raise ValueError("README.md has no section Begin here")
    return _among_pages(section[0])


def _among_pages(text: str) -> str:
    for theirs, ours in LINKS.items():
        text = text.replace(f"]({theirs}", f"]({ours}")
    return text.replace("](contributing.md#glossary)", "](glossary.md)")


def _copied() -> Iterator[tuple[str, str]]:
    for place, name in COPIED.items():
        text = _among_pages((HERE.parent / name).read_text(encoding="utf-8"))
        if place == "contributing.md":
            section = GLOSSARY.search(text)
            if section is None:
                raise ValueError("CONTRIBUTING.md has no section Glossary")
            yield "glossary.md", f"# Glossary\n\n{section[0]}"
            text = GLOSSARY.sub("The terms of this project are on [a page of their own](glossary.md).\n\n", text)
        yield place, text


def generated() -> dict[str, str]:
    """Return every generated page by its place. Raises ValueError if two have the same place."""
    found: dict[str, str] = {}
    drawn = (page for script in sorted((HERE / "gen").glob("*.py")) for page in _drawn(script))
    for place, text in (*drawn, *_copied()):
        if place in found:
            raise ValueError(f"two pages at {place}")
        found[place] = text
    return found


def on_files(files: Files, config: ProperDocsConfig) -> Files:
    """Add the generated pages; the builder calls this after it has listed docs/pages."""
    for place, text in generated().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: ProperDocsConfig, files: Files) -> str:
    """Replace `{{ verdicts }}` by the table of verdicts and `{{ begin here }}` by that section of the README; called for each page."""
    if "{{ begin here }}" in markdown:
        markdown = markdown.replace("{{ begin here }}", _begin_here())
    rows = "\n".join(f"| `{verdict.value}` | {verdict.meaning} |" for verdict in Verdict)
    return markdown.replace("{{ verdicts }}", rows)
