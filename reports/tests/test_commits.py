"""The commit log alone: which rows count, whoever wrote them in whatever order."""

from __future__ import annotations

from itertools import permutations

import pytest

from zenoh_reports.pipeline.commits import (
    BASE,
    COVERS,
    DENOMINATOR,
    OF,
    OLD,
    REPLACES,
    RUN,
    CommitLog,
    CommitRow,
    better,
)  # fmt: skip

pytestmark = pytest.mark.needs("spark")


def run(commit: str, name: str, version: int = 1) -> CommitRow:
    return CommitRow(commit, RUN, name, "2026-01-01", version, 3)


def derived(commit: str, covers: str, base: str = "", of: str = "") -> list[CommitRow]:
    rows = [CommitRow(commit, DENOMINATOR, "d"), *([CommitRow(commit, BASE, base)] if base else [])]
    return [*rows, *(CommitRow(commit, COVERS, each) for each in covers), *(CommitRow(commit, OF, each) for each in of)]


def test_of_a_run_that_two_wrote_the_whole_one_counts_and_the_other_is_outdated() -> None:
    rows = [run("a", "x", 5), run("b", "x", 9), run("b", "y"), run("c", "x", 9)]
    for order in permutations(rows):
        log = CommitLog(order)
        assert (log.runs["x"].commit, log.runs["y"].commit) == ("c", "b")
        assert sorted(log.outdated) == [("a", "x"), ("b", "x")]
        assert [row.name for row in better(log, [run("d", "x", 9), run("d", "z"), run("d", "y", 2)])] == ["z", "y"]


def test_what_was_merged_counts_where_it_was_merged_and_what_came_meanwhile_stays() -> None:
    merged = [run("m", "x"), run("m", "y"), *(CommitRow("m", REPLACES, each) for each in ("a", OLD))]
    log = CommitLog([run(OLD, "x", 0), run("a", "y"), run("b", "z"), *merged])

    assert log.live == ("b", "m")
    assert {name: row.commit for name, row in log.runs.items()} == {"x": "m", "y": "m", "z": "b"}
    assert log.outdated == []


def test_the_derived_tables_that_cover_the_most_count_and_go_on_from_each_other() -> None:
    rows = [
        run("a", "x"),
        run("b", "y"),
        *derived("p", "a", of="12"),
        *derived("q", "b", "p", "23"),
        *derived("r", "b", of="9"),
    ]
    found = CommitLog(rows).derived

    assert found is not None
    assert (found.chain, found.covers, found.newest) == (("p", "q"), {"a", "b"}, {"1": "p", "2": "q", "3": "q"})


def test_derived_tables_whose_base_is_not_shown_yet_do_not_count() -> None:
    """A store that lists late shows the second commit before the first."""
    rows = [run("a", "x"), run("b", "y"), *derived("q", "b", "p", "23"), *derived("r", "a", of="9")]
    found = CommitLog(rows).derived

    assert found is not None and found.chain == ("r",)
    assert CommitLog([run("a", "x")]).derived is None
