"""A group of cases: side by side, a look at the target's health, and one by one where anything was odd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby, takewhile
from types import MappingProxyType

from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness.errors import CannotGoOn
from zenoh_harness.run.attempt.attempt import AttemptOutcome, Conditions, Went, attempt, in_calm, unless_suspended
from zenoh_harness.run.attempt.limiter import Limiter
from zenoh_harness.run.attempt.scenes import CASE
from zenoh_harness.run.attempt.threads import SideBySide
from zenoh_harness.run.judge.controls import Controls
from zenoh_harness.run.judge.decide import Decision, charged, decide, left_out
from zenoh_harness.run.judge.judgement_script import Convicted
from zenoh_harness.run.judge.law_results import LawResults
from zenoh_harness.run.node.lifecycle import Lifecycle, Unhealthy
from zenoh_harness.run.plan.allowance import Allowance
from zenoh_harness.run.plan.plan import Item

STUCK = CASE + 45.0
"""Seconds without any case ending after which those that are left are given up."""


IN_FLIGHT = 64
"""Cases under way at a time, most of them waiting: fewer than the hundred half-open handshakes that zenoh-rust allows."""

CONFIRMED = 3
"""After how many repetitions that showed the same again a case's cause is believed without another."""

MOST_ATTEMPTS = 5
"""How often a case is attempted where the target was suspended during each attempt before the last but one."""

SETTLED = (Went.BROKE, Went.STOPPED, Went.ELSEWHERE)
"""Ways that need no repetition."""


@dataclass(frozen=True, slots=True)
class Death:
    """The target died, and what was going on."""

    unhealthy: Unhealthy
    during: tuple[tuple[str, Conversation], ...]
    """The checks that ran, each with what was said."""


History = Sequence[AttemptOutcome]
"""The attempts of one item so far."""

Kind = tuple[str, str]
"""What is red alike, whatever the parameters: case and cause."""


