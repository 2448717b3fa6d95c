"""A timestamp arrives as an implementation prints it: with who stamped, or the time alone."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from zenoh_harness.interop.scenarios.publishing import a_sample_keeps_its_timestamp

RUST = ("2026-11-29T15:00:00.1Z/c0ffee", "2026-11-29T15:00:00.2Z/c0ffee")


def judged(stamps: Sequence[str], zid: str | None = None) -> list[str]:
    """What the scenario says of two samples with these timestamps."""
    said: list[str] = []
    waiting = [{"timestamp": stamp} if stamp else {} for stamp in stamps]
    talk: Any = SimpleNamespace(
        key="k",
        listens=lambda: None,
        here=SimpleNamespace(put=lambda *_, **__: None, agent=SimpleNamespace(zid=zid)),
        expect=lambda _ear, **_: waiting.pop(0),
        require=lambda holds, why: None if holds else said.append(why),
        same=lambda what, wanted, got: None if wanted == got else said.append(f"{what}: {got} for {wanted}"),
    )
    a_sample_keeps_its_timestamp(talk, "put")
    return said


@pytest.mark.parametrize(
    ("stamps", "zid", "says"),
    [
        (RUST, "c0ffee", ""),
        (RUST, None, ""),
        (("7713623481784648384", "7713623481786213344"), "c0ffee", ""),
        (("999", "1000"), None, ""),
        (("1000", "999"), None, "timestamps do not rise: 1000, 999"),
        (RUST[::-1], None, f"timestamps do not rise: {RUST[1][:-7]}, {RUST[0][:-7]}"),
        (RUST, "beef", "who stamped: ['c0ffee', 'c0ffee'] for ['beef', 'beef']"),
        (("", "1"), None, "no timestamp arrived: ['', '1']"),
    ],
)
def test_what_is_printed(stamps: Sequence[str], zid: str | None, says: str) -> None:
    assert (judged(stamps, zid) or [""])[0] == says
