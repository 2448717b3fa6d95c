"""A decision waits for what it rests on: where the control did not pass, nothing is said of the requirement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from zenoh_conformance.cases.case import Case
from zenoh_conformance.cases.controls import BASIC, FAILED, Ground, steps_before
from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.judging.verdict import Verdict
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.run.judge.decide import LEFT_OUT, Decision
from zenoh_harness.run.plan.plan import Item


@dataclass(slots=True)
class Controls:
    """What is decided, in an order in which each comes after what it rests on."""

    cases: Mapping[str, Case] = field(default_factory=dict)
    ground: Ground = field(default_factory=lambda: Ground({}))
    """What is known of controls, from earlier profiles too."""
    _due: Counter[str] = field(default_factory=Counter)
    _waiting: list[Decision] = field(default_factory=list)

    def ordered(self, items: Sequence[Item]) -> list[Item]:
        """Controls first, in the order of what rests on what; those that nobody asked for beside those that were."""
        every = [*items, *self.unasked(items)]
        self._due.update(item.case.id for item in every)
        return sorted(every, key=self.depth)

    def depth(self, item: Item) -> int:
        """How many controls lie below an item; what rests on nothing comes first."""
        return self._depth(item.case)

    def wave(self, item: Item) -> int:
        """The items of a group are of one wave: where a plain session does not work, controls are decided before what rests on them."""
        basic = BASIC[item.case.role]
        return self.depth(item) if any(self.ground.stands(name, {}) is False for name in basic) else 0

    def rests_in_vain(self, item: Item, finding: Finding | None = None) -> bool:
        """Whether all that an item rests on is decided and some of it did not pass: no attempt can say anything then."""
        if any(self._due[name] for name in self._below(item.case)):
            return False
        return self.ground.rests_in_vain(item.case, item.parameters, finding)

    def unasked(self, items: Sequence[Item]) -> list[Item]:
        """The controls of these that are not among them and were not judged before: with the same values where they have them."""
        here: set[str] = {item.case.id for item in items}
        found: dict[str, Item] = {}
        wanted = [(item, self.cases.get(item.case.control or "")) for item in items]
        for item, control in wanted:
            if control is None or control.id in here or self.ground.stands(control.id, item.parameters) is not None:
                continue
            for parameters in _alike(control, item)[:1]:
                one = Item(control, parameters)
                found.setdefault(one.label, one)
        return list(found.values())

    def settled(self, decisions: Iterable[Decision]) -> Iterator[Decision]:
        """Each decision, once what it rests on is known, and what it is worth then."""
        try:
            for decision in decisions:
                self._waiting.append(decision)
                yield from self._released()
        except CannotGoOn:
            yield from self._rest()
            raise
        yield from self._rest()

    def _released(self) -> Iterator[Decision]:
        while ready := [
            one for one in self._waiting if not any(self._due[name] for name in self._below(one.item.case))
        ]:
            self._waiting = [one for one in self._waiting if one not in ready]
            yield from map(self._worth, ready)

    def _rest(self) -> Iterator[Decision]:
        """What waits for something that will not come."""
        waiting, self._waiting = self._waiting, []
        yield from (self._worth(one) for one in sorted(waiting, key=lambda one: self._depth(one.item.case)))
        self._due.clear()

    def _below(self, case: Case) -> set[str]:
        if case.id in BASIC[case.role]:
            return set(steps_before(case))
        names = (case.control, *steps_before(case))
        return {name for name in names if name and not self._rests_on(name, case)}

    def _rests_on(self, name: str, case: Case) -> bool:
        """Whether that one rests on this one."""
        while (below := self.cases.get(name)) is not None and below.control:
            name = below.control
            if name == case.id:
                return True
        return False

    def _worth(self, decision: Decision) -> Decision:
        """The decision as it stands on what is known, which it is part of from now on."""
        case, parameters = decision.item.case, decision.item.parameters
        self._due[case.id] -= 1
        doubted = decision.verdict.needs_control and not decision.left_out
        missing = self.ground.missing(case, parameters, decision.finding) if doubted else ""
        if missing:
            decision = replace(decision, verdict=Verdict.NOT_OBSERVED, cause=missing, finding=None)
        passed = decision.verdict.is_right
        found = decision.finding if decision.verdict is Verdict.FAIL else None
        self.ground.note(case.id, parameters, passed, found, why_none(decision.verdict, decision.cause))
        return decision

    def _depth(self, case: Case) -> int:
        basic = BASIC[case.role]
        if case.id in basic:
            return basic.index(case.id) - len(basic)
        below = self.cases.get(case.control or "")
        return 0 if below is None else max(0, 1 + self._depth(below))


def was_left_out(cause: str) -> bool:
    """Whether a cause says that nobody looked, because there was no time."""
    return cause.startswith(LEFT_OUT)


def why_none(verdict: Verdict, cause: str) -> str:
    """Why a decision is none to rest on: nobody looked, or what was to be seen was not seen, or it did not pass."""
    if was_left_out(cause):
        return f"was {cause}"
    return f"was not observed: {cause}" if verdict is Verdict.NOT_OBSERVED else FAILED


def _alike(control: Case, item: Item) -> list[Mapping[str, object]]:
    """The values of a control that agree with those of what rests on it; any where none does."""
    mine = item.parameters
    same = [one for one in control.parameters if all(one[name] == value for name, value in mine.items() if name in one)]
    return same or list(control.parameters)
