"""The pages and sections of the specification, and the differences between two of its texts.

The text is not ours and is not kept: a section has a place, a heading, and a digest of its words.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources
from pathlib import Path

REVISION = "1.0.0"
"""The revision of the requirements."""

PUBLISHED = f"https://spec.zenoh.io/spec/{REVISION}/"
"""The address of its text; a page's `place` follows."""


class SpecificationError(Exception):
    """A file of pages, requirements, errata or the lock cannot be used: file, entry, field, and why."""

    def __init__(self, file: str, entry: str, field: str, why: str) -> None:
        super().__init__(": ".join(part for part in (file, f"[{entry}]" if entry else "", field, why) if part))
        self.file, self.entry, self.field, self.why = file, entry, field, why


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of a page."""

    page: str
    name: str
    """Unique on its page; the `#...` of a reference."""
    heading: str = ""
    """The line that begins it."""
    begins: str = ""
    """The start of its first line, if the extracted text lacks the heading."""
    informative: str = ""
    """Why it needs no requirement of its own; empty when it needs one."""

    @property
    def ref(self) -> str:
        """`page#section`, as requirements cite it."""
        return f"{self.page}#{self.name}"

    def begins_with(self, line: str) -> bool:
        """Whether the section begins at this line."""
        if self.begins:
            return line.strip().startswith(self.begins)
        return bool(self.heading) and line.strip() == self.heading


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page."""

    name: str
    """The first half of a requirement's id."""
    place: str
    """The path in the published specification."""
    companion: bool = False
    """Not one of the five pages: we named its sections, and `digests` has no text of it."""
    sections: tuple[Section, ...] = ()


@cache
def pages() -> Mapping[str, Page]:
    """Every page by name: the five pages, then their companions."""
    text = resources.files("zenoh_conformance.spec").joinpath("pages.toml").read_text(encoding="utf-8")
    return read_pages(text, "pages.toml")


def read_pages(text: str, file: str) -> dict[str, Page]:
    """The pages that a TOML text describes. Raises SpecificationError."""
    return {name: _page(file, name, entry) for name, entry in toml_table(text, file).items()}


def toml_table(text: str, file: str) -> dict[str, dict[str, object]]:
    """Parse a TOML text whose top-level entries are all tables. Raises SpecificationError."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as bad:
        raise SpecificationError(file, "", "", f"not TOML: {bad}") from None
    for name, entry in table.items():
        if not isinstance(entry, dict):
            raise SpecificationError(file, name, "", "a table is expected")
    return table


def _page(file: str, name: str, entry: Mapping[str, object]) -> Page:
    listed = entry.get("sections")
    if surplus := set(entry) - {"place", "companion", "sections"}:
        raise SpecificationError(file, name, min(surplus), "no such field of a page")
    if not isinstance(entry.get("place"), str) or not isinstance(listed, list):
        raise SpecificationError(file, name, "place", "a page has a place and sections")
    sections = tuple(_section(file, name, section) for section in listed)
    if len({section.name for section in sections}) < len(sections):
        raise SpecificationError(file, name, "sections", "two sections bear one name")
    return Page(name=name, place=str(entry["place"]), companion=bool(entry.get("companion")), sections=sections)


def _section(file: str, page: str, entry: object) -> Section:
    if not isinstance(entry, dict) or not entry.get("name"):
        raise SpecificationError(file, page, "sections", "a section is a table with a name")
    try:
        return Section(page=page, **entry)
    except TypeError as bad:
        raise SpecificationError(file, page, f"sections.{entry['name']}", str(bad)) from None


def sections() -> dict[str, Section]:
    """Every section of every page, by reference."""
    return {section.ref: section for page in pages().values() for section in page.sections}


def digests(folder: Path, known: Mapping[str, Page] | None = None) -> dict[str, str]:
    """The digest of each section of the five pages, by reference; `folder` holds one `<page>.txt` for each page.

    Sections whose heading is missing are left out. Raises SpecificationError for a missing page.
    """
    digests = {}
    for page in (known or pages()).values():
        if page.companion:
            continue
        file = folder / f"{page.name}.txt"
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as bad:
            raise SpecificationError(str(file), "", "", f"cannot be read: {bad}") from None
        digests.update({section.ref: digest(words) for section, words in split_sections(page, text)})
    return digests


def split_sections(page: Page, text: str) -> Iterator[tuple[Section, str]]:
    """Split a page's text at its headings, which come in their order."""
    lines = text.splitlines()
    begins: list[tuple[int, Section]] = []
    for section in page.sections:
        after = begins[-1][0] + 1 if begins else 0
        at = next((at for at in range(after, len(lines)) if section.begins_with(lines[at])), None)
        if at is not None:
            begins.append((at, section))
    ends = [at for at, _ in begins[1:]] + [len(lines)]
    for (at, section), end in zip(begins, ends, strict=True):
        yield section, "\n".join(lines[at:end])


def digest(text: str) -> str:
    """The digest of the words of a text; line breaks do not count."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


class Drift(Enum):
    """The difference of a section in a newer text."""

    CHANGED = "changed"
    GONE = "gone"
    NEW = "not locked"


def drift(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, Drift]:
    """The differences between two texts, by section reference; both as `digests` returns them."""
    return {
        ref: Drift.GONE if ref not in now else Drift.NEW if ref not in then else Drift.CHANGED
        for ref in sorted(then.keys() | now.keys())
        if then.get(ref) != now.get(ref)
    }
