"""Whenever our own process gets no processor for some seconds, no case that measures time blames the target."""

from __future__ import annotations

from itertools import count

import pytest

from zenoh_conformance.cases.case import Case, all_cases
from zenoh_conformance.judging.finding import NOT_REACHED, Deviation
from zenoh_harness.reference import Reference
from zenoh_harness.reference.memory import MemoryScene, MemoryWire

STALL = 9.0
"""Seconds for which we do not run."""

FEW, MANY = 6, 40
"""At how many of the looks at the clock we are held up, one in each run; many in the cases that count seconds of silence."""


def run_held_up(chosen: Case, at: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of looks at the clock in a run of the case; before one of them we are held up."""
    looks = count(1)

    def now(wire: MemoryWire) -> float:
        if next(looks) == at:
            until = wire.world.now + STALL
            while wire.world.now < until:
                wire.world.advance(until)
        return wire.world.now

    monkeypatch.setattr(MemoryWire, "now", now)
    scene = MemoryScene(chosen.requirement, Reference, role=chosen.role, profile=chosen.profile)
    chosen.run(scene, next(iter(chosen.parameters), {}))
    return next(looks) - 1


@pytest.mark.parametrize("check", [check for check, one in sorted(all_cases().items()) if one.timed])
def test_nobody_is_blamed(check, monkeypatch):
    chosen = all_cases()[check]
    looks, blamed = run_held_up(chosen, 0, monkeypatch), []
    points = MANY if chosen.requirement == "keep-alive/something-every-quarter-lease" else FEW
    for at in range(1, looks, max(1, looks // points)):
        try:
            run_held_up(chosen, at, monkeypatch)
        except Deviation as why:
            if not why.finding.path.startswith(NOT_REACHED):
                blamed.append((at, str(why)))
    assert not blamed
