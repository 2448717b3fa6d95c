"""What the shipped list says of zenoh-rust shows on the oldest, a middle and the newest release, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from zenoh_conformance.judging.verdict import Key, Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.files import known, results

RELEASES = ("1.0.0", "1.5.1", "1.10.2")
ELSEWHERE = ("interop/", "law/", "models/")
"""Checks that take a pair of nodes, or all that the cases say."""


def checks() -> list[str]:
    """What the list names and a few cases judge."""
    entries = [entry for path in known.shipped_lists() for entry in known.read(path)]
    named = [entry.check or entry.requirement for entry in entries]
    return [name for name in dict.fromkeys(named) if not name.startswith((*ELSEWHERE, "declarations/undeclare"))]


def shown(folder: Path, release: str, only: list[str]) -> tuple[int, set[str]]:
    """The exit code of a run as router and as client, and the checks that are red as listed."""
    words = [word for name in only for word in ("--only", name)]
    code = invoke(
        ["run", f"wheel:{release}", f"wheel:{release}?role=client", *words, "--depth", "quick", "--out", str(folder)]
    )
    judged = [one for each in folder.iterdir() for one in results.read(each).judgements]
    return code, {one.key.check for one in judged if one.verdict is Verdict.KNOWN}


def test_some_of_them_show(tmp_path: Path) -> None:
    some = ["establishment-cookie/a-longer-cookie-is-refused", "initiator-fields/an-answer-from-itself-is-refused"]
    assert shown(tmp_path / "out", "1.0.0", some) == (0, set(some))


@pytest.mark.soak
@pytest.mark.parametrize("release", RELEASES)
def test_each_shows_where_it_should_and_none_has_gone(tmp_path: Path, release: str) -> None:
    code, red = shown(tmp_path / "out", release, checks())
    assert code == 0
    assert len(red) >= 10


@pytest.mark.parametrize("kind", ["subscriber", "queryable", "token"])
def test_the_snapshots_that_are_listed_are_those_of_the_reason(kind: str) -> None:
    """The reason tells of subscribers and queryables: a snapshot of tokens that does not end is another deviation."""
    key = Key(
        target="zenoh-rust", version="1.10.2", role="responder", profile="default", link="tcp",
        requirement="interests/snapshot-ends-with-final", check="interest-snapshots/a-snapshot-ends",
        parameters=(("mode", "1"), ("kind", kind), ("there", "0")),
    )  # fmt: skip
    listed = known.load(known.shipped_lists(), kind="wheel")

    found = listed.entry(key, Verdict.FAIL, "its end: silence where D_FINAL is required")

    assert (found is not None) is (kind != "token")
