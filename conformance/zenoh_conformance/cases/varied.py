"""Runs a case in several circumstances, and names those on which a deviation depends.

Each row of the case's array has sessions of its own, which end with it. What the target does not reach in some rows says nothing of the
others. After a deviation each circumstance is set back to its default, over fresh sessions, as long as the deviation stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.judging.variation import (
    Dimensions,
    Row,
    describe,
    draw_rows,
    fewest,
    odd_of,
    rows_of,
    variation_of,
)

if TYPE_CHECKING:
    from zenoh_conformance.talking import Scene

ROWS_TAKE: Final = 30.0
"""Seconds after which no further row begins, before scaling."""
SHRINKING_TAKES: Final = 15.0
"""Seconds after which no further circumstance is set back, on top of that."""

CHANCES: Final = 3
"""How often a row is run that a busy node may fail and be right, before it is red."""

AFTER_OTHERS: Final = "only after other sessions of ours"
"""What a deviation depends on that was not there in the same circumstances before."""

CaseFunction = Callable[..., None]


def run_rows(
    function: CaseFunction, dimensions: Dimensions, scene: Scene, parameters: dict[str, Any], only: Row | None = None
) -> None:
    """Run a case in the rows of this run's depth, or in one. Raises Deviation for the first red row, with the fewest circumstances.

    The scene is told how many rows there was no time for.
    """
    rows = (only,) if only else rows_of(dimensions, scene.fact("variations", "quick"))
    rows += () if only else draw_rows(dimensions, scene.fact("explores", 0))
    runner, stretch = Runner(function, dimensions, scene, parameters), max(1.0, float(scene.fact("strain", 1.0)))
    lost: Finding | None = None
    reached = 0
    for number, row in enumerate(rows):
        if runner.seconds > ROWS_TAKE * stretch:
            scene.left = (len(rows) - number, len(rows))
            break
        finding = runner.run(row)
        if finding is not None and finding.reached:
            until = 0.0 if only else runner.seconds + SHRINKING_TAKES * stretch
            raise Deviation(runner.shrunk(row, finding, until))
        lost, reached = lost or finding, reached + (finding is None)
    if lost is not None and not reached:
        raise Deviation(lost)


class Runner:
    """Runs rows of one case in one scene."""

    def __init__(
        self, function: CaseFunction, dimensions: Dimensions, scene: Scene, parameters: dict[str, Any]
    ) -> None:
        self.function, self.dimensions, self.scene, self.parameters = function, dimensions, scene, parameters
        self.held: set[Row] = set()
        """Rows in which the target did what is required."""

    @property
    def seconds(self) -> float:
        """For how long the scene has lasted."""
        return max((us.wire.now() for us in self.scene.dialogues[-1:]), default=0.0)

    def run(self, row: Row) -> Finding | None:
        """One row, as often as its circumstances ask for. Returns what deviates each time, and on which links."""
        chancy = any(value in each.chancy for each, value in zip(self.dimensions, row, strict=True))
        before = len(self.scene.conversation.connections)
        for _ in range(CHANCES if chancy else 1):
            if (finding := self._once(row)) is None or not finding.reached:
                return finding
        assert finding is not None
        return replace(finding, links=tuple(self.scene.conversation.connections)[before:])

    def _once(self, row: Row) -> Finding | None:
        """One row over sessions of its own, which end after it. Returns what deviates."""
        before = len(self.scene.dialogues)
        try:
            self.function(self.scene, variation_of(self.dimensions, row), **self.parameters)
        except Deviation as deviation:
            return deviation.finding
        finally:
            for us in self.scene.dialogues[before:]:
                if not us.wire.done:
                    us.leave()
        self.held.add(row)
        return None

    def shrunk(self, row: Row, finding: Finding, until: float) -> Finding:
        """The finding in the fewest circumstances that show it, named in its cause: found in brief waits, confirmed in whole ones."""

        def is_red(trial: Row) -> bool:
            return self.seconds < until and is_same(finding, self._once(trial))

        self.scene.brief, before = True, self.scene.brief
        few = fewest(self.dimensions, row, is_red)
        self.scene.brief = before
        if few != row and (confirmed := self.run(few)) is not None and is_same(finding, confirmed):
            row, finding = few, confirmed
        if row in self.held:
            return replace(finding, why=f"{finding.saying}, {AFTER_OTHERS}", links=())
        words = describe(self.dimensions, row)
        why = f"{finding.saying}, {words}" if words else finding.why
        return replace(finding, why=why, circumstances=odd_of(self.dimensions, row))


def is_same(finding: Finding, other: Finding | None) -> bool:
    """Whether the other one is a deviation from the same requirement."""
    return other is not None and other.reached and other.requirement == finding.requirement
