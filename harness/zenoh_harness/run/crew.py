"""The instances of a target in one profile: one, or of a node that comes to us several, each with cases of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from zenoh_harness.run.attempt import Outcome
from zenoh_harness.run.decide import Decision
from zenoh_harness.run.group import STUCK, Group
from zenoh_harness.run.keeper import Ill
from zenoh_harness.run.plan import Item
from zenoh_harness.run.sidebyside import SideBySide

Lane = tuple[list[Outcome], Ill | None]
"""What came of the items that one instance had, and how it was found afterwards."""


@dataclass(frozen=True, slots=True)
class Crew:
    """Runs groups on its instances; when one dies, only what was done with that one is suspected."""

    lanes: Sequence[Group]
    """One an instance; all tell one tally."""

    @property
    def first(self) -> Group:
        """The one that there always is; what must be done alone is done with it."""
        return self.lanes[0]

    @property
    def slow(self) -> Ill | None:
        """The first time that one was slow."""
        return next((lane.keeper.slow for lane in self.lanes if lane.keeper.slow), None)

    def dismiss(self) -> None:
        """End all but the first."""
        for lane in self.lanes[1:]:
            lane.keeper.stop()

    def run(self, items: Sequence[Item]) -> Iterator[Decision]:
        """One decision an item, in order."""
        if len(self.lanes) == 1:
            yield from self.first.run(items)
            return
        lanes = self.lanes[: len(items)]
        parts = [items[at :: len(lanes)] for at in range(len(lanes))]  # in turn: in every run the same ones meet
        tasks = [_task(lane, part) for lane, part in zip(lanes, parts, strict=True)]
        done = SideBySide(tasks, len(tasks)).wait(STUCK * max(map(len, parts), default=1))
        decisions = [_decisions(*each) for each in zip(lanes, parts, done, strict=True)]
        for at in range(len(items)):
            yield next(decisions[at % len(lanes)])


def _task(lane: Group, part: Sequence[Item]) -> Callable[[], Lane]:
    return lambda: (lane.side_by_side(part, 1), lane.keeper.ill())


def _decisions(lane: Group, part: Sequence[Item], done: Lane | None) -> Iterator[Decision]:
    outcomes, ill = done or (lane.noted(part, [None] * len(part)), lane.keeper.ill())
    return lane.settled(part, outcomes, ill)
