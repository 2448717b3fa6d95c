"""The stage of one case: links to a node, dialogues over them, all of it recorded, none of it past its deadline."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event as Flag
from typing import Any, Final

from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.messages import sane
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Side
from zenoh_conformance.spec.errata import reading_of
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.talking.budget import ReadBudget
from zenoh_conformance.talking.scene import Agent, drawn_zid
from zenoh_conformance.talking.silences import Silences
from zenoh_harness.errors import CannotConnect, CannotGoOn
from zenoh_harness.links.groups import GroupDoor
from zenoh_harness.links.timing import Deadline, strain, stretched
from zenoh_harness.links.wires import LinkWire, Recorder
from zenoh_harness.reference.credentials import open_session
from zenoh_harness.run.attempt.limiter import MOMENT, Limiter
from zenoh_harness.targets.habits import SETTLE, SessionEnd, TargetHabits, habits_of
from zenoh_harness.targets.target import NodeInstance

CASE: Final = 60.0
"""Seconds that a case may take in all, before scaling."""

GLANCE: Final = 0.01
"""Seconds after which a node that has no room for a link has ended it, before scaling; and until it is tried again."""

GLANCES: Final = 4
"""The same, in times of its slowest answer, ..."""

LONG_GLANCE: Final = 0.1
"""... but no more seconds than these."""

RETURNS: Final = 20
"""How often a node may come back to us within one case, at its slowest, on top of that."""


class Overtime(BaseException):
    """The case's hard deadline has passed, or the run is being ended; nobody on the way takes that for a fault to try again."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a node before a case begins."""

    capabilities: frozenset[str] = frozenset()
    """What a case may name in its `needs`."""
    known: Mapping[str, Any] = field(default_factory=dict)
    """`lease_ms`, `max_sessions`, ..., as a case may ask for."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Shows a person each step of one case before it is done, and waits."""

    label: str
    """The case, with its parameters."""
    before: Callable[[NodeInstance, str, bytes], None]
    """Called with the node, the link's name and the bytes that are about to be sent; returns when the case may go on."""


class StageWire:
    """A recorded link whose waits end at the case's deadline: a `zenoh_conformance.talking.scene.Wire`."""

    def __init__(
        self, below: LinkWire, name: str, deadline: Deadline, stop: Flag, floor: Limiter | None,
        before: Callable[[str, bytes], None] | None = None,
    ) -> None:  # fmt: skip
        """`before` is shown what is about to be sent, and may wait."""
        self._below, self._deadline, self._stop, self._floor, self._before = below, deadline, stop, floor, before
        self.name = name
        self._early: deque[Event] = deque()

    @property
    def side(self) -> Side:
        """Which side the harness is."""
        return self._below.side

    @property
    def framing(self) -> Framing:
        """Stream or datagram."""
        return self._below.framing

    @property
    def link(self) -> str:
        """The link protocol."""
        return self._below.link

    @property
    def done(self) -> bool:
        """Whether we have ended it, or our direction of it."""
        return self._below.done

    def now(self) -> float:
        """Seconds since the conversation began."""
        return self._below.now()

    def send(self, data: bytes) -> None:
        """Put bytes on the link as they are."""
        if self._before is not None:
            self._before(self.name, data)
        self._still_on()
        self._below.send(data)

    def receive(self, within: float) -> Event | None:
        """The next thing that the target does on this link."""
        if self._early:
            return self._early.popleft()
        self._still_on()
        event = self._patiently(min(within, self._deadline.remaining()))
        if event is None and within > 0:
            self._still_on()
        return event

    def _patiently(self, within: float) -> Event | None:
        """Keep the place on the floor for a moment only."""
        if self._floor is None or within <= MOMENT:
            return self._below.receive(within)
        event = self._below.receive(MOMENT)
        if event is None and not self._below.told_end:
            with self._floor.left():
                event = self._below.receive(within - MOMENT)
        return event

    def stale(self, within: float = 0.0) -> bool:
        """Whether the target has ended the link already, or does so soon: one that waited in our queue, or for which it has no room."""
        while (event := self._below.receive(within)) is not None:
            self._early.append(event)
        return bool(self._early) and not self._early[-1].data

    def held_up(self, since: float) -> float:
        """Seconds for which the target could not run since a time of `now`; infinite where that cannot be seen."""
        return self._below.held_up(since)

    def half_closed(self) -> bool:
        """Whether the target ended its own direction only. To be asked when all is said."""
        return self._below.half_closed()

    def finish(self) -> None:
        """Send no more (FIN), go on reading."""
        self._below.finish()

    def reset(self) -> None:
        """End the link at once."""
        self._below.reset()

    def shut(self) -> None:
        """End the link in order."""
        self._below.shut()

    def _still_on(self) -> None:
        if self._deadline.passed or self._stop.is_set():
            raise Overtime


