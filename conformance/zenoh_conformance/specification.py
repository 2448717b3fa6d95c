"""The pages of the specification and their sections; and whether a newer text still says what it said.

The text itself is not ours and is not kept: a section is its place, its heading, and a digest of its words.
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
"""The revision whose requirements are written down here."""

PUBLISHED = f"https://spec.zenoh.io/spec/{REVISION}/"
"""Where its text stands; a page's `place` follows."""


class SpecificationError(Exception):
    """The pages, the requirements or their lock cannot be used: which file, which entry, which field, and why."""

    def __init__(self, file: str, entry: str, field: str, why: str) -> None:
        super().__init__(": ".join(part for part in (file, f"[{entry}]" if entry else "", field, why) if part))
        self.file, self.entry, self.field, self.why = file, entry, field, why


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a page."""

    page: str
    name: str
    """Unique on its page; the `#...` of a reference."""
    heading: str = ""
    """The line that begins it."""
    begins: str = ""
    """How its first line starts, where the extracted text lost the heading."""
    informative: str = ""
    """Why it needs no requirement of its own; empty when it needs one."""

    @property
    def ref(self) -> str:
        """`page#section`, as requirements cite it."""
        return f"{self.page}#{self.name}"

    def begins_with(self, line: str) -> bool:
        """Whether the section begins at this line of the text."""
        if self.begins:
            return line.strip().startswith(self.begins)
        return bool(self.heading) and line.strip() == self.heading


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page."""

    name: str
    """The first half of a requirement's id."""
    place: str
    """Where the published specification has it."""
    companion: bool = False
    """Not one of the five: its sections are named by us, and its text is not at hand for `digests`."""
    sections: tuple[Section, ...] = ()


@cache
def pages() -> Mapping[str, Page]:
    """Every page by name, in the order of the denominator: the five, then their companions."""
    text = resources.files("zenoh_conformance").joinpath("pages.toml").read_text(encoding="utf-8")
    return read_pages(text, "pages.toml")


def read_pages(text: str, file: str) -> dict[str, Page]:
    """The pages that a TOML text describes. Raises SpecificationError."""
    return {name: _page(file, name, shown) for name, shown in toml_table(text, file).items()}


def toml_table(text: str, file: str) -> dict[str, dict[str, object]]:
    """A TOML text all of whose top level entries are tables. Raises SpecificationError."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as bad:
        raise SpecificationError(file, "", "", f"not TOML: {bad}") from None
    for name, shown in table.items():
        if not isinstance(shown, dict):
            raise SpecificationError(file, name, "", "a table is expected")
    return table


def _page(file: str, name: str, text: Mapping[str, object]) -> Page:
    listed = text.get("sections")
    if surplus := set(text) - {"place", "companion", "sections"}:
        raise SpecificationError(file, name, min(surplus), "no such field of a page")
    if not isinstance(text.get("place"), str) or not isinstance(listed, list):
        raise SpecificationError(file, name, "place", "a page has a place and sections")
    sections = tuple(_section(file, name, each) for each in listed)
    if len({section.name for section in sections}) < len(sections):
        raise SpecificationError(file, name, "sections", "two sections bear one name")
    return Page(name=name, place=str(text["place"]), companion=bool(text.get("companion")), sections=sections)


def _section(file: str, page: str, text: object) -> Section:
    if not isinstance(text, dict) or not text.get("name"):
        raise SpecificationError(file, page, "sections", "a section is a table with a name")
    try:
        return Section(page=page, **text)
    except TypeError as bad:
        raise SpecificationError(file, page, f"sections.{text['name']}", str(bad)) from None


def sections() -> dict[str, Section]:
    """Every section of every page, by reference."""
    return {section.ref: section for page in pages().values() for section in page.sections}


def digests(folder: Path, known: Mapping[str, Page] | None = None) -> dict[str, str]:
    """The digest of each section of the five pages whose text lies in `folder`, one `<page>.txt` each, by reference.

    A section whose heading is not found is left out. Raises SpecificationError for a page that is not there.
    """
    found = {}
    for page in (known or pages()).values():
        if page.companion:
            continue
        file = folder / f"{page.name}.txt"
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as bad:
            raise SpecificationError(str(file), "", "", f"cannot be read: {bad}") from None
        found.update({section.ref: digest(words) for section, words in cut(page, text)})
    return found


def cut(page: Page, text: str) -> Iterator[tuple[Section, str]]:
    """Cut a page's text at its headings, which are looked for in their order."""
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
    """Of the words of a text: how they are broken into lines does not count."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


class Drift(Enum):
    """What became of a section in a newer text."""

    CHANGED = "changed"
    GONE = "gone"
    NEW = "not locked"


def drift(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, Drift]:
    """What differs between two texts, by section reference; both as `digests` gives them."""
    return {
        ref: Drift.GONE if ref not in now else Drift.NEW if ref not in then else Drift.CHANGED
        for ref in sorted(then.keys() | now.keys())
        if then.get(ref) != now.get(ref)
    }
