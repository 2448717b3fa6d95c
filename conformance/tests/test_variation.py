"""Circumstances: which rows a case runs, that they stay, and the fewest that keep it red."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from itertools import combinations, product
from types import SimpleNamespace

import pytest

from zenoh_conformance.cases.case import TOLD, Case, all_cases
from zenoh_conformance.cases.varied import CHANCES, Runner, run_rows
from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.variation import (
    QUICK_ROWS,
    Dimension,
    Variation,
    combinations_in,
    coverage_of,
    covering,
    describe,
    draw_rows,
    fewest,
    odd_of,
    row_with,
    rows_of,
)
from zenoh_conformance.reading.conversation import Conversation, Side

LANE = Dimension.of("lane", "in lane {}", 5, 1, 7)
KIND = Dimension.of("kind", "as {}", "put", "del")
SIZE = Dimension.of("size", "with {} bytes", 0, 1, 127, 128, is_ordered=True)
PAST = Dimension.of("past", "after {}", "nothing", "a query", "an interest")
FOUR = (LANE, KIND, SIZE, PAST)

VARIED = [case for case in all_cases().values() if case.varies]

FROZEN = {
    ("routing-varied/a-declaration-is-told-in-any-circumstances", 1): (46, "fdb270c7e43e"),
    ("routing-varied/a-publication-comes-in-any-circumstances", 1): (78, "54ca18a68721"),
    ("routing-varied/a-query-is-answered-in-any-circumstances", 1): (76, "34b40dcfaa11"),
    ("establishment-varied/a-changed-cookie-is-refused-in-any-circumstances", 1): (43, "6de77affd439"),
    ("establishment-varied/a-handshake-is-accepted-in-any-circumstances", 1): (50, "7ae37bdd8a9e"),
    ("routing-varied/a-declaration-is-told-in-any-circumstances", 2): (51, "190927405f83"),
    ("routing-varied/a-publication-comes-in-any-circumstances", 2): (104, "8c10980cd0cb"),
    ("routing-varied/a-query-is-answered-in-any-circumstances", 2): (102, "615c9ebdc8d5"),
    ("session-varied/a-chain-comes-whole-in-any-circumstances", 1): (31, "b3f34d4a13ec"),
    ("session-varied/a-chain-with-a-hole-is-discarded-in-any-circumstances", 1): (28, "286f1c1e5096"),
    ("routing-varied/a-publication-comes-in-any-circumstances", 3): (118, "9414f8d0e51d"),
    ("routing-varied/a-query-is-answered-in-any-circumstances", 3): (115, "6b3b3b142dd4"),
    ("establishment-varied/a-changed-cookie-is-refused-in-any-circumstances", 2): (57, "9d3c016edf1d"),
    ("establishment-init/its-own-zid-is-refused", 4): (18, "13d8bd20b52e"),
    ("establishment-init/an-unknown-version-is-unsupported", 4): (18, "13d8bd20b52e"),
    ("routing-varied/a-declaration-is-told-in-any-circumstances", 7): (103, "3d70f0cc7c0a"),
    ("routing-varied/a-publication-comes-in-any-circumstances", 7): (170, "cf9fb1f28253"),
    ("routing-varied/a-query-is-answered-in-any-circumstances", 7): (194, "3c0e41da423c"),
    ("session-varied/a-chain-comes-whole-in-any-circumstances", 7): (45, "8467f8809993"),
    ("session-varied/a-chain-with-a-hole-is-discarded-in-any-circumstances", 7): (42, "d6d975e593d0"),
}
"""A case and an edition to how many rows it had at depth full, and their hash.

