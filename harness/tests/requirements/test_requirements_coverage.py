"""Each requirement is covered, owed or excused; each check is shown a sample that breaks it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from zenoh_conformance.spec.coverage import (
    BEGIN,
    END,
    Coverage,
    CoverageStatus,
    ceiling,
    cover,
    insert_table,
    remove_marks,
    table,
)
from zenoh_conformance.spec.errata import errata
from zenoh_conformance.spec.requirement import Requirements, read_requirements, requirements
from zenoh_conformance.wire.declare import snake
from zenoh_harness.errors import UsageError
from zenoh_harness.requirements import witnesses
from zenoh_vectors.loader import Vector, VectorError

SAMPLE = """
[layout]
level = "LAYOUT"
fact = "framing"
binds = "both"
ref = ["page#a"]
says = "A length comes first."
[behaviour]
level = "MUST"
binds = "both"
ref = ["page#a"]
says = "An answer comes."
"""
OWED = 'owed = "law"\n'


def sample(more: str = "") -> Requirements:
    return read_requirements({"page.toml": SAMPLE + more})


LAYOUT = ("vector", "frame/minimal", ["page/layout"])
LAW = ("law", "law/answers", ["page/behaviour"])


@cache
def real() -> Coverage:
    return witnesses.coverage()


def test_each_requirement_is_covered_owed_or_excused() -> None:
    """And what names a requirement names one that exists; and no mark outlives its reason."""
    assert real().faults() == []


def ceiling_faults(coverage: Coverage, most: int) -> list[str]:
    """The fault of a number of owed requirements that differs from the ceiling `most`, if it does."""
    owed = coverage.count_owed().total()
    if owed > most:
        return [f"{owed} requirements are owed and {most} admitted: cover what is new; the number only falls"]
    return [f"{owed} requirements are owed and {most} admitted: lower owed.ceiling"] if owed < most else []


def test_no_more_is_owed_than_is_admitted() -> None:
    """`requirements/owed.ceiling` is the committed number. It only falls: who covers something lowers it."""
    assert ceiling_faults(real(), ceiling()) == []


def test_one_more_that_is_owed_is_red_and_so_is_a_number_left_too_high() -> None:
    one = cover(sample(OWED), [LAYOUT])

    assert ceiling_faults(one, 1) == []
    assert ceiling_faults(one, 0) == [
        "1 requirements are owed and 0 admitted: cover what is new; the number only falls"
    ]
    assert ceiling_faults(one, 2) == ["1 requirements are owed and 2 admitted: lower owed.ceiling"]


def test_each_layout_fact_is_covered_or_owed_by_a_vector() -> None:
    """Behaviour is owed something else: what a codec alone cannot break, no vector can judge."""
    owed = {each.owed for each in requirements().values() if each.by_codec and each.owed}
    assert owed <= {"vector"}


def test_a_vector_of_a_message_holds_that_message() -> None:
    """A vector that claims a fact of OPEN has an OPEN in it, or refuses one."""
    strange = [
        f"{vector.id}: {ident}"
        for vector in witnesses.vectors()
        for ident in vector.covers
        if ident in requirements() and not holds(vector, ident)
    ]
    assert strange == []


def mentions(vector: Vector, message: str) -> bool:
    """Whether a vector contains a message of this class: in its bytes, its meaning or its refusal."""
    path = snake(message)
    holders = (vector, *(step for _, step in vector.steps))
    parts = [segment.path.split(".") for holder in holders for segment in holder.segments]
    return any(path in (part.partition("[")[0] for part in names) for names in parts)


def holds(vector: Vector, ident: str) -> bool:
    fact = requirements()[ident].fact
    return fact is None or not fact.message or mentions(vector, fact.message)


def test_each_erratum_of_a_vector_is_known() -> None:
    """By phrase, and by the alias that it has or has not."""
    text = {(each.id, each.alias or "") for vector in witnesses.vectors() for each in vector.errata}
    assert text <= {(each.id, each.alias) for each in errata().values()}


def test_all_covered_is_no_fault() -> None:
    """The good sample."""
    coverage = cover(sample(), [LAYOUT, LAW])
    assert coverage.faults() == []
    assert [each.id for each in coverage.standing(CoverageStatus.COVERED)] == ["page/layout", "page/behaviour"]


def test_an_uncovered_one_is_a_fault() -> None:
    """Neither covered, nor owed, nor excused."""
    assert cover(sample(), [LAYOUT]).faults() == ["page/behaviour: neither covered, nor owed, nor excused"]
    assert cover(sample(OWED), [LAYOUT]).faults() == []
    assert cover(sample('unobservable = "why"\n'), [LAYOUT]).faults() == []


def test_a_vector_does_not_cover_behaviour() -> None:
    """Bytes that mean something are no conduct."""
    claim = ("vector", "frame/minimal", ["page/behaviour"])
    assert cover(sample(), [LAYOUT, claim]).faults() == ["page/behaviour: neither covered, nor owed, nor excused"]
    assert cover(sample("codec = true\n"), [LAYOUT, claim]).faults() == []


@pytest.mark.parametrize("kind", ["vector", "law", "case", "model"])
def test_a_witness_of_nothing_is_a_fault(kind: str) -> None:
    """What names a requirement that does not exist is named itself."""
    coverage = cover(sample(), [LAYOUT, LAW, (kind, "some", ["page/behavior"])])
    assert coverage.faults() == [f"{kind} some: no requirement is called page/behavior"]


def test_an_owed_one_that_is_covered_is_a_fault() -> None:
    """The mark is unmarked with the covering, so that the number falls."""
    [fault] = cover(sample(OWED), [LAYOUT, LAW]).faults()
    assert fault.startswith("page/behaviour: is covered meanwhile")


def test_a_case_does_not_cover_a_layout() -> None:
    """A whole codec with that one fact changed must be noticed, which takes a vector."""
    assert cover(sample(), [("case", "some", ["page/layout"]), LAW]).faults() == [
        "page/layout: neither covered, nor owed, nor excused"
    ]


def test_a_former_id_still_covers() -> None:
    """A rename leaves what names the old id valid."""
    assert cover(sample('aliases = ["page/conduct"]'), [LAYOUT, ("law", "l", ["page/conduct"])]).faults() == []


def test_marks_are_struck() -> None:
    """From the named requirements, and from no other."""
    text = SAMPLE + OWED
    assert remove_marks(text, ["behaviour"]) == SAMPLE
    assert remove_marks(text, ["layout", "behavior"]) == text


def test_the_table_is_placed_between_its_marks() -> None:
    """Twice is as good as once; without marks it is refused."""
    once = insert_table(f"before\n{BEGIN}old\n{END}after\n", "rows\n")
    assert once == f"before\n{BEGIN}\nrows\n\n{END}after\n" == insert_table(once, "rows\n")
    with pytest.raises(ValueError, match="no place for the table"):
        insert_table("before\nafter\n", "rows\n")


def test_the_documentation_has_the_table_of_today() -> None:
    """`zconform requirements update` writes it."""
    document = (Path(__file__).parents[3] / "docs/pages/coverage.md").read_text(encoding="utf-8")
    assert document == insert_table(document, table(real()))


def test_owed_is_counted_by_kind() -> None:
    """One more owed is one more than admitted."""
    assert cover(sample(), []).count_owed().total() == 0
    assert cover(sample(OWED), []).count_owed() == {"law": 1}


def test_a_kind_that_there_is_not_is_refused() -> None:
    """A slip of ours, not of the data."""
    with pytest.raises(ValueError, match="'lore' is none of vector, law, case, model"):
        cover(sample(), [("lore", "some", [])])


def test_the_table_counts() -> None:
    """A line a page and one for all; levels, kinds and standings as columns."""
    lines = table(cover(sample(OWED), [LAYOUT])).splitlines()
    assert lines[2] == "| page | 1 | 0 | 0 | 0 | 1 | 2 | 1 | 0 | 0 | 0 | 1 | 1 | 0 |"
    assert lines[3] == "| **all** | 1 | 0 | 0 | 0 | 1 | 2 | 1 | 0 | 0 | 0 | 1 | 1 | 0 |"
    assert len(lines[0].split("|")) == len(lines[1].split("|")) == len(lines[2].split("|"))


def test_a_bad_vector_file_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Named with file, id and field, exit code 2."""

    def load() -> None:
        raise VectorError("open.json", "open/minimal", "bytes", "differ")

    monkeypatch.setattr(witnesses, "load", load)
    with pytest.raises(UsageError, match=r"open\.json: open/minimal: bytes: differ"):
        witnesses.coverage()
