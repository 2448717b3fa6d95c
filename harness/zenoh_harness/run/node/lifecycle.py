"""Keeps one node at hand: starts it, looks at its health, starts it anew when it died, and tells what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread
from typing import Final, TypeVar

from zenoh_conformance.judging.verdict import Verdict
from zenoh_conformance.messages.sane import VERSION
from zenoh_conformance.reading.connection import Decoders
from zenoh_conformance.reading.conversation import Conversation, Side
from zenoh_harness.errors import CannotGoOn, OtherVersion, TargetError
from zenoh_harness.links.timing import Deadline
from zenoh_harness.probing.habits.study import study, study_profile
from zenoh_harness.programs.processes import ProcessEnd
from zenoh_harness.programs.signs import grave
from zenoh_harness.run.attempt.suspension import SUSPENDED, Watch
from zenoh_harness.run.node.health import Budget, Health, check, death, learn
from zenoh_harness.run.store.embargo import FROM_START
from zenoh_harness.targets.habits import SETTLE, UNKNOWN, TargetHabits
from zenoh_harness.targets.target import Grade, NodeInstance, NodeTarget

SLOW_LOOKS: Final = 3
"""How many more looks must find it slow: the machine may have been busy."""

BRIEF_LOOKS: Final = 3
"""How many more looks a program gets that ended in order before the look was over: as after each link, or once its work was done."""

LATE_LOOKS: Final = 10
"""How often a look is taken of a node that we kept waiting in each."""

SUSPENDED_LOOKS: Final = 3
"""How often a look is taken of a node that is suspended during each."""

GLANCE: Final = 0.05
"""Seconds between two looks at whether it has."""


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """A state of health that a judgement can carry."""

    verdict: Verdict
    cause: str
    conversation: Conversation | None = None
    """The health check that found it."""
    wrote: tuple[str, ...] = ()
    """The last lines of its output."""
    awaited: str = ""
    """The message that did not come, where it is a zombie."""


def in_words(verdict: Verdict, cause: str) -> str:
    """How a look found it: `works`, or the verdict and why."""
    said = {Verdict.PASS: "works", Verdict.SLOW: "works, slowly"}
    return said.get(verdict) or f"{verdict.value}: {cause}"


Examine = Callable[[NodeInstance, Budget | None], Health]
"""A functional look at a node, within a latency budget where one is known."""


Value = TypeVar("Value")
Measure = tuple[Budget | None, Grade]
"""The latency budget, and the best grade that it ever reached."""


class Lifecycle:
    """One target in one profile."""

    def __init__(
        self,
        target: NodeTarget,
        profile: str,
        examine: Examine = check,
        *,
        told: Callable[[str], None] = lambda _text: None,
        habits: TargetHabits | None = None,
        earlier: TargetHabits | None = None,
        recalled: Callable[[TargetHabits], TargetHabits] | None = None,
    ) -> None:
        """`habits` were learnt in this profile; `earlier`, in another one: what may differ here is learnt anew.

        `recalled` puts what the run learnt here before it was resumed in place of what takes many links to measure.
        """
        self.target, self.profile = target, profile
        self.habits = habits or UNKNOWN
        """What was learnt of the target."""
        self._studied, self._earlier, self._recalled = habits is not None, earlier, recalled
        self.generation = 0
        """How many instances there were."""
        self.condition = ""
        """How it was found by the last look, in a few words."""
        self.looks = 0
        """How often it was looked at between checks."""
        self.lost: list[Unhealthy] = []
        """Looks that missed a message of a node which did its work when it was asked again."""
        self.slow: Unhealthy | None = None
        """The first time that it was slow."""
        self.crash_at_end: ProcessEnd | None = None
        """How an instance that still worked crashed when it was asked to end; no check is charged with it."""
        self._budget: Budget | None = None
        self._at_best = Grade.FUNCTIONAL
        self._examine = examine
        self._told = told
        self._node: NodeInstance | None = None
        self._over = False
        self._lock = Lock()

    def begin(self) -> Unhealthy | None:
        """Start, and learn the latency budget before anything odd is done; what is wrong from the start, if anything.

        Raises TargetError for a node that cannot be had at all: it does not start, it says nothing, it ends by itself.
        """
        died = self._study() if self._examine is check and not self._studied else None
        health = self._looked(self._first_look())
        if health.verdict is Verdict.CRASH or (
            health.verdict is Verdict.HANG and not says_anything(health, self.node.side)
        ):
            raise TargetError(
                f"{self.target.reach} does not work in profile {self.profile}",
                step=f"first look, {health.grade.name.lower()}",
                seen=(health.cause, f"its InitAck states {self.habits.states}" if self.habits.states else ""),
                hint="nothing was sent yet but a sane handshake: is it what it should be?",
            )
        panics = frozenset(sign.cause for sign in health.vitals.signs)
        if health.verdict.says_nothing:
            self._budget = Budget(calm=0.0, panics=panics)
            return died
        self._at_best = health.grade
        if not health.well:
            self._budget = Budget(calm=0.0, enough=health.grade, panics=panics)
            return Unhealthy(health.verdict, f"{FROM_START}{health.cause}", health.conversation, health.wrote)
        if self._examine is check:
            self._budget = replace(self.undisturbed(lambda: learn(self.node)), panics=panics)
        return died

    def _first_look(self) -> Health:
        """The first look; one that was not to be reached any more is started anew: the study may have left it so, once in a while.

        One that seems dead is asked again, as between checks.
        """
        health = self._roomy()
        if health.verdict is Verdict.HANG and self.target.restartable:
            self.renew()
            health = self._roomy()
        return self._asked_again(health) if health.verdict is Verdict.ZOMBIE else health

    def _study(self) -> Unhealthy | None:
        """Learn its habits; a death, or a panic, that sane sessions and plain refusals brought about."""
        before = frozenset(sign.cause for sign in self.node.vitals().signs)
        self.habits = self.undisturbed(self._studied_habits)
        self.node.habits = self.habits
        if self.habits.version is not None:
            speaks = f"speaks protocol version {self.habits.version} and not {VERSION}"
            raise OtherVersion(f"{self.target.reach} {speaks}: there is nothing to judge here")
        vitals = self.node.vitals()
        panic = grave(sign for sign in vitals.signs if sign.cause not in before)
        if vitals.running and panic is None:
            return None
        in_order = self.left()
        self.renew()
        if in_order:
            return None
        after = f"after {self.habits.dies.value}: " if self.habits.dies else ""
        if panic is not None and vitals.running:
            return Unhealthy(Verdict.PANIC, f"in sane sessions: {panic.cause}")
        return Unhealthy(Verdict.CRASH, f"{after}{death(vitals)}")

    def _studied_habits(self) -> TargetHabits:
        if self._earlier is not None:
            found = study_profile(self.node, self._earlier)
        else:
            found = study(self.node) if self._recalled is None else study(self.node, rooms=False)
        return self._recalled(found) if self._recalled and found.answer else found

    def another(self) -> Lifecycle:
        """Another one, of a further instance of the same target, which is held to what was learnt of this one."""
        another = Lifecycle(self.target, self.profile, self._examine, told=self._told, habits=self.habits)
        another.hold_to(self.measure)
        return another

    @property
    def measure(self) -> Measure:
        """What it was while nothing was odd."""
        return self._budget, self._at_best

    def hold_to(self, measure: Measure) -> None:
        """Judge it by what another instance was while nothing was odd."""
        self._budget, self._at_best = measure

    def prepare(self) -> None:
        """Start the instance in the background; its first user waits for the rest of the start, or gets the reason why it failed."""
        Thread(target=self._prepared, name="zconform-start", daemon=True).start()

    def _prepared(self) -> None:
        with suppress(TargetError, CannotGoOn):
            self.node  # noqa: B018  keeps it

    @property
    def node(self) -> NodeInstance:
        """The instance, started when there is none. Raises TargetError when it cannot be had."""
        with self._lock:
            if self._over:
                raise CannotGoOn(f"{self.target.reach} is not wanted any more", step="start")
            if self._node is None:
                self._node = self.target.start(self.profile)
                self._node.habits = self.habits
                self.generation += 1
            return self._node

    def unhealthy(self) -> Unhealthy | None:
        """Look at it; what is wrong, or None. Nobody is worse than he was from the start."""
        if self.left():
            self.renew()
        self.looks += 1
        health = self._looked(self._settled())
        if health.verdict is Verdict.SLOW and self.slow is None:
            self.slow = Unhealthy(Verdict.SLOW, health.cause, health.conversation)
        if (
            health.well
            or health.verdict.says_nothing
            or (health.verdict is Verdict.ZOMBIE and health.grade >= self._at_best)
        ):
            return None
        return Unhealthy(health.verdict, health.cause, health.conversation, health.wrote)

    def _looked(self, health: Health) -> Health:
        """Keep what a look found."""
        self.condition = in_words(health.verdict, health.cause)
        return health

    def _roomy(self) -> Health:
        """A look at it. Where it holds few sessions, it is given time to let go of those that have ended."""
        deadline, pause = Deadline.after(SETTLE), Event()
        health = self._look(self._budget)
        while not health.well and self.few_sessions and not deadline.passed and health.verdict is not Verdict.CRASH:
            pause.wait(GLANCE)
            health = self._look(self._budget)
        return health

    def _settled(self) -> Health:
        """A look at it; one that stands still is waited for, one that is slow is looked at again."""
        health = self._roomy()
        if health.verdict is Verdict.HANG and not health.vitals.suspended:
            return self._waited_for(health)
        if health.verdict is Verdict.ZOMBIE and health.grade < self._at_best:
            return self._asked_again(health)
        for _ in range(SLOW_LOOKS):
            if health.verdict is not Verdict.SLOW:
                break
            health = self._look(self._budget)
        return health

    def _asked_again(self, found: Health) -> Health:
        """A second look, over fresh links: a node that does its work then is not dead, and lost a message."""
        health = self._roomy()
        if health.well:
            self.lost.append(Unhealthy(found.verdict, found.cause, found.conversation, awaited=found.awaited))
        return health

    def _look(self, budget: Budget | None) -> Health:
        """One look. A program that ends in order after each link, or once its work is done, may have done so before we saw enough.

        Then another look; one that comes to us is started for it.
        """
        return self.undisturbed(lambda: self._brief_look(budget), counts=lambda health: health.verdict is Verdict.PASS)

    def undisturbed(
        self, look: Callable[[], Value], *, counts: Callable[[Value], bool] = lambda _value: False
    ) -> Value:
        """What a look at the node shows, taken again if the node was suspended meanwhile, unless it `counts` all the same.

        One that stays suspended is started anew. Raises CannotGoOn where that happens again and again.
        """
        for _ in range(SUSPENDED_LOOKS):
            node = self.node
            watch = Watch.of(node)
            value = look()
            if counts(value) or self._node is not node or not watch.was_suspended:
                return value
            if node.vitals().suspended:
                self._told(f"{self.target.reach}: {SUSPENDED}")
                self.renew()
        raise CannotGoOn(
            f"{self.target.reach}: {SUSPENDED}, {SUSPENDED_LOOKS} times", step="look at the target", hint="let it run"
        )

    def _timely_look(self, budget: Budget | None) -> Health:
        """A look in which we did not keep an impatient node waiting, if one of several is such."""
        health = self._examine(self.node, budget)
        for _ in range(LATE_LOOKS):
            if not health.verdict.says_nothing:
                break
            health = self._examine(self.node, budget)
        return health

    def _brief_look(self, budget: Budget | None) -> Health:
        health = self._timely_look(budget)
        for _ in range(BRIEF_LOOKS):
            comes = self.node.side is Side.INITIATOR
            if health.verdict is not Verdict.CRASH or not (health.vitals.in_order and (comes or self.habits.brief)):
                break
            if comes:
                self.renew()
            health = self._timely_look(budget)
        return health

    def _waited_for(self, found: Health) -> Health:
        """One that stands still hangs only past its own habit; a stall that ends by itself is slow, with its length."""
        began, patience = time.monotonic() - found.latency, Deadline(time.monotonic() + self.habits.stall)
        while self._examine is check and found.verdict is Verdict.HANG and not patience.passed:
            found = self._timely_look(self._budget)
        if not found.well:
            return found
        return replace(
            found,
            verdict=Verdict.SLOW,
            cause=f"it stood still for {time.monotonic() - began:.0f} s, and went on by itself",
        )

    @property
    def few_sessions(self) -> bool:
        """Whether it holds so few sessions that those of two cases are in each other's way."""
        return self.node.profile.sessions is not None or self.habits.crowded

    @property
    def one_by_one(self) -> bool:
        """Whether cases must come one after the other."""
        return self.few_sessions or self.habits.few

    def left(self) -> bool:
        """Whether a node that connects to us has gone in peace: it may, when its session was refused or closed."""
        if self._node is None or (self._node.side is not Side.INITIATOR and not self.habits.brief):
            return False
        return self._node.vitals().in_order

    def renew(self) -> NodeInstance:
        """A fresh instance in place of the old. Raises CannotGoOn when it cannot be had again."""
        if not self.target.restartable:
            raise CannotGoOn(
                f"{self.target.reach} does not live any more and is not ours to start again", step="restart",
                hint="start it again by hand, or give a target that can be started (wheel, exec:, docker:)",
            )  # fmt: skip
        self._end(self._let_go())
        self.condition = "started anew"
        self._told(f"starting {self.target.reach} ({self.profile}) again")
        return self.node

    def stop(self) -> None:
        """End the instance, if there is one, and start none any more."""
        self._end(self.hand_over())

    def hand_over(self) -> NodeInstance | None:
        """Hand over the instance: the caller ends it from now on, and none is started after it."""
        self._over = True
        return self._let_go()

    def _let_go(self) -> NodeInstance | None:
        with self._lock:
            node, self._node = self._node, None
        return node

    def _end(self, node: NodeInstance | None) -> None:
        if node is None:
            return
        worked = node.vitals().running
        node.stop()
        ended = node.program.ended if node.program else None
        if worked and ended is not None and ended.crashed:
            self.crash_at_end = ended


def says_anything(health: Health, side: Side) -> bool:
    """Whether a message that can be read came from the target during a look at it: such a node is judged, however little it does."""
    conversation = health.conversation
    decoders = Decoders(conversation)
    heard = (seen for event in conversation for seen in decoders.feed(event) if seen.sender is side)
    return any(seen.kind not in ("batch", "undecodable", "unread") for seen in heard)
