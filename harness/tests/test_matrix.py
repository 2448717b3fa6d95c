"""Ranges expand to versions in order; a verdict's turns are found in few runs; the same is run against several targets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zenoh_conformance.verdict import Verdict
from zenoh_harness.cli import invoke
from zenoh_harness.errors import UsageError
from zenoh_harness.matrix import expand, turns


def test_a_range_is_every_version_between_its_ends() -> None:
    assert expand("wheel:1.9.0..1.10.1") == ["wheel:1.9.0", "wheel:1.10.0", "wheel:1.10.1"]
    assert expand("wheel:1.0.3..1.1.0?profile=qos-off") == [f"wheel:{v}?profile=qos-off" for v in ("1.0.3", "1.0.4", "1.1.0")]
    assert expand("reference") == ["reference"]


@pytest.mark.parametrize("target", ["wheel:soon..1.10.2", "wheel:5.0.0..6.0.0"])
def test_a_range_without_versions_is_refused(target: str) -> None:
    with pytest.raises(UsageError):
        expand(target)


def ask_of(red: range, asked: list[str]):
    def ask(target: str) -> Verdict:
        asked.append(target)
        return Verdict.FAIL if int(target) in red else Verdict.PASS

    return ask


TARGETS = [str(number) for number in range(32)]


def test_a_fault_that_came_is_found_by_halving() -> None:
    asked: list[str] = []

    found = turns(TARGETS, ask_of(range(21, 32), asked))

    assert [(turn.before, turn.after, turn.became) for turn in found] == [("20", "21", Verdict.FAIL)]
    assert len(asked) <= 7
    assert len(asked) == len(set(asked))


def test_a_fault_that_came_and_went_is_found_at_both_borders() -> None:
    asked: list[str] = []

    found = turns(TARGETS, ask_of(range(13, 22), asked))

    assert [(turn.after, turn.became) for turn in found] == [("13", Verdict.FAIL), ("22", Verdict.PASS)]
    assert len(asked) <= 14


def test_what_never_turns_is_told_as_such() -> None:
    assert turns(TARGETS[:5], ask_of(range(0), [])) == []
    assert turns(TARGETS[:1], ask_of(range(1), [])) == []


def test_two_targets_are_run_and_what_differs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = ["--only", "establishment-cookie/*"]

    code = invoke(["matrix", "reference", "wrong:believes-any-cookie", *only, "--out", str(tmp_path), "--format", "json"])
    told = json.loads(capsys.readouterr().out)

    assert code == 1
    assert told["requirements"]["session-establishment/cookie-must-match"] == ["pass", "fail"]
