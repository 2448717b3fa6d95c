"""One node target, in every profile that its cases need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from threading import BoundedSemaphore
from threading import Event as Flag

from zenoh_conformance.cases.case import Case
from zenoh_conformance.cases.controls import Ground
from zenoh_conformance.judging.law import Law
from zenoh_conformance.judging.verdict import Judgement, Verdict
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.talking.budget import DECODING, UNASKED, Budgets
from zenoh_harness.errors import OtherVersion, TargetError, UsageError
from zenoh_harness.files.results import check_label
from zenoh_harness.files.scripts import STAYS_UP
from zenoh_harness.identity import Identity
from zenoh_harness.profiles import DEFAULT, PROFILES
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.attempt.threads import Aside, Beside
from zenoh_harness.run.forks import AloneResults, AloneTask, FirstLook, Forked, InFork
from zenoh_harness.run.judge.controls import was_left_out, why_none
from zenoh_harness.run.node.facts import Ask, ask
from zenoh_harness.run.node.health import check
from zenoh_harness.run.node.lifecycle import Examine, Lifecycle, Unhealthy
from zenoh_harness.run.plan.allowance import Allowance
from zenoh_harness.run.plan.plan import Item, RunPlan, Selection, plan_for, shuffled, without
from zenoh_harness.run.profile import ENOUGH, ProfileRun, waits
from zenoh_harness.run.records import Records, link_of
from zenoh_harness.run.store.embargo import guarded, withheld
from zenoh_harness.run.vectors.node_run import NodeVectors
from zenoh_harness.run.vectors.rows import IN_PROFILES
from zenoh_harness.run.vectors.seen_rows import SeenRows
from zenoh_harness.run.write.register import Register
from zenoh_harness.run.write.resume import EarlierRun, finding_of, verdict_before_lists
from zenoh_harness.targets.habits import TargetHabits
from zenoh_harness.targets.target import NodeTarget, profile_of
from zenoh_vectors.loader import Vector


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
        vectors: Sequence[Vector] = (),
    ) -> None:
        """`vectors` are played in the profile of the target string, or in the default one and those that have vectors of their own."""
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
        self._habits: TargetHabits | None = None
        """What was learnt in the first profile that could be had; in each further one, what may differ there is looked at again."""
        self._not_had: list[tuple[Records, TargetError]] = []
        """Profiles that could not be had, and why, until one could."""
        self._prepared: dict[str, Lifecycle] = {}
        """Instances that start already, by their profile."""
        self._leaving = Aside()
        """Instances that end."""
        self._stood: list[tuple[Item, Judgement]] = []
        """What was judged before the run was resumed."""
        self._allowance = options.allowance
        self.of_alone = options.allowance.share(1.0)
        """The time for the cases that must be alone, where a copy of this process has them."""
        self._budgets = Budgets(turn=BoundedSemaphore(DECODING))
        every, selection = list(cases), options.selection
        self.cases = {case.id: case for case in every}
        self._ground = Ground(self.cases)
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

        self.withheld = frozenset() if options.with_embargoed or not self.guarded else self._embargoed()
        self.plan, self._kept_back = without(self.plan, self.withheld)
        self.vectors = {
            profile: NodeVectors(target, options, vectors, self.stop, profile)
            for profile in self._profiles_of_vectors()
        }
        """What is played in each profile."""
        speaks = bool(vectors) and bool(self.plan.profiles.get(DEFAULT))
        self.seen_rows = SeenRows(options.selection, target.side, speaks=speaks)
        first = next((profile for profile, one in self.vectors.items() if one.size), None)
        if first is not None and first not in self.plan.profiles:
            self.plan = RunPlan({first: (), **self.plan.profiles}, self.plan.left_out)
        self.vectors = {name: one for name, one in self.vectors.items() if name in self.plan.profiles}
        if options.shuffle is not None:
            self.plan = shuffled(self.plan, options.shuffle)

    # -- what is planned

    def _profiles_of_vectors(self) -> tuple[str, ...]:
        pinned = self.target.reach.options.get("profile")
        return (pinned,) if pinned else (DEFAULT, *(name for name in IN_PROFILES if name in self.target.profiles))

    def _embargoed(self) -> frozenset[str]:
        of, options = self.identity, self.options
        return withheld(of.name, of.version, link_of(self.target), options.known, options.data_folder)

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
        return (
            sum(1 for _ in self.plan.items())
            + sum(one.size for one in self.vectors.values())
            + len(self.seen_rows.checks)
        )

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
        for profile, vectors in self.vectors.items():
            yield from (f"{role} {profile} {label}" for label in vectors.planned())
        yield from (f"{role} {DEFAULT} {label}" for label in self.seen_rows.planned())

    def _wanted_laws(self) -> list[type[Law]]:
        return [law for law in self.laws if self.options.selection.takes(law.id, law.requirement)]

    # -- running

    def take_up(self, earlier: EarlierRun) -> None:
        """Leave out what was judged before the run was resumed; controls among it are rested on."""
        judged, role = earlier.labels, self.role
        items = {item.label: item for item in self.plan.items()}
        mine = [(check_label(one.key.check, one.key.parameters), one) for one in earlier.kept if one.key.role == role]
        self._stood = [(items[name], one) for name, one in mine if name in items]
        self._rest_on(self._ground, self._stood)
        profiles = {
            profile: tuple(item for item in items if f"{role} {profile} {item.label}" not in judged)
            for profile, items in self.plan.profiles.items()
            if f"{role} {profile} {STAYS_UP}" not in judged
        }
        left_out = [
            pair for pair in self.plan.left_out if f"{role} {pair[0].case.profile} {pair[0].label}" not in judged
        ]
        before, self.plan = self.size, RunPlan(profiles, tuple(left_out))
        for profile, vectors in self.vectors.items():
            vectors.leave_out(lambda label: f"{role} {profile} {label}" in judged)  # noqa: B023  it is called at once
        self.seen_rows.leave_out(lambda label: f"{role} {DEFAULT} {label}" in judged)
        self.options.advance(before - self.size, "judged before")

    def run(self, register: Register, fork: Forked | None = None) -> None:
        """All profiles. Raises CannotGoOn when the target cannot be had, or had again; records so far are kept.

        `fork` judges the profiles after the first in another process, once it is told what was learnt in the first, and of the first
        the vectors and the cases that must be alone.
        """
        register.withhold(self._kept_back)
        for item, why in self.plan.left_out:
            if not self._silent:
                self._records(register, item.case.profile).left_out(item, why, Verdict.NOT_APPLICABLE)
            self.options.advance(1, item.label)
        self._allowance = self.options.allowance.share(1 / self.options.shares)
        try:
            self._visit(register, self.profiles, beside=self.can_run_beside, fork=fork)
        finally:
            if fork is not None:
                fork.learnt(None)
            self._let_all_go()
        if self._habits is None:
            for _, reason in self._not_had:
                raise reason

    def run_later(self, register: Register, habits: TargetHabits) -> None:
        """The profiles after the first, of which all was learnt that is in `habits`.

        Those that wait for leases run all at the same time: nearly all of their time is waiting.
        """
        self._habits = habits
        waiting = [name for name in self.profiles[1:] if any(waits(item) for item in self.plan.profiles[name])]
        working = [name for name in self.profiles[1:] if name not in waiting]
        try:
            with ExitStack() as beside:
                for name in waiting:
                    beside.enter_context(Beside(partial(self._visit, register, [name], beside=False), self.stop))
                self._visit(register, working, beside=False)
        finally:
            self._let_all_go()

    def run_beside(self, inside: InFork, first: FirstLook) -> None:
        """The vectors, and the cases of the first profile that must be alone, on an instance of their own each."""
        profile, records = self.profiles[0], self._records(inside.registers[0], self.profiles[0])
        playing, apart = (
            first.lifecycle(self.target, profile, self._examine, self.options.told) for _ in ("vectors", "cases")
        )
        results: AloneResults | None = None
        try:
            with Beside(partial(self._play_alone, playing, records), self.stop):
                if (shared := inside.shared()) is not None:
                    results = self._alone(apart, records, shared)
        finally:
            apart.stop()
        if results is not None:
            slow, lost = results.slow or playing.slow, [*playing.lost, *results.lost]
            inside.came_of_alone(replace(results, slow=slow, lost=lost))

    def _alone(self, lifecycle: Lifecycle, records: Records, shared: AloneTask) -> AloneResults:
        items = [item for item in self.plan.profiles[lifecycle.profile] if item.label in shared.labels]
        return replace(self._of(lifecycle, records), allowance=self.of_alone).alone(items, shared.can)

    @staticmethod
    def _rest_on(ground: Ground, stood: Iterable[tuple[Item, Judgement]]) -> None:
        """Note what was judged before the run was resumed: other checks rest on it."""
        for item, one in stood:
            if one.attempts or was_left_out(one.cause):
                passed, why = verdict_before_lists(one).is_right, why_none(one.verdict, one.cause)
                ground.note(item.case.id, item.parameters, passed, finding_of(one), why)

    def _let_all_go(self) -> None:
        """End what was started in vain, and wait for what is ending."""
        for unused in self._prepared.values():
            unused.stop()
        self._leaving.wait()

    @property
    def has_some_alone(self) -> bool:
        """Whether some cases of the first profile must be alone, and others need not be."""
        return len({item.case.alone for items in [*self.plan.profiles.values()][:1] for item in items}) > 1

    @property
    def can_run_beside(self) -> bool:
        """Whether this part may run beside others: its instances disturb no other, and no order of connections matters."""
        options = self.options
        orderly = options.fresh or options.pause or options.max_fail or options.kept is not None
        return self.target.can_run_beside and not orderly

    def _visit(self, register: Register, profiles: Sequence[str], *, beside: bool, fork: Forked | None = None) -> None:
        """One after the other; `beside`: once one has begun, those after it come at the same time, in `fork` if there is one."""
        for number, profile in enumerate(profiles, 1):
            if self.stop.is_set():
                return
            later = profiles[number:]
            records = self._records(register, profile)
            lifecycle = self._prepared.pop(profile, None) or self._lifecycle(profile, records)
            try:
                begun, unhealthy = self._begun(records, lifecycle)
                if not begun and self._habits is None and self._not_had[-1][1].silent:
                    return  # each further profile would cost the same patience, and end the same way
                if begun and fork is not None and unhealthy is None and number == 1:
                    fork.learnt(FirstLook(lifecycle.habits, lifecycle.measure))
                    self._judged(records, lifecycle, unhealthy, fork)
                    return
                if begun and later and beside and unhealthy is None:
                    with Beside(lambda: self._visit(register, later, beside=False), self.stop):  # noqa: B023  ends here
                        self._judged(records, lifecycle, unhealthy)
                    return
                if begun:
                    self._prepare_the_next(register, later)
                    self._judged(records, lifecycle, unhealthy)
            finally:
                self._let_go(lifecycle, last=not later)

    def _cannot_have(self) -> None:
        """Record the profiles that could not be had, now that another one could."""
        for records, why in self._not_had:
            records.cannot_start(why.what)
        self._not_had.clear()

    def _lifecycle(self, profile: str, records: Records) -> Lifecycle:
        learnt = records.learnt_habits()
        recalled, told = learnt.put_into if learnt else None, self.options.told
        return Lifecycle(self.target, profile, self._examine, told=told, earlier=self._habits, recalled=recalled)

    def _prepare_the_next(self, register: Register, later: Sequence[str]) -> None:
        """Where instances are not in each other's way, the next one starts while this one is judged: a start is mostly waiting."""
        if later and self.target.can_run_beside and self.target.side is Side.RESPONDER:
            self._prepared[later[0]] = self._lifecycle(later[0], self._records(register, later[0]))
            self._prepared[later[0]].prepare()

    def _records(self, register: Register, profile: str) -> Records:
        return Records(self.target, profile, register, self.options.known, self.options.seed)

    def _let_go(self, lifecycle: Lifecycle, *, last: bool) -> None:
        """End the instance; the caller may want to keep the last one."""
        node = lifecycle.hand_over() if last and self.options.kept is not None and not self.stop.is_set() else None
        if node is not None and self.options.kept is not None:
            self.options.kept.append(node)

        def end() -> None:
            lifecycle.stop()
            if lifecycle.crash_at_end is not None:
                how = f"ended by {lifecycle.crash_at_end} when it was asked to end"
                self.options.found(f"{self.reach}: in profile {lifecycle.profile}, {how}: no check is charged with it")

        if self.target.can_run_beside:
            self._leaving.add(end)
        else:
            end()

    def _begun(self, records: Records, lifecycle: Lifecycle) -> tuple[bool, Unhealthy | None]:
        """Whether it could be had, and what is wrong with it from the start."""
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
            return False, None
        if self._habits is None or lifecycle.habits.lines() != self._habits.lines():
            self._tell_habits(lifecycle, len(self.plan.profiles[lifecycle.profile]))
        self._habits = self._habits or lifecycle.habits
        self._cannot_have()
        records.fencing = lifecycle.habits.fencing
        records.note_habits(lifecycle.habits)
        return True, unhealthy

    def _judged(
        self, records: Records, lifecycle: Lifecycle, unhealthy: Unhealthy | None, fork: Forked | None = None
    ) -> None:
        """All that is planned for the profile that it began in, and the vectors: on an instance of their own beside it, if possible.

        Else they come first, since what stays up is told last. `fork` plays them, if there is one.
        """
        vectors = self.vectors.get(lifecycle.profile) if fork is None else None
        with ExitStack() as beside:
            if vectors is not None and unhealthy is None and vectors.size and self.can_run_beside:
                first = FirstLook(lifecycle.habits, lifecycle.measure)
                playing = first.lifecycle(self.target, lifecycle.profile, self._examine, self.options.told)
                beside.enter_context(Beside(partial(self._play_alone, playing, records), self.stop))
            elif vectors is not None:
                answers = unhealthy is None or (unhealthy.verdict is Verdict.ZOMBIE and UNASKED not in unhealthy.cause)
                vectors.run(lifecycle, records, self.options, well=answers)
                if answers and vectors.size and PROFILES[lifecycle.profile].groups:
                    lifecycle.renew()  # a node may leave a group in which it read what it must refuse
            self._of(lifecycle, records, fork).run(self.plan.profiles[lifecycle.profile], unhealthy)

    def _play_alone(self, lifecycle: Lifecycle, records: Records) -> None:
        """Play the vectors of a profile, if it has any, on an instance of their own, which ends with them."""
        try:
            if lifecycle.profile in self.vectors:
                self.vectors[lifecycle.profile].run(lifecycle, records, self.options)
        finally:
            lifecycle.stop()

    def _of(self, lifecycle: Lifecycle, records: Records, fork: Forked | None = None) -> ProfileRun:
        # Where profiles run at the same time, what another one has judged meanwhile must not decide what is judged in this one.
        ground = Ground(self.cases) if self.can_run_beside else self._ground
        seen_rows = self.seen_rows if lifecycle.profile == DEFAULT else None
        if self.can_run_beside:
            self._rest_on(ground, [pair for pair in self._stood if pair[1].key.profile == lifecycle.profile])
        return ProfileRun(
            target=self.target, options=self.options, cases=self.cases, ground=ground, laws=self.laws,
            wanted=self._wanted_laws(), silent=self._silent, look=self._look, stop=self.stop, fork=fork,
            allowance=self._allowed(lifecycle.profile), records=records, lifecycle=lifecycle, budgets=self._budgets,
            seen_rows=seen_rows,
        )  # fmt: skip

    def _allowed(self, profile: str) -> Allowance:
        """Its share of the time, by the number of its items among those that are still to come."""
        rest = self.profiles[self.profiles.index(profile) :]
        return self._allowance.share(
            len(self.plan.profiles[profile]) / max(1, sum(len(self.plan.profiles[one]) for one in rest))
        )

    def _tell_habits(self, lifecycle: Lifecycle, items: int) -> None:
        """What is not as with everybody, and how long it will take; of a later profile, all that is not so there."""
        habits = lifecycle.habits
        lines = habits.lines()
        if self._habits is not None:
            self.options.found(f"{self.reach}: in profile {lifecycle.profile}: {'; '.join(lines) or 'as everybody'}")
            return
        if not lines:
            return
        instances = max(1, min(self.options.jobs, -(-items // ENOUGH))) if self.target.side is Side.INITIATOR else 1
        lines.append(f"about {habits.expected(self.size, instances):.0f} s for {self.size} checks")
        self.options.found(f"{self.reach}: {'; '.join(lines)}")


def takes(selection: Selection, case: Case) -> bool:
    """Whether some judgement of the case is selected."""
    labels = (Item(case, parameters).label for parameters in case.parameters)
    return selection.takes(case.id, *case.aliases, case.requirement, *labels)
