"""One node target in one profile: cases in groups, laws over all that was said."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event as Flag
from threading import Lock

from zenoh_conformance.cases.case import Case
from zenoh_conformance.cases.controls import BASIC, Ground
from zenoh_conformance.judging.finding import OUR_FAULT
from zenoh_conformance.judging.law import Law
from zenoh_conformance.judging.shares import LACKS
from zenoh_conformance.judging.shown_rows import WRITTEN
from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking.budget import Budgets
from zenoh_conformance.talking.silences import Silences
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.links.timing import scaled
from zenoh_harness.profiles import ASSUMED
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Conditions, attempt, uses_agent
from zenoh_harness.run.attempt.limiter import Limiter, prompt_threads
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.attempt.threads import Beside, SideBySide
from zenoh_harness.run.forks import AloneResults, AloneTask, Forked
from zenoh_harness.run.group import STUCK, Death, Group
from zenoh_harness.run.instances import Instances
from zenoh_harness.run.judge.controls import Controls
from zenoh_harness.run.judge.decide import Decision, left_out
from zenoh_harness.run.judge.law_results import LawResults
from zenoh_harness.run.node.facts import Ability, Ask, ability
from zenoh_harness.run.node.lifecycle import Lifecycle, Unhealthy
from zenoh_harness.run.plan.allowance import IN_VAIN, Allowance, in_rounds, some
from zenoh_harness.run.plan.plan import Item, groups
from zenoh_harness.run.records import Records
from zenoh_harness.run.vectors.seen_rows import SeenRows
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
    silences: Silences = field(default_factory=Silences)
    seen_rows: SeenRows | None = None
    """The rows that are judged by what the target wrote in this profile."""
    fork: Forked | None = None
    """The copy of this process that has an instance for the cases that must be alone."""

    def run(self, items: Sequence[Item], unhealthy: Unhealthy | None) -> None:
        """All of them. Raises CannotGoOn when the target cannot be had again; records so far are kept."""
        can = self._ability(items, unhealthy)
        able = self._able(can, items)
        controls, asked = Controls(self.cases, self.ground), {item.label for item in able}
        instances = self._crew(can, len(able), controls)
        ordered = [item for item in controls.ordered(able) if set(item.case.needs) <= can.facts.capabilities]
        try:
            with prompt_threads(self.lifecycle.habits.impatient):
                for decision in controls.settled(self._afforded(instances, ordered)):
                    self._note_basic(decision)
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

    def _note_basic(self, decision: Decision) -> None:
        """Go on for a while only, in a quick run, where a step of a plain session does not work, and not for lack of a processor."""
        case, ours = decision.item.case, any(fault in decision.cause for fault in OUR_FAULT)
        basic = case.id in BASIC[case.role] and not decision.verdict.is_right and not decision.left_out
        if basic and not ours and self.options.depth == "quick":
            until, why = (
                time.monotonic() + scaled(IN_VAIN),
                f"{case.id} did not pass, and after it a quick run ends soon",
            )
            self.allowance.cut(until, why)
            if self.fork is not None:
                self.fork.cut(until, why)

    def _close(self, instances: Instances, unhealthy: Unhealthy | None) -> None:
        self.records.laws(self.laws, self.wanted, instances.first.law_results)
        if self.seen_rows is not None and self.seen_rows.checks:
            self.records.write_rows_seen(self.seen_rows, self.laws, instances.first.law_results)
            self.options.advance(len(self.seen_rows.checks), WRITTEN)
        self.records.note_lost_message(instances.lost_messages, instances.first.law_results.asked + instances.looks)
        self.records.stays_up(instances.first.deaths, unhealthy, instances.slow)

    def alone(self, items: Sequence[Item], can: Ability) -> AloneResults:
        """Run the cases that must be alone, on two instances where they take long, for another process to record."""
        if self.options.depth == "quick":
            return self._apart(items, can)
        beside, of_beside = replace(self, lifecycle=self.lifecycle.another()), list[AloneResults]()
        try:
            with Beside(lambda: of_beside.append(beside._apart(items[1::2], can)), self.stop):
                results = self._apart(items[::2], can)
        finally:
            beside.lifecycle.stop()
        return results.with_those_of(*of_beside)

    def _apart(self, items: Sequence[Item], can: Ability) -> AloneResults:
        controls = Controls(self.cases, self.ground)
        group = self._group(can, self.records.law_results(resumed=False), [], controls)
        decisions = [decision for these in groups(items) for decision in group.run(these)]
        return AloneResults(decisions, group.law_results, group.deaths, self.lifecycle.slow, self.lifecycle.lost)

    def _group(self, can: Ability, law_results: LawResults, deaths: list[Death], controls: Controls) -> Group:
        return Group(
            self.lifecycle,
            self._conditions(self.lifecycle, can, controls),
            self._jobs,
            law_results,
            deaths,
            self.records.note_death,
            fresh=self.options.fresh,
            is_listed=self.records.is_listed,
            controls=controls,
            allowance=self.allowance,
        )

    def _crew(self, can: Ability, items: int, controls: Controls) -> Instances:
        """One instance; of a node that comes to us, and so talks with one case at a time, as many as have enough to do."""
        first = self._group(can, self.records.law_results(), self.records.earlier_deaths(), controls)
        several = self.target.side is Side.INITIATOR and self.target.restartable and not self.options.fresh
        more = min(self.options.jobs, -(-items // ENOUGH)) - 1 if several else 0
        others = [self._beside(first, self.lifecycle.another(), can, controls) for _ in range(more)]
        return Instances((first, *others), self.allowance)

    def _beside(self, first: Group, lifecycle: Lifecycle, can: Ability, controls: Controls) -> Group:
        """A group on another instance, which counts what it hears with the first."""
        conditions, note = self._conditions(lifecycle, can, controls), self.records.note_death
        listed = self.records.is_listed
        return Group(
            lifecycle,
            conditions,
            1,
            first.law_results,
            first.deaths,
            note,
            is_listed=listed,
            controls=controls,
            allowance=self.allowance,
        )

    def _ability(self, items: Sequence[Item], unhealthy: Unhealthy | None) -> Ability:
        """What the node can do; asked only where a case wants to know, and of one that is well."""
        needs = {need for item in items for need in item.case.needs} - ASSUMED
        look = self.look if needs and unhealthy is None else None
        can = self.lifecycle.undisturbed(lambda: ability(self.target, self.lifecycle.node, look, needs))
        known = {
            "known_deviations": self._known_deviations,
            "quick": self.options.depth == "quick",
            "variations": self.options.depth,
            "explores": self.options.seed,
        }
        return replace(can, facts=replace(can.facts, known={**can.facts.known, **known}))

    @property
    def _known_deviations(self) -> Callable[..., Mapping[str, tuple[str, ...]]]:
        """Requirement to the causes with which this target is known to deviate from it; given the `model` that asks."""
        return partial(self.options.known.requirements, self.target.identity.version, role=self.target.side.value)

    def _able(self, can: Ability, items: Sequence[Item]) -> list[Item]:
        """The items whose needs are met; the others are recorded with what is missing."""
        able = []
        for item in items:
            missing = sorted(set(item.case.needs) - can.facts.capabilities)
            if broken := can.broken & set(item.case.needs):
                text = f"the target's own file claims {', '.join(sorted(broken))}, and two looks did not see it do so"
                self._left_out(item, text, Verdict.FAIL)
            elif missing:
                self._left_out(item, f"{LACKS}{', '.join(missing)}")
            else:
                able.append(item)
        return able

    def _left_out(self, item: Item, why: str, verdict: Verdict = Verdict.NOT_APPLICABLE) -> None:
        if not self.silent:
            self.records.left_out(item, why, verdict)
        self.options.advance(1, item.label)

    def _conditions(self, lifecycle: Lifecycle, can: Ability, controls: Controls) -> Callable[[], Conditions]:
        agent = Lock()

        def now() -> Conditions:
            return Conditions(
                node=lifecycle.node, facts=can.facts, seed=self.options.seed, stop=self.stop, agent=agent,
                found=lifecycle.condition, timeout=self.options.timeout, pause=self.options.pause,
                budgets=self.budgets, rests_in_vain=controls.rests_in_vain, silences=self.silences,
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
        """Those that wait are started first and awaited last; those that must be alone come when nothing else runs.

        What the target is known to leave unanswered waits, too: for all of its patience.

        A copy of this process has an instance of its own for those that must be alone.
        """
        if self.allowance.over():
            yield from left_out(items, self.allowance)
            return
        group = instances.first
        beside = group.jobs > 1 and not group.fresh
        silent = self._left_unanswered if beside else frozenset()
        timed = [
            item for item in items if beside and (waits(item) or (_can_wait(item) and item.case.requirement in silent))
        ]
        alone = [item for item in items if item.case.alone]
        others = [item for item in items if item not in timed and item not in alone]
        if instances.several:
            long = [item for item in others if waits(item)]
            yield from instances.run([item for item in others if item not in long], alone, long)
            return
        if alone and self.fork is not None:
            self.fork.do_alone(self._shared(group, alone))
        waiting = _Timed(group, timed)
        for these in groups(others, instances.losses, each=group.fresh, wave=group.controls.wave):
            yield from group.run(these)
            waiting.show_again()
        yield from waiting.decisions()
        yield from self._of_alone(group, alone)

    @property
    def _left_unanswered(self) -> frozenset[str]:
        """The requirements from which the target is known to deviate by silence."""
        known = self._known_deviations()
        return frozenset(name for name, causes in known.items() if any(SILENCE in cause for cause in causes))

    def _shared(self, group: Group, alone: Sequence[Item]) -> AloneTask:
        can = Ability(group.conditions().facts)
        return AloneTask(can, frozenset(item.label for item in alone))

    def _of_alone(self, group: Group, alone: Sequence[Item]) -> Iterator[Decision]:
        """What came of those that must be alone: elsewhere, or here when nothing else runs."""
        results = self.fork.of_alone() if alone and self.fork is not None else None
        if results is not None:
            group.law_results.join(results.law_results)
            group.deaths += results.deaths
            self.lifecycle.lost += results.lost
            self.lifecycle.slow = self.lifecycle.slow or results.slow
            yield from results.decisions
            return
        for these in groups(alone, each=group.fresh):
            yield from group.run(these)


SILENCE = "silence"
"""Is in the cause where something did not come."""


class _Timed:
    """Cases that wait, under way on one instance beside all others."""

    def __init__(self, group: Group, items: Sequence[Item]) -> None:
        self._group, self._items = group, items
        self._born, conditions = group.lifecycle.generation, group.conditions()
        self._work = SideBySide([_bound(item, conditions) for item in items], max(1, len(items)))
        self._again: dict[int, tuple[SideBySide[AttemptOutcome], int]] = {}
        """Of those that are repeated already: the work, and their place in it."""

    def show_again(self) -> None:
        """Begin to repeat those that ended otherwise than they should: a repetition waits as long as the first attempt."""
        ended = self._work.finished()
        red = [at for at, outcome in ended.items() if at not in self._again and self._group.is_doubtful(outcome)]
        if red and not self._lost:
            conditions = replace(self._group.conditions(), floor=Limiter(1))
            work = SideBySide([_bound(self._items[at], conditions, 2) for at in red], len(red))
            self._again |= {at: (work, place) for place, at in enumerate(red)}

    def decisions(self) -> Iterator[Decision]:
        """Wait for all of them, and look at the target."""
        self.show_again()
        outcomes = self._group.noted(self._items, self._work.wait(STUCK))
        again = {at: work.wait(STUCK)[place] for at, (work, place) in self._again.items()}
        if not self._lost:
            yield from self._group.judged(self._items, outcomes, {at: one for at, one in again.items() if one})
            return
        for these in groups(self._items):  # their target was lost under them
            yield from self._group.run(these)

    @property
    def _lost(self) -> bool:
        """Whether their target was lost under them."""
        return self._group.lifecycle.generation != self._born


def waits(item: Item) -> bool:
    """Whether the case waits, or runs in many circumstances one after the other, and can do so beside others."""
    return (item.case.timed or bool(item.case.varies)) and _can_wait(item)


def _can_wait(item: Item) -> bool:
    return not item.case.alone and not uses_agent(item)


def _bound(item: Item, conditions: Conditions, number: int = 1) -> Callable[[], AttemptOutcome]:
    return lambda: attempt(item, conditions, number)