@dataclass(slots=True)
class Group:
    """Runs groups on one keeper's node; every attempt is tallied, for the laws."""

    lifecycle: Lifecycle
    conditions: Callable[[], Conditions]
    """What attempts share now: the node may be another after a restart."""
    jobs: int
    law_results: LawResults
    deaths: list[Death] = field(default_factory=list)
    """Those that no case was charged with."""
    note_death: Callable[[Death], None] = lambda _death: None
    """Writes down a death that no case is charged with."""
    fresh: bool = False
    """Whether each attempt has an instance of its own."""
    is_listed: Callable[[Decision], bool] = lambda _decision: False
    """Whether a decision is a known deviation: what shows as it is listed is not shown again."""
    controls: Controls = field(default_factory=Controls)
    """What rests on what: what rests on a check that did not pass is not repeated."""
    allowance: Allowance = field(default_factory=Allowance)
    """The time that its items may take in all."""
    confirmed: Counter[Kind] = field(default_factory=Counter)
    """Case and cause to how often a repetition showed it again."""
    convicted: Convicted = field(init=False)
    """Whose script ends the target again."""

    def __post_init__(self) -> None:
        self.convicted = Convicted(self.lifecycle)

    def run(self, items: Sequence[Item]) -> Iterator[Decision]:
        """One decision an item, in order; items for which there is no time are left out."""
        outcomes = self.side_by_side(items, self.jobs, over=self.allowance.over)
        begun = {id(outcome.item) for outcome in outcomes}
        yield from self.judged([outcome.item for outcome in outcomes], outcomes)
        yield from left_out([item for item in items if id(item) not in begun], self.allowance)

    def judged(
        self, items: Sequence[Item], first: Sequence[AttemptOutcome], second: Mapping[int, AttemptOutcome] | None = None
    ) -> Iterator[Decision]:
        """What the first attempts are worth, after a look at the target; `second`: those at some places that were repeated already."""
        if items:
            yield from self.settled(items, first, self.lifecycle.unhealthy(), second or {})

    def settled(
        self,
        items: Sequence[Item],
        first: Sequence[AttemptOutcome],
        unhealthy: Unhealthy | None,
        second: Mapping[int, AttemptOutcome] = MappingProxyType({}),
    ) -> Iterator[Decision]:
        """What the attempts are worth where the target is found well, or ill."""
        if unhealthy is not None:
            yield from self.after_death(items, first, unhealthy)
            return
        both = [[one, second[at]] if at in second else [one] for at, one in enumerate(first)]
        # A stop of the target may be reported after the attempts that it disturbed; during the look there was time for it.
        histories = [[unless_suspended(outcome) for outcome in outcomes] for outcomes in both]
        # The look at the target comes before the laws hear anything: what a dying target says is no answer.
        for outcome in chain.from_iterable(histories):
            self._heard(outcome)
        # In waves: once a control is decided, nobody repeats what rests on it in vain.
        for _, wave in groupby(histories, key=lambda history: self.controls.depth(history[-1].item)):
            alike = list(wave)
            again = self._repeated([one for one in alike if self.is_doubtful(one[-1]) and _wants_another(one)])
            for history in alike:
                item = history[-1].item
                yield again.get(item.label) or self._decided(item, history)

    def is_doubtful(self, outcome: AttemptOutcome) -> bool:
        """Whether it has to be shown again."""
        if outcome.held or outcome.went in SETTLED:
            return False
        if self.controls.rests_in_vain(outcome.item, next(iter(outcome.findings), None)):
            return False
        return not self.is_listed(decide(outcome.item, [outcome], self.lifecycle.node.side))

    def _repeated(self, red: Sequence[History]) -> dict[str, Decision]:
        """Label to decision of the red ones that had to be shown again: some of each kind, all where those were otherwise."""
        # Each red is shown again, but not a hundred times: with a target that stays silent every repetition costs its whole patience.
        some = [
            one
            for alike in _kinds(red)
            for one in alike[: max(0, _enough(alike[0]) - self.confirmed[_kind(alike[0][-1])])]
        ]
        decisions, shown = self._again(some), {id(one) for one in some}
        rest = [one for one in red if id(one) not in shown and self.confirmed[_kind(one[-1])] < _enough(one)]
        return {decision.item.label: decision for decision in (*decisions, *self._again(rest))}

    def _again(self, doubtful: Sequence[History]) -> list[Decision]:
        """Run one item at a time and look at the target after each: a death is charged to the item that repeats it."""
        if not doubtful:
            return []
        # One busy at a time, since beside thirty others a deadline may have been missed for want of a processor, on our side or theirs.
        items = [history[-1].item for history in doubtful]
        again = self.side_by_side(items, 1, number=1 + max(map(len, doubtful)))
        unhealthy = self.lifecycle.unhealthy()
        if unhealthy is not None:
            return list(self.after_death(items, [*chain.from_iterable(doubtful), *again], unhealthy))
        again = [unless_suspended(outcome) for outcome in again]
        for earlier, outcome in zip(doubtful, again, strict=True):
            self._heard(outcome)
            self.confirmed[_kind(outcome)] += not outcome.held and outcome.cause == earlier[-1].cause
        histories = [[*earlier, outcome] for earlier, outcome in zip(doubtful, again, strict=True)]
        more = [one for one in histories if self.is_doubtful(one[-1]) and _wants_another(one)]
        later = {decision.item.label: decision for decision in self._again(more)}
        return [
            later.get(item.label) or self._decided(item, history)
            for item, history in zip(items, histories, strict=True)
        ]

    def _decided(self, item: Item, outcomes: History) -> Decision:
        """The verdict, right after a look that found the target well."""
        return replace(decide(item, in_calm(outcomes), self.lifecycle.node.side), after=self.lifecycle.condition)

    def side_by_side(
        self, items: Sequence[Item], jobs: int, *, number: int = 1, over: Callable[[], bool] = lambda: False
    ) -> list[AttemptOutcome]:
        """Run every item once, a few at a time, but begin none once it is `over`; `number` is the attempt number, from 1."""
        if self.fresh or self.lifecycle.node.side is Side.INITIATOR or any(item.case.alone for item in items):
            return _until(over, items, lambda item: self._once(item, number))  # it comes with one link after the other
        if self.lifecycle.one_by_one:
            # A node that holds few sessions refused the next case as long as it had not let go of the last one's.
            once = self._with_room if self.lifecycle.few_sessions else self._once
            return _until(over, items, lambda item: once(item, number))
        conditions = replace(self.conditions(), floor=Limiter(jobs))
        begun: list[Item] = []

        def begin(item: Item) -> AttemptOutcome | None:
            if over():
                return None
            begun.append(item)
            return attempt(item, conditions, number)

        tasks = [partial(begin, item) for item in items]
        outcomes = SideBySide(tasks, max(jobs, IN_FLIGHT)).wait(STUCK)
        came = [(item, one) for item, one in zip(items, outcomes, strict=True) if any(item is other for other in begun)]
        return self.noted([item for item, _ in came], [one for _, one in came])

    def noted(self, items: Sequence[Item], outcomes: Sequence[AttemptOutcome | None]) -> list[AttemptOutcome]:
        """The outcomes; what never came back is overtime."""
        return [
            outcome or AttemptOutcome(item=item, went=Went.OVERTIME, cause="the case did not come back at all")
            for item, outcome in zip(items, outcomes, strict=True)
        ]

    def _with_room(self, item: Item, number: int) -> AttemptOutcome:
        """One item, once the sessions of the one before are gone."""
        outcome = self._once(item, number)
        self.lifecycle.unhealthy()
        return outcome

    def _heard(self, outcome: AttemptOutcome) -> None:
        """Let the laws judge: only where the target lived, for what a dying one says is no answer."""
        self.law_results.add(outcome)

    def _once(self, item: Item, number: int) -> AttemptOutcome:
        if self.fresh or self.lifecycle.left():
            self.lifecycle.renew()
        return attempt(item, self.conditions(), number)

    def after_death(
        self, items: Sequence[Item], first: Sequence[AttemptOutcome], unhealthy: Unhealthy
    ) -> Iterator[Decision]:
        """One by one on a fresh target; who kills it again is charged; a death that none repeats charges none."""
        self.deaths.append(Death(unhealthy, tuple((outcome.item.label, outcome.conversation) for outcome in first)))
        try:
            self.lifecycle.renew()
            decisions, guilty = self._suspects(items, first)
        except CannotGoOn:
            self.note_death(self.deaths[-1])
            raise
        if guilty:
            self.deaths.pop()
        else:
            self.note_death(self.deaths[-1])
        yield from decisions

    def _suspects(self, items: Sequence[Item], first: Sequence[AttemptOutcome]) -> tuple[list[Decision], bool]:
        """One by one, and whether one of them is charged.

        In a group of thirty-two nobody can be charged by the order of events: one killer made its neighbours red too. So each
        has a fresh target to itself, and who kills that one is charged. Those for whom there is no time are left out.
        """
        heard = takewhile(lambda _: not self.allowance.over(), items)
        decided = [self._suspect(item, [outcome for outcome in first if outcome.item is item]) for item in heard]
        rest = left_out(items[len(decided) :], self.allowance)
        return [*(decision for decision, _ in decided), *rest], any(died for _, died in decided)

    def _suspect(self, item: Item, earlier: list[AttemptOutcome]) -> tuple[Decision, bool]:
        """One item with the target to itself; what it did while another target died counts only where it held."""
        held = [outcome for outcome in earlier if outcome.held]
        tries: list[AttemptOutcome] = []
        while _wants_another(tries):
            tries.append(self._once(item, 1 + len(earlier) + len(tries)))
            unhealthy = self.lifecycle.unhealthy()
            if unhealthy is not None:
                self.lifecycle.renew()
                lacks = self.convicted.lacks(item, tries[-1], unhealthy, self.conditions())
                return charged(item, unhealthy, tries[-1], len(earlier) + len(tries), script=lacks), True
            self._heard(tries[-1])
            if tries[-1].held or tries[-1].went in SETTLED:
                break
        return self._decided(item, [*held, *tries]), False


def _until(
    over: Callable[[], bool], items: Sequence[Item], once: Callable[[Item], AttemptOutcome]
) -> list[AttemptOutcome]:
    """The outcomes one by one, as many as begin before it is over."""
    return [once(item) for item in takewhile(lambda _item: not over(), items)]


def _wants_another(history: History) -> bool:
    """Whether it takes one more attempt to tell what the last one is worth, if that one was red: one, and two after a suspension."""
    return len(history) < 2 or (history[-2].went is Went.SUSPENDED and len(history) < MOST_ATTEMPTS)


def _enough(history: History) -> int:
    """How often what is red, or did not come to its point, is shown again before others like it are believed."""
    findings = history[-1].findings
    return CONFIRMED if not findings or findings[0].reached else 1


def _kind(outcome: AttemptOutcome) -> Kind:
    return outcome.item.case.id, outcome.cause


def _kinds(red: Sequence[History]) -> list[list[History]]:
    found: dict[Kind, list[History]] = {}
    for history in red:
        found.setdefault(_kind(history[-1]), []).append(history)
    return list(found.values())