Where those change, a value was added without an edition of its own.
"""


@pytest.mark.parametrize("strength", [2, 3])
def test_every_combination_stands_in_some_row(strength: int) -> None:
    rows = list(covering(FOUR, strength))
    wanted = {
        tuple(zip(some, values, strict=True))
        for some in combinations(range(4), strength)
        for values in product(*(FOUR[at].values for at in some))
    }

    assert {each for row in rows for each in combinations(enumerate(row), strength)} == wanted
    assert len(rows) < len(list(product(*(each.values for each in FOUR))))


def test_the_first_row_is_that_of_the_defaults_and_the_rows_are_the_same_again() -> None:
    assert next(covering(FOUR)) == (5, "put", 0, "nothing")
    assert list(covering(FOUR)) == list(covering(FOUR))


@pytest.mark.parametrize(
    "later",
    [
        (LANE, KIND, replace(SIZE, editions=(*SIZE.editions, (2, (16_384, 70_000)))), PAST),
        (*FOUR, Dimension("terms", "with {}", ((2, ("all", "S=0")),))),
    ],
    ids=["a value", "a dimension"],
)
def test_what_is_added_later_leaves_the_rows_as_they_were(later: tuple[Dimension, ...]) -> None:
    before, after = list(covering(FOUR)), list(covering(later))

    assert [row[:4] for row in after[: len(before)]] == before
    assert combinations_in(after) == combinations_in(list(product(*(each.values for each in later))))


@pytest.mark.parametrize(("case", "edition"), FROZEN, ids=str)
def test_the_rows_of_a_case_are_those_of_years_before(case: str, edition: int) -> None:
    dimensions, (count, digest) = all_cases()[case].varies, FROZEN[case, edition]
    there = [at for at, each in enumerate(dimensions) if each.editions[0][0] <= edition]
    rows = tuple(tuple(row[at] for at in there) for row in rows_of(dimensions, "full")[:count])

    assert digest == blake2b(repr(rows).encode(), digest_size=6).hexdigest()


def test_every_varied_case_has_rows_that_stay() -> None:
    assert {case.id.removesuffix(TOLD) for case in VARIED} == {case for case, _ in FROZEN}


@pytest.mark.parametrize("case", VARIED, ids=lambda case: case.id)
def test_a_short_run_has_the_first_rows_of_a_longer_one(case: Case) -> None:
    quick, full, nightly = (rows_of(case.varies, depth) for depth in ("quick", "full", "nightly"))

    assert quick == full[:QUICK_ROWS]
    assert combinations_in(full) == combinations_in(nightly)
    assert len(case.varies) < 3 or combinations_in(nightly) < combinations_in(nightly, 3)


@pytest.mark.parametrize("case", VARIED, ids=lambda case: case.id)
def test_a_full_run_has_every_pair_and_a_nightly_one_every_triple(case: Case) -> None:
    quick, full, nightly = (coverage_of(case.varies, depth) for depth in ("quick", "full", "nightly"))

    assert quick.there < quick.of == full.of == full.there
    assert (nightly.strength, nightly.there) == (3, nightly.of)


def test_only_a_seed_explores() -> None:
    assert draw_rows(FOUR, 0) == ()
    assert draw_rows(FOUR, 7) == draw_rows(FOUR, 7) != draw_rows(FOUR, 8)


@pytest.mark.parametrize(
    ("is_red", "says"),
    [
        (lambda row: row[0] == 7, "only in lane 7"),
        (lambda row: row[2] >= 127, "only with 127 bytes"),
        (lambda row: row[1] == "del" and row[3] == "a query", "only as del, after a query"),
        (lambda row: True, ""),
        (lambda row: False, "only in lane 7, as del, with 128 bytes, after a query"),
    ],
)
def test_the_fewest_circumstances_are_told(is_red, says: str) -> None:
    assert describe(FOUR, fewest(FOUR, (7, "del", 128, "a query"), is_red)) == says


CHANCY = Dimension.of("channel", "as {}", "reliable", "best effort", chancy=("best effort",))
"""What is said with best effort may be lost by a node that is busy."""


@pytest.mark.parametrize(
    ("value", "lost", "is_red"),
    [("reliable", 1, True), ("best effort", CHANCES - 1, False), ("best effort", CHANCES, True)],
)
def test_what_a_busy_node_may_lose_is_red_only_when_it_is_lost_each_time(value: str, lost: int, is_red: bool) -> None:
    times = iter([True] * lost)

    def function(_scene: object, v: Variation) -> None:
        if v[CHANCY] == value and next(times, False):
            raise Deviation(Finding(requirement="push/push-reaches-intersecting", sender=Side.RESPONDER))

    runner = Runner(function, (CHANCY,), SimpleNamespace(dialogues=[], conversation=Conversation()), {})

    assert (runner.run((value,)) is not None) is is_red


@pytest.mark.parametrize(("answers_late", "ends"), [(True, ", only in lane 7"), (False, "")])
def test_who_answers_too_late_for_brief_waits_alone_is_not_red_without_the_circumstance(
    answers_late: bool, ends: str
) -> None:
    lane = Dimension.of("lane", "in lane {}", 5, 7)
    scene = SimpleNamespace(dialogues=[], conversation=Conversation(), brief=False)

    def function(_scene: object, v: Variation) -> None:
        if v[lane] == 7 or scene.brief or not answers_late:
            raise Deviation(Finding(requirement="push/push-reaches-intersecting", sender=Side.RESPONDER, got="silence"))

    runner = Runner(function, (lane,), scene, {})
    found = runner.run((7,))

    assert found is not None
    assert runner.shrunk((7,), found, 1.0).cause == f"silence{ends}"
    assert scene.brief is False


def test_a_row_is_read_from_the_circumstances_that_are_not_the_default() -> None:
    row = (7, "put", 128, "a query")

    assert odd_of(FOUR, row) == (("lane", 7), ("size", 128), ("past", "a query"))
    assert row_with(FOUR, {"lane": "7", "size": "128", "past": "a query"}) == row


@pytest.mark.parametrize(
    ("odd", "why"), [({"lane": "9"}, "never 9"), ({"colour": "red"}, "no dimension is named colour")]
)
def test_a_circumstance_that_is_not_there_is_refused(odd: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        row_with(FOUR, odd)


@pytest.mark.parametrize("each", VARIED, ids=lambda each: each.id)
def test_every_row_can_be_written_and_read(each: Case) -> None:
    """`name=value; name=value`: no name has a sign of equality, no value a semicolon, and no two values of a dimension are alike."""
    assert not [one.name for one in each.varies if "=" in one.name or ";" in one.name]
    assert not [value for one in each.varies for value in map(str, one.values) if ";" in value]
    assert all(len({*map(str, one.values)}) == len(one.values) for one in each.varies)


@pytest.mark.parametrize(("seconds", "left"), [(0.1, (0, 0)), (1000.0, (3, 4))])
def test_circumstances_without_time_are_counted(seconds, left):
    dimensions, clock = (Dimension.of("lane", "in lane {}", 5, 1, 7, 6),), iter(range(1000))
    wire = SimpleNamespace(now=lambda: next(clock) * seconds, done=True)
    us = SimpleNamespace(wire=wire)
    scene = SimpleNamespace(dialogues=[us], conversation=Conversation(), left=(0, 0), fact=lambda _name, other: other)
    run_rows(lambda _scene, _v: None, dimensions, scene, {})
    assert scene.left == left
