"""One node target in one profile: cases in groups, laws over all that was said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event as Flag
from threading import Lock

from zenoh_conformance.cases.case import Case
from zenoh_conformance.cases.controls import Ground
from zenoh_conformance.judging.law import Law
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking.budget import Budgets
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.profiles import ASSUMED
from zenoh_harness.run.allowance import Allowance, in_rounds, some
from zenoh_harness.run.attempt import AttemptOutcome, Conditions, attempt, uses_agent
from zenoh_harness.run.controls import Controls
from zenoh_harness.run.decide import Decision, left_out
from zenoh_harness.run.facts import Ability, Ask, ability
from zenoh_harness.run.group import STUCK, Group
from zenoh_harness.run.instances import Instances
from zenoh_harness.run.law_results import LawResults
from zenoh_harness.run.lifecycle import Lifecycle, Unhealthy
from zenoh_harness.run.options import Options
from zenoh_harness.run.plan import Item, groups
from zenoh_harness.run.records import Records
from zenoh_harness.run.sidebyside import SideBySide
from zenoh_harness.targets.target import NodeTarget

ENOUGH = 4
"""Cases for which it is worth starting one more instance of a node that comes to us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun:
    """Runs the items of one profile on an instance that has begun, and records what they are worth."""

    target: NodeTarget
    options: Options
    cases: dict[str, Case]
    ground: Ground
    laws: Sequence[type[Law]]
    wanted: Sequence[type[Law]]
    """The laws that are recorded whatever they found."""
    silent: bool
    """Whether the cases only speak, and none is recorded."""
    look: Ask
    stop: Flag
    allowance: Allowance
    records: Records
    lifecycle: Lifecycle
    budgets: Budgets

    def run(self, items: Sequence[Item], unhealthy: Unhealthy | None) -> None:
        """All of them. Raises CannotGoOn when the target cannot be had again; records so far are kept."""
        can = self._ability(items, unhealthy)
        able = self._able(can, items)
        instances, asked = self._crew(can, len(able)), {item.label for item in able}
        controls = Controls(self.cases, self.ground)
        ordered = [item for item in controls.ordered(able) if set(item.case.needs) <= can.facts.capabilities]
        try:
            for decision in controls.settled(self._afforded(instances, ordered)):
                if self.stop.is_set():
                    return  # the reason for the stop is reported elsewhere; unjudged checks are named
                if decision.item.label not in asked:
                    continue  # a control that nobody asked for: it is told only as far as something rests on it
                if not self.silent:
                    self.records.decision(decision)
                self.options.advance(1, decision.item.label)
        except CannotGoOn:
            self._close(instances, unhealthy)
            raise
        finally:
            instances.dismiss()
        self._close(instances, unhealthy)

    def _close(self, instances: Instances, unhealthy: Unhealthy | None) -> None:
        self.records.laws(self.laws, self.wanted, instances.first.law_results)
        self.records.stays_up(instances.first.deaths, unhealthy, instances.slow)

    def _crew(self, can: Ability, items: int) -> Instances:
        """One instance; of a node that comes to us, and so talks with one case at a time, as many as have enough to do."""
        fresh = self.options.fresh
        first = Group(self.lifecycle, self._conditions(self.lifecycle, can), self._jobs, LawResults(), fresh=fresh)
        several = self.target.side is Side.INITIATOR and self.target.restartable and not fresh
        more = min(self.options.jobs, -(-items // ENOUGH)) - 1 if several else 0
        others = [self.lifecycle.another() for _ in range(more)]
        return Instances(
            (
                first,
                *(
                    Group(another, self._conditions(another, can), 1, first.law_results, first.deaths)
                    for another in others
                ),
            ),
            self.allowance,
        )

    def _ability(self, items: Sequence[Item], unhealthy: Unhealthy | None) -> Ability:
        """What the node can do; asked only where a case wants to know, and of one that is well."""
        needs = {need for item in items for need in item.case.needs} - ASSUMED
        look = self.look if needs and unhealthy is None else None
        can = ability(self.target, self.lifecycle.node, look, needs)
        known = {
            "known_deviations": self.options.known.requirements(self.target.identity.version),
            "quick": self.options.depth == "quick",
        }
        return replace(can, facts=replace(can.facts, known={**can.facts.known, **known}))

    def _able(self, can: Ability, items: Sequence[Item]) -> list[Item]:
        """The items whose needs are met; the others are recorded with what is missing."""
        able = []
        for item in items:
            missing = sorted(set(item.case.needs) - can.facts.capabilities)
            if broken := can.broken & set(item.case.needs):
                text = f"the target's own file claims {', '.join(sorted(broken))}, and two looks did not see it do so"
                self._left_out(item, text, Verdict.FAIL)
            elif missing:
                self._left_out(item, f"the target does not do {', '.join(missing)}")
            else:
                able.append(item)
        return able

    def _left_out(self, item: Item, why: str, verdict: Verdict = Verdict.NOT_APPLICABLE) -> None:
        if not self.silent:
            self.records.left_out(item, why, verdict)
        self.options.advance(1, item.label)

    def _conditions(self, lifecycle: Lifecycle, can: Ability) -> Callable[[], Conditions]:
        agent = Lock()

        def now() -> Conditions:
            return Conditions(
                node=lifecycle.node, facts=can.facts, seed=self.options.seed, stop=self.stop, agent=agent,
                found=lifecycle.condition, timeout=self.options.timeout, pause=self.options.pause,
                budgets=self.budgets,
            )  # fmt: skip

        return now

    @property
    def _jobs(self) -> int:
        """One at a time where the node holds few sessions, or comes to us."""
        return 1 if self.lifecycle.one_by_one or self.target.side is Side.INITIATOR else self.options.jobs

    def _afforded(self, instances: Instances, items: Sequence[Item]) -> Iterator[Decision]:
        """As many as there is time for: where it is short, some of each case first; the others are left out by name."""
        side_by_side = max(len(instances.lanes), instances.first.jobs)
        if self.lifecycle.habits.expected(len(items), side_by_side) < self.allowance.left:
            yield from self._decisions(instances, items)
            return
        for few in some(in_rounds(items)):
            yield from self._decisions(instances, few)

    def _decisions(self, instances: Instances, items: Sequence[Item]) -> Iterator[Decision]:
        """Those that wait are started first and awaited last; those that must be alone come when nothing else runs."""
        if self.allowance.over():
            yield from left_out(items, self.allowance)
            return
        group = instances.first
        timed = [item for item in items if group.jobs > 1 and not group.fresh and waits(item)]
        alone = [item for item in items if item.case.alone]
        others = [item for item in items if item not in timed and item not in alone]
        if instances.several:
            yield from instances.run(others, alone)
            return
        born, conditions = self.lifecycle.generation, group.conditions()
        waiting = SideBySide([_bound(item, conditions) for item in timed], max(1, len(timed)))
        for these in groups(others, instances.losses, each=group.fresh):
            yield from left_out(these, self.allowance) if self.allowance.over() else group.run(these)
        outcomes = group.noted(timed, waiting.wait(STUCK))
        if self.lifecycle.generation == born:
            yield from group.judged(timed, outcomes)
        else:  # their target was lost under them
            for these in groups(timed):
                yield from group.run(these)
        for these in groups(alone, each=group.fresh):
            yield from left_out(these, self.allowance) if self.allowance.over() else group.run(these)


def waits(item: Item) -> bool:
    """Whether the case can wait beside others."""
    return item.case.timed and not item.case.alone and not uses_agent(item)


def _bound(item: Item, conditions: Conditions) -> Callable[[], AttemptOutcome]:
    return lambda: attempt(item, conditions)
