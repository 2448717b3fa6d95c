"""A newer text of the specification: which sections say something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from zenoh_conformance.spec.lock import lock
from zenoh_conformance.spec.specification import (
    Drift,
    Page,
    Section,
    SpecificationError,
    digests,
    drift,
    sections,
    split_sections,
)

PAGE = Page(
    name="page",
    place="",
    sections=(
        Section(page="page", name="intro", heading="Title"),
        Section(page="page", name="first", heading="Wire Format"),
        Section(page="page", name="lost", begins="An opaque"),
        Section(page="page", name="second", heading="Wire Format"),
    ),
)
TEXT = "Title\nhello\n  Wire Format\none two\nAn opaque thing\nWire Format\nthree\n"


def of(tmp_path: Path, text: str) -> dict[str, str]:
    (tmp_path / "page.txt").write_text(text, encoding="utf-8")
    return digests(tmp_path, {"page": PAGE})


def test_a_page_is_cut_at_its_headings() -> None:
    """In their order, so that two sections of one heading are told apart."""
    assert {section.name: words.split() for section, words in split_sections(PAGE, TEXT)} == {
        "intro": ["Title", "hello"],
        "first": ["Wire", "Format", "one", "two"],
        "lost": ["An", "opaque", "thing"],
        "second": ["Wire", "Format", "three"],
    }


def test_the_same_words_are_no_drift(tmp_path: Path) -> None:
    """However they are broken into lines."""
    assert drift(of(tmp_path, TEXT), of(tmp_path, TEXT.replace("one two", "one\n\n   two"))) == {}


@pytest.mark.parametrize(
    ("was", "becomes", "what"),
    [
        ("one two", "one too", {"page#first": Drift.CHANGED}),
        ("three", "three\nfour", {"page#second": Drift.CHANGED}),
        ("An opaque", "A", {"page#lost": Drift.GONE, "page#first": Drift.CHANGED}),
    ],
)
def test_other_words_are_drift_of_their_section(tmp_path: Path, was: str, becomes: str, what: dict[str, Drift]) -> None:
    """And of no other."""
    assert drift(of(tmp_path, TEXT), of(tmp_path, TEXT.replace(was, becomes))) == what


def test_a_section_that_no_lock_knows_is_told(tmp_path: Path) -> None:
    """So that none stays without a digest."""
    assert set(drift({}, of(tmp_path, TEXT)).values()) == {Drift.NEW}


def test_a_missing_page_is_named(tmp_path: Path) -> None:
    """With its file."""
    with pytest.raises(SpecificationError, match=r"page\.txt: cannot be read"):
        digests(tmp_path, {"page": PAGE})


def test_every_section_of_the_five_pages_has_its_digest() -> None:
    """The lock knows what each of them said; companion pages have sections of our naming and no text."""
    texts = {ref for ref, section in sections().items() if section.heading or section.begins}
    assert set(lock().sections) == texts
