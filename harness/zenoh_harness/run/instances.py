"""The instances of a target in one profile: one, or of a node that comes to us several, each with cases of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from zenoh_harness.run.attempt.attempt import AttemptOutcome
from zenoh_harness.run.attempt.threads import SideBySide
from zenoh_harness.run.group import STUCK, Group
from zenoh_harness.run.judge.decide import Decision, left_out
from zenoh_harness.run.node.lifecycle import Unhealthy
from zenoh_harness.run.plan.allowance import Allowance
from zenoh_harness.run.plan.plan import Item, groups

LANES: Final = 3
"""The fewest instances for the cases that do not wait: where there are not so many, no other has a case to itself."""


@dataclass(frozen=True, slots=True)
class Instances:
    """Runs groups on its instances; when one dies, only what was done with that one is suspected."""

    lanes: Sequence[Group]
    """One an instance; all tell one tally."""
    allowance: Allowance = field(default_factory=Allowance)
    """Until when they may go on."""

    @property
    def first(self) -> Group:
        """The one that there always is; what must be done alone is done with it."""
        return self.lanes[0]

    @property
    def slow(self) -> Unhealthy | None:
        """The first time that one was slow."""
        return next((lane.lifecycle.slow for lane in self.lanes if lane.lifecycle.slow), None)

    @property
    def lost_messages(self) -> list[Unhealthy]:
        """Looks that missed a message of an instance which did its work when it was asked again."""
        return [one for lane in self.lanes for one in lane.lifecycle.lost]

    @property
    def looks(self) -> int:
        """How often all of them were looked at."""
        return sum(lane.lifecycle.looks for lane in self.lanes)

    def losses(self) -> int:
        """How many instances had to be started again."""
        return sum(max(0, lane.lifecycle.generation - 1) for lane in self.lanes)

    def dismiss(self) -> None:
        """End all but the first."""
        tasks = [lane.lifecycle.stop for lane in self.lanes[1:]]
        SideBySide(tasks, len(tasks)).wait(STUCK)

    @property
    def several(self) -> bool:
        """Whether there is more than the first."""
        return len(self.lanes) > 1

    def run(self, items: Sequence[Item], alone: Sequence[Item], waiting: Sequence[Item]) -> Iterator[Decision]:
        """Of several: the first has those that must be alone, some have one each of those that wait, the others the rest."""
        lanes = self.lanes[1:] if alone else self.lanes
        if len(lanes) < len(waiting) + LANES:
            items, waiting = [*items, *waiting], []
        busy = lanes[len(waiting) :]
        apart = [_Under(self.first, alone), *(_Under(lane, [item]) for lane, item in zip(lanes, waiting, strict=False))]
        for some in groups(items, self.losses, each=self.first.fresh):
            over = self.allowance.over()
            yield from left_out(some, self.allowance) if over else _dealt(some, busy[: len(some)])
        for under in apart:
            yield from under.decisions()


class _Under:
    """Items under way on one instance, one after the other."""

    def __init__(self, lane: Group, items: Sequence[Item]) -> None:
        self._lane, self._items = lane, items
        self._work = SideBySide([self._done] if items else [], 1)

    def _done(self) -> tuple[list[AttemptOutcome], Unhealthy | None]:
        return self._lane.side_by_side(self._items, 1), self._lane.lifecycle.unhealthy()

    def decisions(self) -> Iterator[Decision]:
        """Waits for what came of them; what it was worth is looked at as it is asked for."""
        for done in self._work.wait(STUCK * len(self._items)):
            outcomes, unhealthy = done or (
                self._lane.noted(self._items, [None] * len(self._items)),
                self._lane.lifecycle.unhealthy(),
            )
            yield from self._lane.settled(self._items, outcomes, unhealthy)


def _dealt(items: Sequence[Item], lanes: Sequence[Group]) -> Iterator[Decision]:
    """The items dealt out in turn, so that in every run the same ones meet."""
    under = [_Under(lane, items[at :: len(lanes)]) for at, lane in enumerate(lanes)]
    decisions = [each.decisions() for each in under]
    for at in range(len(items)):
        yield next(decisions[at % len(lanes)])
