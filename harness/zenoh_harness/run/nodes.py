"""One node target, in every profile that its cases need: cases in groups, laws over all that was said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from threading import Event as Flag
from threading import Lock

from zenoh_conformance.case import Case
from zenoh_conformance.controls import Ground
from zenoh_conformance.conversation import Side
from zenoh_conformance.law import Law
from zenoh_conformance.verdict import Verdict
from zenoh_harness.errors import CannotGoOn, OtherVersion, TargetError, UsageError
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.identity import Identity
from zenoh_harness.profiles import ASSUMED
from zenoh_harness.run.allowance import in_rounds, some
from zenoh_harness.run.attempt import AttemptOutcome, Conditions, attempt, uses_agent
from zenoh_harness.run.controls import Controls
from zenoh_harness.run.decide import Decision, left_out
from zenoh_harness.run.embargo import guarded, withheld
from zenoh_harness.run.facts import Ability, Ask, ability, ask
from zenoh_harness.run.group import STUCK, Group
from zenoh_harness.run.health import check
from zenoh_harness.run.instances import Instances
from zenoh_harness.run.law_results import LawResults
from zenoh_harness.run.lifecycle import Examine, Lifecycle, Unhealthy
from zenoh_harness.run.options import Options
from zenoh_harness.run.plan import Item, Selection, groups, plan_for, shuffled, without
from zenoh_harness.run.records import Records
from zenoh_harness.run.register import Register
from zenoh_harness.run.sidebyside import Aside, SideBySide
from zenoh_harness.targets.habits import Habits
from zenoh_harness.targets.target import NodeTarget, profile_of

ENOUGH = 4
"""Cases for which it is worth starting one more instance of a node that comes to us."""


class NodeRun:
    """The run of one target in one role."""

    def __init__(
        self,
        target: NodeTarget,
        options: Options,
        *,
        cases: Iterable[Case],
        laws: Iterable[type[Law]],
        examine: Examine = check,
        look: Ask = ask,
    ) -> None:
        self.target, self.options, self.laws = target, options, tuple(laws)
        self.reach, self.role, self.guarded = target.reach, target.side.value, guarded(target)
        self.stop = Flag()
        self._examine, self._look = examine, look
        if options.fresh and not target.restartable:
            raise UsageError(
                f"{target.reach} is not ours to start again", step="--fresh", hint="give a target that can be started"
            )
        if "profile" in target.reach.options:
            profile_of(target, target.reach.options["profile"])
        self._habits: Habits | None = None
        """What was learnt in the first profile that could be had; in each further one, what may differ there is looked at again."""
        self._not_had: list[tuple[Records, TargetError]] = []
        """Profiles that could not be had, and why, until one could."""
        self._prepared: dict[str, Lifecycle] = {}
        """Instances that start already, by their profile."""
        self._leaving = Aside()
        """Instances that end."""
        self._allowance = options.allowance
        every, selection = list(cases), options.selection
        self._cases = {case.id: case for case in every}
        self._ground = Ground(self._cases)
        # laws judge what cases say: when only laws are asked for, all cases speak and none is recorded
        self._silent = bool(self._wanted_laws()) and not any(takes(selection, case) for case in every)
        self.plan = plan_for(
            every,
            target.side,
            target.profiles,
            Selection() if self._silent else selection,
            pinned=target.reach.options.get("profile"),
            depth=options.depth,
        )

        secret = frozenset() if options.with_embargoed or not self.guarded else self._embargoed()
        self.plan, self._kept_back = without(self.plan, secret)
        if options.shuffle is not None:
            self.plan = shuffled(self.plan, options.shuffle)

    # -- what is planned

    def _embargoed(self) -> frozenset[str]:
        return withheld(self.identity.name, self.identity.version, self.options.data_folder)

    @property
    def identity(self) -> Identity:
        """Who the target says it is."""
        return self.target.identity

    @property
    def profiles(self) -> tuple[str, ...]:
        """The configurations that are visited."""
        return tuple(self.plan.profiles)

    @property
    def size(self) -> int:
        """How many steps `advance` is told of."""
        return sum(1 for _ in self.plan.items())

    def close(self) -> None:
        """Nothing outlives a run but what `--keep` keeps."""

    def planned(self) -> Iterator[str]:
        """Every judgement that is due, as the results' plan writes it."""
        role = self.target.side.value
        for profile, items in self.plan.profiles.items():
            yield from (f"{role} {profile} {item.label}" for item in items if not self._silent)
            yield from (f"{role} {profile} {law.id}" for law in self._wanted_laws())
            yield f"{role} {profile} {STAYS_UP}"
        yield from (f"{role} {item.case.profile} {item.label}" for item, _ in self.plan.left_out if not self._silent)

    def _wanted_laws(self) -> list[type[Law]]:
        return [law for law in self.laws if self.options.selection.takes(law.id, law.requirement)]

    # -- running

    def run(self, register: Register) -> None:
        """All profiles. Raises CannotGoOn when the target cannot be had, or had again; records so far are kept."""
        register.withhold(self._kept_back)
        whole, due = self.options.allowance.share(1 / self.options.shares), sum(map(len, self.plan.profiles.values()))
        for item, why in self.plan.left_out:
            self._left_out(self._records(register, item.case.profile), item, why)
        try:
            for number, (profile, items) in enumerate(self.plan.profiles.items(), 1):
                self._allowance = whole.share(len(items) / due)
                due -= len(items)
                lifecycle = self._prepared.pop(profile, None) or self._lifecycle(profile)
                try:
                    self._profile(self._records(register, profile), lifecycle, items)
                finally:
                    self._let_go(lifecycle, last=number == len(self.plan.profiles))
        finally:
            for unused in self._prepared.values():
                unused.stop()
            self._leaving.wait()
        if self._habits is None:
            for _, reason in self._not_had:
                raise reason

    def _cannot_have(self) -> None:
        """Record the profiles that could not be had, now that another one could."""
        for records, why in self._not_had:
            records.cannot_start(why.what)
        self._not_had.clear()

    def _lifecycle(self, profile: str) -> Lifecycle:
        return Lifecycle(self.target, profile, self._examine, told=self.options.told, earlier=self._habits)

    def _prepare_the_next(self, profile: str) -> None:
        """Where instances are not in each other's way, the next one starts while this one is judged: a start is mostly waiting."""
        later = [*self.profiles, profile][self.profiles.index(profile) + 1]
        if self.target.apart and self.target.side is Side.RESPONDER and later != profile:
            self._prepared[later] = self._lifecycle(later)
            self._prepared[later].prepare()

    def _records(self, register: Register, profile: str) -> Records:
        return Records(self.target, profile, register, self.options.known, self.options.seed)

    def _let_go(self, lifecycle: Lifecycle, *, last: bool) -> None:
        """End the instance; the last one may be wanted by somebody."""
        node = lifecycle.hand_over() if last and self.options.kept is not None and not self.stop.is_set() else None
        if node is not None and self.options.kept is not None:
            self.options.kept.append(node)
        if self.target.apart:
            self._leaving.add(lifecycle.stop)
        else:
            lifecycle.stop()

    def _profile(self, records: Records, lifecycle: Lifecycle, items: Sequence[Item]) -> None:
        try:
            unhealthy = lifecycle.begin()
        except OtherVersion:
            raise
        except TargetError as why:
            self._not_had.append((records, why))
            if len(self.plan.profiles) > 1:
                self.options.found(
                    f"{self.reach}: profile {lifecycle.profile} cannot be had, and is left out: {why.what}"
                )
            if self._habits is not None:
                self._cannot_have()
            return
        if self._habits is None or lifecycle.habits.lines() != self._habits.lines():
            self._tell_habits(lifecycle, len(items))
        self._habits = self._habits or lifecycle.habits
        self._cannot_have()
        self._prepare_the_next(lifecycle.profile)
        records.fencing = lifecycle.habits.fencing
        can = self._ability(lifecycle, items, unhealthy)
        able = self._able(records, can, items)
        instances, asked = self._crew(lifecycle, can, len(able)), {item.label for item in able}
        controls = Controls(self._cases, self._ground)
        ordered = [item for item in controls.ordered(able) if set(item.case.needs) <= can.facts.capabilities]
        try:
            for decision in controls.settled(self._afforded(lifecycle, instances, ordered)):
                if decision.item.label not in asked:
                    continue  # a control that nobody asked for: it is told only as far as something rests on it
                if not self._silent:
                    records.decision(decision)
                self.options.advance(1, decision.item.label)
        except CannotGoOn:
            self._close(records, instances, unhealthy)
            raise
        finally:
            instances.dismiss()
        self._close(records, instances, unhealthy)

    def _tell_habits(self, lifecycle: Lifecycle, items: int) -> None:
        """What is not as with everybody, and how long it will take; of a later profile, all that is not so there."""
        habits = lifecycle.habits
        lines = habits.lines()
        if self._habits is not None:
            self.options.found(f"{self.reach}: in profile {lifecycle.profile}: {'; '.join(lines) or 'as everybody'}")
            return
        if not lines:
            return
        instances = min(self.options.jobs, -(-items // ENOUGH)) if self.target.side is Side.INITIATOR else 1
        lines.append(f"about {habits.expected(self.size, instances):.0f} s for {self.size} checks")
        self.options.found(f"{self.reach}: {'; '.join(lines)}")

    def _close(self, records: Records, instances: Instances, unhealthy: Unhealthy | None) -> None:
        records.laws(self.laws, self._wanted_laws(), instances.first.law_results)
        records.stays_up(instances.first.deaths, unhealthy, instances.slow)

    def _crew(self, lifecycle: Lifecycle, can: Ability, items: int) -> Instances:
        """One instance; of a node that comes to us, and so talks with one case at a time, as many as have enough to do."""
        fresh = self.options.fresh
        first = Group(lifecycle, self._conditions(lifecycle, can), self._jobs(lifecycle), LawResults(), fresh=fresh)
        several = self.target.side is Side.INITIATOR and self.target.restartable and not fresh
        more = min(self.options.jobs, -(-items // ENOUGH)) - 1 if several else 0
        others = [lifecycle.another() for _ in range(more)]
        return Instances(
            (
                first,
                *(
                    Group(another, self._conditions(another, can), 1, first.law_results, first.deaths)
                    for another in others
                ),
            ),
            self._allowance,
        )

    def _ability(self, lifecycle: Lifecycle, items: Sequence[Item], unhealthy: Unhealthy | None) -> Ability:
        """What the node can do; asked only where a case wants to know, and of one that is well."""
        needs = {need for item in items for need in item.case.needs} - ASSUMED
        look = self._look if needs and unhealthy is None else None
        can = ability(self.target, lifecycle.node, look, needs)
        known = {"known_deviations": self.options.known.requirements(self.target.identity.version)}
        return replace(can, facts=replace(can.facts, known={**can.facts.known, **known}))

    def _able(self, records: Records, can: Ability, items: Sequence[Item]) -> list[Item]:
        """The items whose needs are met; the others are recorded with what is missing."""
        able = []
        for item in items:
            missing = sorted(set(item.case.needs) - can.facts.capabilities)
            if broken := can.broken & set(item.case.needs):
                text = f"the target's own file claims {', '.join(sorted(broken))}, and two looks did not see it do so"
                self._left_out(records, item, text, Verdict.FAIL)
            elif missing:
                self._left_out(records, item, f"the target does not do {', '.join(missing)}")
            else:
                able.append(item)
        return able

    def _left_out(self, records: Records, item: Item, why: str, verdict: Verdict = Verdict.NOT_APPLICABLE) -> None:
        if not self._silent:
            records.left_out(item, why, verdict)
        self.options.advance(1, item.label)

    def _conditions(self, lifecycle: Lifecycle, can: Ability) -> Callable[[], Conditions]:
        agent = Lock()

        def now() -> Conditions:
            return Conditions(
                node=lifecycle.node, facts=can.facts, seed=self.options.seed, stop=self.stop, agent=agent,
                found=lifecycle.condition, timeout=self.options.timeout, pause=self.options.pause,
            )  # fmt: skip

        return now

    def _jobs(self, lifecycle: Lifecycle) -> int:
        """One at a time where the node holds few sessions, or comes to us."""
        return 1 if lifecycle.one_by_one or self.target.side is Side.INITIATOR else self.options.jobs

    def _afforded(self, lifecycle: Lifecycle, instances: Instances, items: Sequence[Item]) -> Iterator[Decision]:
        """As many as there is time for: where it is short, some of each case first; the others are left out by name."""
        side_by_side = max(len(instances.lanes), instances.first.jobs)
        if lifecycle.habits.expected(len(items), side_by_side) < self._allowance.left:
            yield from self._decisions(lifecycle, instances, items)
            return
        for few in some(in_rounds(items)):
            yield from self._decisions(lifecycle, instances, few)

    def _decisions(self, lifecycle: Lifecycle, instances: Instances, items: Sequence[Item]) -> Iterator[Decision]:
        """Those that wait are started first and awaited last; those that must be alone come when nothing else runs."""
        if self._allowance.over():
            yield from left_out(items, self._allowance)
            return
        group = instances.first
        timed = [item for item in items if group.jobs > 1 and not group.fresh and waits(item)]
        alone = [item for item in items if item.case.alone]
        others = [item for item in items if item not in timed and item not in alone]
        if instances.several:
            yield from instances.run(others, alone)
            return
        born, conditions = lifecycle.generation, group.conditions()
        waiting = SideBySide([_bound(item, conditions) for item in timed], max(1, len(timed)))
        for these in groups(others, instances.losses, each=group.fresh):
            yield from left_out(these, self._allowance) if self._allowance.over() else group.run(these)
        outcomes = group.noted(timed, waiting.wait(STUCK))
        if lifecycle.generation == born:
            yield from group.judged(timed, outcomes)
        else:  # their target was lost under them
            for these in groups(timed):
                yield from group.run(these)
        for these in groups(alone, each=group.fresh):
            yield from left_out(these, self._allowance) if self._allowance.over() else group.run(these)


def takes(selection: Selection, case: Case) -> bool:
    """Whether some judgement of the case is selected."""
    labels = (Item(case, parameters).label for parameters in case.parameters)
    return selection.takes(case.id, *case.aliases, case.requirement, *labels)


def waits(item: Item) -> bool:
    """Whether the case can wait beside others."""
    return item.case.timed and not item.case.alone and not uses_agent(item)


def _bound(item: Item, conditions: Conditions) -> Callable[[], AttemptOutcome]:
    return lambda: attempt(item, conditions)
