"""The requirements are well formed, refer to what exists, and stay; each check is shown a sample that breaks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from zenoh_conformance.spec.errata import AS_WRITTEN, Stance, by_name, errata, read_errata
from zenoh_conformance.spec.lock import lock, read_lock, write_lock
from zenoh_conformance.spec.requirement import Level, Requirements, read_requirements, requirements
from zenoh_conformance.spec.specification import Page, Section, SpecificationError, pages, read_pages

SAMPLE = """
[cookie-echo]
level = "MUST"
binds = "initiator"
ref = ["page#cookie"]
says = "OpenSyn returns the InitAck cookie unchanged."
owed = "law"
"""
PAGES = {"page": Page(name="page", place="", sections=(Section(page="page", name="cookie"),))}


def read(text: str = SAMPLE) -> Requirements:
    return read_requirements({"page.toml": text})


def faults_of_references(requirements: Requirements, pages: Mapping[str, Page], errata: Iterable[str]) -> list[str]:
    """The faults of references: sections without a requirement, and unknown sections and errata."""
    known = {section.ref: section for page in pages.values() for section in page.sections}
    cited = {ref for requirement in requirements.values() for ref in requirement.ref}
    errata = set(errata)
    faults = [
        f"{ref}: no requirement stands in this section"
        for ref, section in known.items()
        if ref not in cited and not section.informative
    ]
    for requirement in requirements.values():
        ident, refs = requirement.id, requirement.ref
        faults += [f"{ident}: ref: there is no section {ref}" for ref in refs if ref not in known]
        faults += [
            f"{ident}: erratum: there is none called {name}" for name in requirement.erratum if name not in errata
        ]
        if not refs[0].startswith(f"{requirement.page}#"):
            faults.append(f"{ident}: ref: {refs[0]} comes first, which is on another page than the id says")
    touched = {name for requirement in requirements.values() for name in requirement.erratum}
    return faults + [f"erratum {name}: touches no requirement" for name in sorted(errata - touched)]


def test_everything_normative_is_written_down() -> None:
    """Several hundred; each level occurs; each page has its own."""
    known = requirements()
    assert len(known) > 600
    assert {each.level for each in known.values()} == set(Level)
    assert {each.page for each in known.values()} == set(pages())


def test_a_requirement_is_read() -> None:
    """All that a block says arrives."""
    echo = read()["page/cookie-echo"]
    assert (echo.level, echo.binds, echo.ref, echo.owed) == ("MUST", "initiator", ("page#cookie",), "law")
    assert echo.keyword
    assert not echo.by_codec


@pytest.mark.parametrize(
    ("was", "becomes", "why"),
    [
        ('level = "MUST"\n', "", r"page.toml: \[cookie-echo\]: level: is missing"),
        ('"MUST"', '"OUGHT"', "level: 'OUGHT' is none of MUST"),
        ('"initiator"', '"nobody"', "binds: 'nobody' is none of"),
        ('"law"', '"luck"', "owed: 'luck' is none of"),
        ('"law"', '"vector"', "owed: a vector cannot judge"),
        ('owed = "law"', 'owed = "law"\nunobservable = "no"', "owed: what is unobservable cannot be owed"),
        ('owed = "law"', "owed = 3", "owed: 3 is no text"),
        ('owed = "law"', 'owned = "law"', "owned: no such field of a requirement"),
        ('owed = "law"', "bit = 3", "fact: is missing beside bit"),
        ('"MUST"', '"LAYOUT"', "fact: a LAYOUT requirement tells its fact"),
        ("unchanged.", "unchanged", "says: is one sentence"),
        ('["page#cookie"]', "[1]", "ref: .* is no text or list of texts"),
        ("[cookie-echo]", "[Cookie_Echo]", "id: an id is words"),
        ("[cookie-echo]", "[cookie-echo]\n[cookie-echo]", "page.toml: not TOML"),
        (SAMPLE, "x = 1", r"page.toml: \[x\]: a table is expected"),
    ],
)
def test_a_bad_block_names_file_id_and_field(was: str, becomes: str, why: str) -> None:
    """Whatever is wrong is told with file, id, field."""
    assert was in SAMPLE
    with pytest.raises(SpecificationError, match=why):
        read(SAMPLE.replace(was, becomes))


def test_references_hold() -> None:
    """Every section has a requirement, every reference a section, every erratum a requirement."""
    assert faults_of_references(requirements(), pages(), errata()) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (SAMPLE.replace("page#cookie", "page#biscuit"), "page/cookie-echo: ref: there is no section page#biscuit"),
        (SAMPLE.replace("page#cookie", "page#biscuit"), "page#cookie: no requirement stands in this section"),
        (SAMPLE.replace("page#cookie", "other#cookie"), "page/cookie-echo: ref: other#cookie comes first, which is on"),
        (SAMPLE + 'erratum = "typo"', "page/cookie-echo: erratum: there is none called typo"),
        (SAMPLE, "erratum slip: touches no requirement"),
    ],
)
def test_a_reference_to_nothing_is_told(text: str, fault: str) -> None:
    """In either direction."""
    assert any(shown.startswith(fault) for shown in faults_of_references(read(text), PAGES, ["slip"]))


def test_an_informative_section_needs_none() -> None:
    """What only introduces is excused with a reason."""
    section = Section(page="page", name="intro", informative="only a heading")
    known = {"page": replace(PAGES["page"], sections=(*PAGES["page"].sections, section))}
    assert faults_of_references(read(), known, []) == []


def test_what_is_locked_is_there() -> None:
    """No id of the revision has vanished, and none has changed its level."""
    assert lock().faults(requirements()) == []


def test_the_lock_is_what_would_be_written() -> None:
    """Written anew it is the same text, so that no new requirement goes unlocked."""
    assert dict(lock().levels) == {ident: each.level for ident, each in sorted(requirements().items())}
    known = write_lock(requirements(), lock().sections, draft=lock().draft)
    assert read_lock(known, "again") == lock()


def test_a_vanished_id_is_told() -> None:
    """Unless an alias keeps it."""
    locked = read_lock(write_lock(read(), {}), "sample.lock")
    assert locked.faults(read()) == []
    [fault] = locked.faults(read(SAMPLE.replace("cookie-echo", "echo-cookie")))
    assert fault.startswith("page/cookie-echo: vanished")
    renamed = read(SAMPLE.replace("cookie-echo", "echo-cookie") + 'aliases = ["page/cookie-echo"]')
    assert locked.faults(renamed) == []
    assert renamed["page/cookie-echo"].id == "page/echo-cookie"


def test_a_changed_level_is_told() -> None:
    """A MUST does not become a SHOULD within a revision."""
    locked = read_lock(write_lock(read(), {}), "sample.lock")
    assert locked.faults(read(SAMPLE.replace("MUST", "SHOULD"))) == [
        "page/cookie-echo: MUST became SHOULD; what is locked does not change"
    ]


def test_a_final_lock_takes_nothing_new() -> None:
    """A draft does."""
    more = SAMPLE + SAMPLE.replace("cookie-echo", "another")
    assert read_lock(write_lock(read(), {}), "draft").faults(read(more)) == []
    [fault] = read_lock(write_lock(read(), {}, draft=False), "final").faults(read(more))
    assert fault.startswith("page/another: is not in the lock")


def test_an_alias_is_no_id_in_use() -> None:
    """Else one id would mean two."""
    both = SAMPLE + SAMPLE.replace("cookie-echo", "another") + 'aliases = ["page/cookie-echo"]'
    with pytest.raises(SpecificationError, match="is an id that is in use"):
        read(both)


def test_the_nearest_ids_are_offered() -> None:
    """For a slip of the pen, and for the right phrase under the wrong page."""
    assert requirements().nearest("session-establishment/cooky-echo")[0] == "session-establishment/cookie-echo"
    assert requirements().nearest("push/cookie-echo") == ["session-establishment/cookie-echo"]


def test_every_erratum_is_there() -> None:
    """By phrase and by alias; the reading that verdicts name."""
    assert {each.stance for each in errata().values()} == set(Stance)
    assert by_name("ZD-53") is by_name("init-ack-without-size-means-defaults")
    assert by_name("ZD-53").reading == "as erratum:init-ack-without-size-means-defaults" != AS_WRITTEN
    with pytest.raises(KeyError):
        by_name("ZD-99")


ERRATUM = '[slip]\nalias = "ZD-1"\ntext = "a"\nbaseline = "b"\nevidence = ["wire"]\nstance = "PIN"\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ERRATUM.replace("PIN", "PINT"), r"e.toml: \[slip\]: stance: 'PINT' is none of"),
        (ERRATUM.replace('text = "a"\n', ""), "text: is missing"),
        (ERRATUM + "more = 1", "more: no such field of an erratum"),
        (ERRATUM.replace('["wire"]', "[]"), "evidence: a list of at least one"),
        (ERRATUM + ERRATUM.replace("slip", "slap"), r"\[slap\]: alias: ZD-1 is that of slip"),
    ],
)
def test_a_bad_erratum_names_file_id_and_field(text: str, why: str) -> None:
    """As with requirements."""
    assert read_errata(ERRATUM, "e.toml")["slip"].alias == "ZD-1"
    assert read_errata(ERRATUM.replace('alias = "ZD-1"\n', ""), "e.toml")["slip"].alias == ""
    with pytest.raises(SpecificationError, match=why):
        read_errata(text, "e.toml")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[p]\nplace = "x"\n', r"p.toml: \[p\]: place: a page has a place and sections"),
        ('[p]\nplace = "x"\nsections = [{ heading = "a" }]', "sections: a section is a table with a name"),
        ('[p]\nplace = "x"\nsections = [{ name = "a", mane = "b" }]', "sections.a: .*mane"),
        ('[p]\nplace = "x"\nsections = [{ name = "a" }, { name = "a" }]', "two sections bear one name"),
        ('[p]\nplaice = "x"\nsections = []', "plaice: no such field of a page"),
    ],
)
def test_a_bad_page_names_file_page_and_field(text: str, why: str) -> None:
    """As with requirements."""
    with pytest.raises(SpecificationError, match=why):
        read_pages(text, "p.toml")
