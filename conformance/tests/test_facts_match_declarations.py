"""The facts of the pages and the declarations of the codec say the same, each being written down without the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

import zenoh_conformance.reading.codec  # noqa: F401 - importing it declares every message
from zenoh_conformance.spec.errata import errata
from zenoh_conformance.spec.requirement import Fact, Requirement, requirements
from zenoh_conformance.spec.specification import sections
from zenoh_conformance.wire import registry
from zenoh_conformance.wire.declare import Declaration

DECLARED = {registry.of(cls).name: registry.of(cls) for cls in registry.MESSAGES}
FACTS = {ident: each for ident, each in requirements().items() if each.fact and each.fact.message}
LABELS = {"u16le": "u16 LE", "rest": "u8, the rest", "timestamp": "Timestamp", "encoding": "Encoding", "zid": "ZenohID"}
"""How the pages write a type, and how the codec does."""
BY_ERRATUM = {"TsStack", "ShmAnswer"}
"""Extensions that the baseline has and the text has not: timestamp-stack-extension, open-shm-answer-is-bytes."""
BODIES = ("put|del", "query", "reply|err", "declaration", "messages", "wireexpr")
"""Types that are told as messages of their own."""


def kept(fact: Fact, declared: Declaration) -> bool:
    """Whether the declaration says what the fact says; what it has no word for is true."""
    match fact.fact:
        case "id":
            return declared.id == fact.mid
        case "flag":
            high, _, low = (fact.bits or str(fact.bit)).partition(":")
            return all(declared.cells[7 - bit] == fact.flag for bit in range(int(low or high), int(high) + 1))
        case "reserved" if not fact.field:
            high, _, low = fact.bits.partition(":")
            return all(declared.cells[7 - bit] == "X" for bit in range(int(low or high), int(high) + 1))
        case "extension":
            return (fact.ext, fact.ext_id, fact.enc, fact.mandatory) in list(extensions(declared))
        case "order":
            names = [field.name for field in dataclasses.fields(declared.cls)]
            return [name for name in fact.order if name != "packed"] == [name for name in names if name in fact.order]
        case "field" if not fact.ext:
            return fact.field in ("packed", "zid") or field_kept(fact, declared)
    return True


def field_kept(fact: Fact, declared: Declaration) -> bool:
    found = {field.name: field for field in declared.fields}.get(fact.field.partition(".")[0].removesuffix("[]"))
    if found is None or found.wire is None or "." in fact.field or fact.wire in BODIES or "[]" in fact.field:
        return found is not None
    return found.wire.label == LABELS.get(fact.wire, fact.wire)


def extensions(declared: Declaration) -> Iterator[tuple[str, int, str, bool]]:
    """Name, id, encoding and M of each extension that a declaration knows."""
    for each in map(registry.of, declared.extensions or ()):
        yield each.name, each.id & 0xF, ("unit", "z64", "zbuf")[each.id >> 5 & 3], bool(each.id & 0x10)


def differs_by_erratum(each: Requirement) -> bool:
    """The codec follows the baseline's width where an erratum says so."""
    assert each.fact
    return each.fact.fact == "field" and bool(each.erratum)


@pytest.mark.parametrize("ident", FACTS)
def test_the_declaration_says_what_the_page_says(ident: str) -> None:
    """Ids, flag bits, reserved bits, extensions with encoding and M, order, and types of fields."""
    fact = FACTS[ident].fact
    assert fact
    assert fact.message in DECLARED, f"{ident}: no message is declared as {fact.message}"
    assert kept(fact, DECLARED[fact.message]) or differs_by_erratum(FACTS[ident])


@pytest.mark.parametrize(
    "wrong",
    [
        Fact(fact="id", message="Open", mid=3),
        Fact(fact="flag", message="Open", flag="T", bit=5),
        Fact(fact="reserved", message="Open", bits="6:5"),
        Fact(fact="order", message="Open", order=("initial_sn", "lease")),
        Fact(fact="order", message="Open", order=("lease", "cake")),
        Fact(fact="field", message="Open", field="lease", wire="z32"),
        Fact(fact="field", message="Open", field="leash", wire="z64"),
        Fact(fact="extension", message="Open", ext="Auth", ext_id=4, enc="zbuf", mandatory=False),
        Fact(fact="extension", message="Open", ext="Auth", ext_id=3, enc="unit", mandatory=False),
        Fact(fact="extension", message="Open", ext="Auth", ext_id=3, enc="zbuf", mandatory=True),
        Fact(fact="extension", message="Open", ext="Oath", ext_id=3, enc="zbuf", mandatory=False),
    ],
    ids=lambda fact: f"{fact.fact}-{fact.flag}{fact.field}{fact.ext}{'-'.join(fact.order)}",
)
def test_a_wrong_fact_is_noticed(wrong: Fact) -> None:
    """Each kind of fact has been red."""
    assert not kept(wrong, DECLARED[wrong.message])


def told(kind: str, message: str) -> set[object]:
    facts = [each.fact for each in FACTS.values() if each.fact and each.fact.fact == kind]
    return {fact.flag if kind == "flag" else fact.ext or True for fact in facts if fact.message == message}


@pytest.mark.parametrize("name", DECLARED)
def test_every_declaration_has_its_requirements(name: str) -> None:
    """Nothing is declared that no requirement speaks of: id, header cells, extensions."""
    declared = DECLARED[name]
    assert told("id", name), f"{name}: no requirement tells its id"
    assert told("reserved", name) or "X" not in declared.cells, f"{name}: no requirement tells its reserved bits"
    cells = {cell for cell in declared.cells if cell not in ("X", "Z")}
    assert cells <= told("flag", name)
    assert {ext for ext, *_ in extensions(declared)} - BY_ERRATUM <= told("extension", name)


@pytest.mark.parametrize("cls", [*registry.MESSAGES, *registry.EXTENSIONS], ids=lambda cls: cls.__qualname__)
def test_every_declaration_cites_a_section_that_exists(cls: type) -> None:
    """So that a reader finds the page; what no page has is cited from the errata."""
    assert registry.of(cls).ref in {*sections(), *(f"errata#{ident}" for ident in errata())}