class Stage:
    """One case's scene on one node: a `zenoh_conformance.talking.scene.Scene`."""

    def __init__(
        self,
        node: NodeInstance,
        *,
        requirement: str,
        label: str,
        seed: int = 0,
        facts: Facts | None = None,
        deadline: Deadline | None = None,
        stop: Flag | None = None,
        floor: Limiter | None = None,
        pause: Pause | None = None,
        brief: bool = False,
        silences: Silences | None = None,
    ) -> None:
        """`brief`: whether no answer is waited for long, because nothing rests on it; `silences`: what the target never says."""
        self._node, self._pause, self.brief = node, pause, brief
        if node.agent is not None:
            node.agent.rest()
        self.requirement, self._label, self._seed = requirement, label, seed
        self._facts = facts or Facts()
        self._habits = habits_of(node)
        self._deadline = deadline or Deadline.after(
            strain() * CASE + RETURNS * min(self._habits.longest, self._habits.linger)
        )
        self._stop = stop or Flag()
        self._floor = floor
        self._units, self._strain = (self._habits.unit, self._habits.brief_unit), strain()
        self._recorder = Recorder()
        self._names: Counter[str] = Counter()
        self._zids = 0
        self._wires: list[StageWire] = []
        self.dialogues: list[Dialogue] = []
        self._beside: list[Dialogue] = []
        """Those that have not left."""
        self.budget, self.silences = ReadBudget(), silences or Silences()
        self.findings: list[Finding] = []
        """What the case noted and went on from."""
        self.left = (0, 0)
        """How many circumstances of a varied case there was no time for, and of how many."""
        self.reading: str | None = None
        """Which of two readings the target follows, where the case could tell."""

    @property
    def role(self) -> Side:
        """What the target is."""
        return self._node.side

    @property
    def unit(self) -> float:
        """One unit of patience in seconds."""
        return self._units[self.brief]

    @property
    def profile(self) -> str:
        """The configuration that the target is in."""
        return self._node.profile.name

    @property
    def conversation(self) -> Conversation:
        """All that was said so far, on every link."""
        return self._recorder.conversation

    @property
    def agent(self) -> Agent:
        """The target's application. Raises CannotGoOn when it has none."""
        if self._node.agent is None:
            raise CannotGoOn(f"{self._label} needs an agent and the target has none", step="agent")
        return self._node.agent

    def ended(self, how: str) -> str:
        """How the last link ended, told more closely where it was told as `fin`. To be asked when all is said."""
        how = how or (self.dialogues[-1].end() if self.dialogues else "")
        return "half-close" if how == "fin" and self._wires and self._wires[-1].half_closed() else how

    def fresh_zid(self) -> bytes:
        """Eight bytes that no other dialogue of the run has; the same in every run with the same seed."""
        self._zids += 1
        return drawn_zid(self._seed, self._label, self._zids)

    def can(self, capability: str) -> bool:
        """Whether the target does this."""
        return capability in self._facts.capabilities

    def fact(self, name: str, default: Any = None) -> Any:
        """What is known of the target beforehand."""
        return self._strain if name == "strain" else self._facts.known.get(name, default)

    def wire(self, name: str = "us", *, group: str = "") -> StageWire:
        """A new link, or one to a group. Raises CannotConnect when there is none in time."""
        self._names[name] += 1
        unique = name if self._names[name] == 1 else f"{name}-{self._names[name]}"
        patience = Deadline(min(self._deadline.at, time.monotonic() + self._habits.patience))
        settled = patience.or_sooner(SETTLE)
        if self._habits.narrow and not group and any(before.framing is Framing.DATAGRAM for before in self._wires):
            self.wait(self.unit / 2)  # an end that comes at once does not show
        while self._in_vain(wire := self._open(unique, patience, group), settled, group):
            wire.shut()
            self._forget(unique)
        self._wires.append(wire)
        return wire

    def _in_vain(self, wire: StageWire, settled: Deadline, group: str) -> bool:
        """Whether the target ended the link before anything was said: it gave up, or, of those that serve few at once, has not let
        go yet of the links before. One that still does so when it must have let go of them means it.
        """
        if group:
            return False
        if self.role is Side.INITIATOR:
            return wire.stale()
        if not self._habits.narrow or settled.passed:
            return False
        if stale := wire.stale(stretched(max(GLANCE, min(LONG_GLANCE, GLANCES * self._habits.answer)))):
            self.wait(GLANCE)
        return stale

    def _open(self, name: str, patience: Deadline, group: str) -> StageWire:
        if self._stop.is_set():
            raise Overtime
        try:
            reached = GroupDoor(self._node.groups[group], self.role) if group else self._node
            below = self._recorder.wire(reached, name, patience)
        except CannotConnect:
            if self._deadline.passed:
                raise Overtime from None
            raise
        before = partial(self._pause.before, self._node) if self._pause is not None else None
        return StageWire(below, name, self._deadline, self._stop, self._floor, before)

    def _forget(self, name: str) -> None:
        """A link that was dead when we took it belongs to nobody's conversation."""
        events = self.conversation.events
        events[:] = [event for event in events if event.connection != name]
        self.conversation.connections[name] = Connection(name)

    @property
    def habits(self) -> TargetHabits:
        """What was learnt of the target."""
        return self._habits

    def dialogue(self, name: str = "us", *, zid: bytes | None = None, group: str = "") -> Dialogue:
        """A dialogue over a new link, before any handshake."""
        mine = zid or self.fresh_zid()
        dialogue = Dialogue(self.wire(name, group=group), zid=mine, unit=self.unit, requirement=self.requirement)
        self._habits.prepare(dialogue)
        self.dialogues.append(dialogue)
        dialogue.join(self._beside)
        dialogue.budget, dialogue.silences = self.budget, self.silences
        if self.brief:
            dialogue.fencing = replace(dialogue.fencing, quiet=min(dialogue.fencing.quiet, GLANCE))
        return dialogue

    def session(self, name: str = "us", *, zid: bytes | None = None, **init: Any) -> Dialogue:
        """A dialogue over a new link, live."""
        return open_session(self.dialogue(name, zid=zid), self._node.profile, **init)

    def sessions(self, *names: str) -> tuple[Dialogue, ...]:
        """As many live ones as names."""
        return tuple(self.session(name) for name in names)

    def wait(self, seconds: float) -> None:
        """Let so much time go by, but not past the case's deadline."""
        with self._floor.left() if self._floor is not None else nullcontext():
            self._stop.wait(min(seconds, self._deadline.remaining()))

    def follows(self, erratum: str | None) -> None:
        """Note the reading that the target follows."""
        self.reading = reading_of(erratum)

    def deviate(self, finding: Finding) -> None:
        """Note a fault of the target and go on."""
        self.findings.append(finding)

    def another(self, number: int) -> Stage:
        """A further stage on the same node, with ZenohIDs of its own, under the same deadline."""
        return Stage(
            self._node,
            requirement=self.requirement,
            label=f"{self._label} #{number}",
            seed=self._seed,
            facts=self._facts,
            deadline=self._deadline,
            stop=self._stop,
            floor=self._floor,
            pause=self._pause,
            brief=self.brief,
            silences=self.silences,
        )

    @property
    def has_expired(self) -> bool:
        """Whether a session ended in which we were silent for our lease, and not on purpose.

        What the target said since, on any link, may come of it: it ends a query whose source is gone.
        """
        for us in self.dialogues:
            if us.due <= us.wire.now():
                with suppress(Deviation):  # its budget is spent, which is told elsewhere
                    us.listen(GLANCE)
        return any(us.has_expired for us in self.dialogues)

    def forget_dialogues(self) -> None:
        """Let go of the dialogues, which hold each other and all that they read."""
        self.dialogues.clear()
        self._beside.clear()

    def adopt(self, other: Stage) -> None:
        """Let what was said on another stage be what was said on this one."""
        self._recorder, self.dialogues, self._beside = other._recorder, other.dialogues, other._beside
        self.budget = other.budget
        self.findings += other.findings

    @property
    def stopped(self) -> bool:
        """Whether the run is being ended."""
        return self._stop.is_set()

    def close(self) -> None:
        """Let go of every link, in the way after which the target comes back soonest."""
        for dialogue in self.dialogues:
            if dialogue.shows_no_end:
                with suppress(Overtime):
                    dialogue.hang_up()
            elif self._habits.way is not SessionEnd.FIN:
                end_early(dialogue, self._habits.way)
        for wire in self._wires:
            wire.shut()


def end_early(us: Dialogue, way: SessionEnd) -> None:
    """End a link that the target has not ended: by reset, or, of a live session, by CLOSE."""
    if us.is_over:
        return
    if way is SessionEnd.RST:
        us.wire.reset()
    elif us.my_open is not None and us.their_open is not None:
        with suppress(Overtime):
            us.send(sane.close())
