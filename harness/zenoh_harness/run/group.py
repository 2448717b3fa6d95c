"""A group of cases: side by side, a look at the target's health, and one by one where anything was odd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from zenoh_conformance.conversation import Side
from zenoh_harness.run.attempt import Conditions, Outcome, Went, attempt
from zenoh_harness.run.decide import Decision, charged, decide
from zenoh_harness.run.keeper import Ill, Keeper
from zenoh_harness.run.plan import Item
from zenoh_harness.run.sidebyside import SideBySide
from zenoh_harness.run.tally import Tally
from zenoh_harness.scenes import CASE

STUCK = CASE + 45.0
"""Seconds without any case ending after which those that are left are given up."""


SETTLED = (Went.BROKE, Went.STOPPED, Went.ELSEWHERE)
"""Ways that need no repetition."""


@dataclass(frozen=True, slots=True)
class Death:
    """The target died, and what was going on."""

    ill: Ill
    during: tuple[Outcome, ...]


@dataclass(slots=True)
class Group:
    """Runs groups on one keeper's node; every attempt is tallied, for the laws."""

    keeper: Keeper
    conditions: Callable[[], Conditions]
    """What attempts share now: the node may be another after a restart."""
    jobs: int
    tally: Tally
    deaths: list[Death] = field(default_factory=list)
    """Those that no case was charged with."""

    def run(self, items: Sequence[Item], *, alone: bool = False) -> Iterator[Decision]:
        """One decision an item, in order."""
        yield from self.judged(items, self.side_by_side(items, 1 if alone else self.jobs))

    def judged(self, items: Sequence[Item], first: Sequence[Outcome]) -> Iterator[Decision]:
        """What the first attempts are worth, after a look at the target."""
        if items:
            yield from self.settled(items, first, self.keeper.ill())

    def settled(self, items: Sequence[Item], first: Sequence[Outcome], ill: Ill | None) -> Iterator[Decision]:
        """What the first attempts are worth where the target is found well, or ill."""
        if ill is not None:
            yield from self.after_death(items, first, ill)
            return
        for item, outcome in zip(items, first, strict=True):
            self._heard(outcome)
            yield self._confirmed(item, outcome)

    def side_by_side(self, items: Sequence[Item], jobs: int) -> list[Outcome]:
        """Every item once."""
        if self.keeper.node.side is Side.INITIATOR:
            return [self._once(item, 1) for item in items]  # it comes to us with one link after the other
        if self.keeper.few_sessions:
            return [self._with_room(item) for item in items]
        conditions = self.conditions()
        tasks = [lambda item=item: attempt(item, conditions) for item in items]
        return self.noted(items, SideBySide(tasks, jobs).wait(STUCK))

    def noted(self, items: Sequence[Item], outcomes: Sequence[Outcome | None]) -> list[Outcome]:
        """The outcomes; what never came back is overtime."""
        return [
            outcome or Outcome(item=item, went=Went.OVERTIME, cause="the case did not come back at all")
            for item, outcome in zip(items, outcomes, strict=True)
        ]

    def _with_room(self, item: Item) -> Outcome:
        """One item, once the sessions of the one before are gone."""
        outcome = self._once(item, 1)
        self.keeper.ill()
        return outcome

    def _heard(self, outcome: Outcome) -> None:
        """Let the laws judge: only where the target lived, for what a dying one says is no answer."""
        self.tally.add(outcome)

    def _once(self, item: Item, number: int) -> Outcome:
        if self.keeper.left():
            self.keeper.renew()
        return attempt(item, self.conditions(), number)

    def _confirmed(self, item: Item, first: Outcome) -> Decision:
        """A red one is repeated alone; so are those whose target dies then."""
        if first.held or first.went in SETTLED:
            return decide(item, [first], self.keeper.node.side)
        again = self._once(item, 2)
        ill = self.keeper.ill()
        if ill is None:
            self._heard(again)
            return decide(item, [first, again], self.keeper.node.side)
        return next(self.after_death([item], [first, again], ill))

    def after_death(self, items: Sequence[Item], first: Sequence[Outcome], ill: Ill) -> Iterator[Decision]:
        """One by one on a fresh target; who kills it again is charged; a death that none repeats charges none."""
        self.deaths.append(Death(ill, tuple(first)))
        self.keeper.renew()
        decisions, guilty = [], False
        for item in items:
            earlier = [outcome for outcome in first if outcome.item is item]
            decision, died = self._suspect(item, earlier)
            guilty = guilty or died
            decisions.append(decision)
        if guilty:
            self.deaths.pop()
        yield from decisions

    def _suspect(self, item: Item, earlier: list[Outcome]) -> tuple[Decision, bool]:
        """One item with the target to itself; what it did while another target died counts only where it held."""
        held = [outcome for outcome in earlier if outcome.held]
        tries: list[Outcome] = []
        while len(tries) < 2:
            tries.append(self._once(item, 1 + len(earlier) + len(tries)))
            ill = self.keeper.ill()
            if ill is not None:
                self.keeper.renew()
                return charged(item, ill, tries[-1], len(earlier) + len(tries)), True
            self._heard(tries[-1])
            if tries[-1].held or tries[-1].went in SETTLED:
                break
        return decide(item, [*held, *tries], self.keeper.node.side), False
