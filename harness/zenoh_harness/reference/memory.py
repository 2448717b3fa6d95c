"""Scenes in memory: the reference node or a faulty node in this process, with a simulated clock.

The same cases, models and laws run here as against a real node; to wait for a lease takes no real time.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import count
from typing import Any

from zenoh_conformance.judging.finding import Deviation, Finding
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.spec.errata import reading_of
from zenoh_conformance.talking import ANSWERS, Agent, Dialogue
from zenoh_conformance.talking.budget import ReadBudget
from zenoh_conformance.talking.fences import BY_QUERY, Fencing, best
from zenoh_harness.errors import CannotConnect, HarnessError
from zenoh_harness.profiles import ASSUMED, PROFILES

from . import Reference
from .application import COMMANDS
from .config import Action
from .configured import config_of
from .credentials import open_session
from .groups import MULTICAST, SCOUTING

UNIT = 1.0
"""Simulated seconds within which the node answers."""
BRIEF_UNIT = 0.1
"""The same where nothing rests on the answer."""
STEP = 0.25
"""The most simulated seconds by which the clock advances at a time while nothing can be read."""
SETTLE = 3.0
"""Simulated seconds within which a node releases an ended link."""


class MemoryWorld:
    """One node with its links, the simulated clock, and the conversation that is recorded."""

    def __init__(self, made: Callable[[], Reference]) -> None:
        """`made` creates the node, again after each end of its program."""
        self._made = made
        self.node = made()
        self.framing = Framing.DATAGRAM if "stream" in self.node.lacks else Framing.STREAM
        """Datagrams for a node that lacks streams: the end of a link without CLOSE is not seen there."""
        self.now = 0.0
        self.conversation = Conversation()
        self.inbox: dict[str, deque[Event]] = defaultdict(deque)
        self.ended: set[str] = set()
        """Links that the harness has ended, or whose end by the node it has received."""
        self._waiting: dict[str, list[bytes]] = {}
        """Links that the node has not accepted yet, with the bytes that were sent on them."""
        self._unknown: set[str] = set()
        """Links of datagrams on which nothing was sent: the node does not know them."""
        self._served: dict[str, Side] = {}
        """Links that the node serves, with its side."""
        self._late: dict[str, deque[tuple[float, Event]]] = defaultdict(deque)
        """Events of the node that are delayed, each with the time at which it is due."""
        self._utterances = count()
        self.in_group: dict[str, str] = {}
        """Links to a group, each with the name of the group."""
        self._left_at: float | None = None
        """The time at which the last link of a node that is an initiator ended."""

    def go_on_from(self, before: MemoryWorld) -> None:
        """Take over the node and the clock of another world; the conversation begins anew."""
        self.node, self.now, self._made = before.node, before.now, before._made
        self._left_at, self._utterances = before._left_at, before._utterances

    def connect(self, name: str, side: Side) -> None:
        """Connect the harness, on this side, with the node. Raises CannotConnect if the node does not connect."""
        names = ("harness", "target") if side is Side.INITIATOR else ("target", "harness")
        if side is Side.RESPONDER:
            self._comes()
        self.conversation.connections[name] = Connection(
            name, "memory", self.framing, initiator=names[0], responder=names[1]
        )
        self._note(Event(self.now, name, Side.INITIATOR, Happened.OPEN))
        if side is Side.INITIATOR and self.framing is Framing.DATAGRAM:
            self._unknown.add(name)
        else:
            self._admit(name, side)

    def _admit(self, name: str, side: Side) -> None:
        """Let the node serve a link, or let the link wait until it may."""
        most = self.node.habits.links_at_a_time
        if most is not None and len(self._served) >= most:
            self._waiting[name] = []
        else:
            self._serve(name, side.other)

    def connect_group(self, name: str, group: str) -> None:
        """Connect the harness with a group that the node is in."""
        self.conversation.connections[name] = Connection(
            name, "memory", Framing.DATAGRAM, initiator="harness", responder="target"
        )
        self.in_group[name] = group
        if group == MULTICAST and MULTICAST not in self.node.links:
            self.take(self.node.join_group(self.now))

    def _comes(self) -> None:
        """Advance the clock until an initiator connects again, or restart it if it does not. Raises CannotConnect."""
        habits = self.node.habits
        if habits.links_at_a_time is not None and len(self._served) >= habits.links_at_a_time:
            raise CannotConnect("the node does not come while it has a link", step="accept")
        if self._left_at is None:
            return
        if habits.comes_back_after is None or habits.ends_with is not None:
            self.node = self._made()
        else:
            while self.now < self._left_at + habits.comes_back_after:
                self.advance(self._left_at + habits.comes_back_after)

    def _serve(self, name: str, side: Side) -> None:
        self._served[name] = side
        self.take(self.node.connected(name, side, self.now, self.framing))

    def send(self, name: str, side: Side, data: bytes) -> None:
        """Send bytes to the node; on an ended link they are lost."""
        self._note(Event(self.now, name, side, Happened.BYTES, data))
        if name in self._unknown:
            self._unknown.remove(name)
            self._admit(name, side)
        if name in self.in_group:
            group = self.in_group[name]
            self.take(
                self.node.on_scouting(name, data) if group == SCOUTING else self.node.on_datagram(name, data, self.now)
            )
        elif name in self._waiting:
            self._waiting[name].append(data)
        elif name in self._served:
            self.take(self.node.received(name, data, self.now))

    def hang_up(self, name: str, side: Side, how: Happened) -> None:
        """End a link on the harness's side."""
        if self.in_group.pop(name, None) or self.framing is Framing.DATAGRAM:
            self.ended.add(name)
        elif name not in self.ended:
            self.ended.add(name)
            self._note(Event(self.now, name, side, how))
            if self._waiting.pop(name, None) is None and name in self._served:
                self.take(self.node.disconnected(name, self.now))
                self._release(name)
            (self.deliver if how is Happened.EOF else self._note)(Event(self.now, name, side.other, Happened.EOF))

    def _release(self, name: str) -> None:
        """Release an ended link of the node, and serve the next one that waits."""
        if self._served.pop(name, None) is Side.INITIATOR:
            self._left_at = self.now
        for waiting in list(self._waiting)[:1]:
            said = self._waiting.pop(waiting)
            self._serve(waiting, Side.RESPONDER)
            for data in said:
                self.take(self.node.received(waiting, data, self.now))

    def take(self, actions: list[Action]) -> None:
        """Turn actions of the node into events, with the delays and the sizes of its habits."""
        for action in actions:
            if action.link in (MULTICAST, SCOUTING) or action.link in self.in_group:
                for name in [name for name, group in self.in_group.items() if action.link in (group, name)]:
                    self.deliver(Event(self.now, name, Side.RESPONDER, Happened.BYTES, action.data))
                continue
            side = self._node_side(action.link)
            stream = self.framing is Framing.STREAM
            for piece in self.node.habits.cut(action.data) if action.data and stream else filter(None, [action.data]):
                self._utter(Event(self.now, action.link, side, Happened.BYTES, piece))
            if action.end and action.link in self._served:
                how = Happened.RESET if action.reset else Happened.EOF
                if stream:
                    self._utter(Event(self.now, action.link, side, how))
                self._release(action.link)

    def _utter(self, event: Event) -> None:
        """Deliver an event at once, or queue it if it or an earlier event of the link is delayed."""
        late = self._late[event.connection]
        wait = self.node.habits.late(next(self._utterances))
        if not wait and not late:
            self.deliver(event)
        else:
            late.append((max(self.now + wait, late[-1][0] if late else 0.0), event))

    def deliver(self, event: Event) -> None:
        """Add an event of the node to the conversation and to the inbox of its link."""
        if event.kind is not Happened.BYTES:
            self.ended.add(event.connection)
        self._note(event)
        self.inbox[event.connection].append(event)

    def advance(self, to: float) -> None:
        """Advance the clock to `to`, to the next delayed event, or by `STEP`, whichever is first."""
        due = min((late[0][0] for late in self._late.values() if late), default=to)
        self.now = max(self.now, min(to, self.now + STEP, due))
        for name, late in self._late.items():
            while late and late[0][0] <= self.now:
                event = late.popleft()[1]
                if name not in self.ended:
                    self.deliver(replace(event, time=self.now))
        self.take(self.node.tick(self.now))

    def in_vain(self, wire: MemoryWire) -> bool:
        """Return whether a node with one link at a time has ended a new link at once.

        It may not have released the previous link yet.
        """
        return wire.side is Side.INITIATOR and "several-links" in self.node.lacks and wire.name in self.ended

    def forget(self, name: str) -> None:
        """Remove a link that was ended at once from the conversation, and advance the clock before the next attempt."""
        self.conversation.events[:] = [event for event in self.conversation.events if event.connection != name]
        self.inbox.pop(name, None)
        self.ended.discard(name)
        self.advance(self.now + STEP)

    def _node_side(self, name: str) -> Side:
        return Side.RESPONDER if self.conversation.connections[name].responder == "target" else Side.INITIATOR

    def _note(self, event: Event) -> None:
        self.conversation.events.append(event)


class MemoryWire:
    """One link in memory: a `zenoh_conformance.talking.scene.Wire`."""

    link = "memory"

    def __init__(self, world: MemoryWorld, name: str, side: Side, group: str = "") -> None:
        self.world, self.name, self.side, self._done = world, name, side, False
        self.framing = Framing.DATAGRAM if group else world.framing
        if group:
            world.connect_group(name, group)
        else:
            world.connect(name, side)

    def now(self) -> float:
        return self.world.now

    @property
    def done(self) -> bool:
        return self._done

    def send(self, data: bytes) -> None:
        self.world.send(self.name, self.side, data)

    def receive(self, within: float) -> Event | None:
        """Return the next event of the node, advancing the clock by up to `within` seconds; None without an event."""
        deadline = self.world.now + within
        inbox = self.world.inbox[self.name]
        while not inbox and self.world.now < deadline and self.name not in self.world.ended:
            self.world.advance(deadline)
        return inbox.popleft() if inbox else None

    def held_up(self, _since: float) -> float:
        """Return none: the clock only goes on where nothing is left to do."""
        return 0.0

    def finish(self) -> None:
        self._done = True
        self.world.hang_up(self.name, self.side, Happened.EOF)

    def reset(self) -> None:
        self._done = True
        self.world.hang_up(self.name, self.side, Happened.RESET)

    def shut(self) -> None:
        self._done = True
        self.world.hang_up(self.name, self.side, Happened.EOF)


class MemoryAgent:
    """The application of a node in memory: a `zenoh_conformance.talking.scene.Agent`."""

    def __init__(self, world: MemoryWorld) -> None:
        self.world = world
        self.application = world.node.application

    def ask(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Do one command. Raises HarnessError for an unknown one."""
        if command not in COMMANDS:
            raise HarnessError(f"the application in memory does not know {command}")
        self.application.ask(command, arguments)
        self.world.take(self.world.node.drain())
        return {"ok": True}

    def events(self, count: int, within: float) -> Sequence[Mapping[str, Any]]:
        """Return up to `count` events, advancing the clock by up to `within` seconds until there are as many."""
        deadline, told = self.world.now + within, self.application.events
        while len(told) < count and self.world.now < deadline:
            self.world.advance(deadline)
        return [told.popleft() for _ in range(min(count, len(told)))]


class MemoryScene:
    """The scene of one case with a node in memory: a `zenoh_conformance.talking.scene.Scene`."""

    def __init__(
        self, requirement: str, node: type[Reference] = Reference, *, role: Side = Side.RESPONDER, profile: str = "default",
        seed: int = 0, quick: bool = False, variations: str = "quick",
    ) -> None:  # fmt: skip
        self._known = {"quick": quick, "variations": variations}
        self.requirement, self.role, self.profile, self._seed = requirement, role, profile, seed
        self._starts = 0
        self._node = node
        self.brief, self.left = False, (0, 0)
        self.world = MemoryWorld(self._started)
        self.dialogues: list[Dialogue] = []
        self._beside: list[Dialogue] = []
        """Those that have not left."""
        self.budget = ReadBudget()
        self.deviations: list[Finding] = []
        self.reading: str | None = None
        self._count = 0
        self._names: Counter[str] = Counter()

    def _started(self) -> Reference:
        """Create the node; called once more for each restart."""
        self._starts += 1
        config = config_of(self.profile, **self._node.settings)
        if self._node.habits.new_zid:
            config = replace(config, zid=sha256(f"start {self._starts}".encode()).digest()[:8])
        return self._node(config)

    @property
    def unit(self) -> float:
        """Seconds, of its own clock, within which the node answers."""
        habits = self._node.habits
        return max(BRIEF_UNIT if self.brief else UNIT, ANSWERS * (habits.answers_after + habits.jitter))

    @property
    def conversation(self) -> Conversation:
        return self.world.conversation

    @property
    def agent(self) -> Agent:
        """The agent of the application in the node."""
        return MemoryAgent(self.world)

    def can(self, capability: str) -> bool:
        return capability in able(self.profile, self._node)

    def fact(self, name: str, default: Any = None) -> Any:
        return self._known[name] if name in self._known else facts_of(self._node, self.profile).get(name, default)

    def fresh_zid(self) -> bytes:
        """Return a new ZenohID of eight bytes, derived from the seed and a count."""
        self._count += 1
        return sha256(f"{self._seed}/{self._count}".encode()).digest()[:7] + b"\x5a"

    def wire(self, name: str = "us", *, group: str = "") -> MemoryWire:
        """Open a new link with a unique name; try again if the node has not released the previous link yet."""
        self._names[name] += 1
        unique = name if self._names[name] == 1 else f"{name}-{self._names[name]}"
        if group:
            return MemoryWire(self.world, unique, Side.INITIATOR, group)
        if self.conversation.connections and self.world.framing is Framing.DATAGRAM and not self.can("several-links"):
            self.wait(self.unit / 2)  # an end that comes at once does not show
        settled = self.world.now + SETTLE
        while self.world.in_vain(wire := MemoryWire(self.world, unique, self.role.other)) and self.world.now < settled:
            self.world.forget(unique)
        return wire

    def dialogue(self, name: str = "us", *, zid: bytes | None = None, group: str = "") -> Dialogue:
        us = Dialogue(
            self.wire(name, group=group), zid=zid or self.fresh_zid(), unit=self.unit, requirement=self.requirement
        )
        us.fencing = fencing_of(self._node, self.role, self.profile)  # type: ignore[arg-type]  # a class is hashable
        self.dialogues.append(us)
        us.join(self._beside)
        us.budget = self.budget
        return us

    def session(self, name: str = "us", *, zid: bytes | None = None, **init: Any) -> Dialogue:
        return open_session(self.dialogue(name, zid=zid), PROFILES[self.profile], **init)

    def sessions(self, *names: str) -> tuple[Dialogue, ...]:
        return tuple(self.session(name) for name in names)

    def wait(self, seconds: float) -> None:
        until = self.world.now + seconds
        while self.world.now < until:
            self.world.advance(until)

    def follows(self, erratum: str | None) -> None:
        self.reading = reading_of(erratum)

    def deviate(self, finding: Finding) -> None:
        self.deviations.append(finding)


def over_datagrams(node: type[Reference]) -> type[Reference]:
    """Return the node as it is over links of datagrams."""
    return type(f"{node.__name__}OverDatagrams", (node,), {"lacks": node.lacks | {"stream"}})


def able(profile: str, node: type[Reference] = Reference) -> frozenset[str]:
    """Return the capabilities of a node in a profile."""
    config = config_of(profile, **node.settings)
    return (CAPABILITIES | PROFILES[profile].offers | ({"patch"} if config.patch else set())) - node.lacks


@cache
def fencing_of(node: type[Reference], role: Side, profile: str) -> Fencing:
    """Return the fence for a node; for one that sends no finals it is found by trial, as for a real target."""
    if "finals" not in node.lacks:
        return BY_QUERY
    scene = MemoryScene("target/habits", node, role=role, profile=profile)
    us = Dialogue(scene.wire(), zid=scene.fresh_zid(), unit=scene.unit, requirement=scene.requirement)
    try:
        return best(open_session(us, PROFILES[profile]), scene.unit / 2, scene.unit / 4)[0]
    except Deviation:
        return BY_QUERY


def facts_of(node: type[Reference], profile: str) -> Mapping[str, Any]:
    """Return the facts that cases may ask for about a node in a profile."""
    config = config_of(profile, **node.settings)
    known = {
        "open_timeout_s": config.handshake_s,
        "lease_ms": config.lease_ms,
        "time_is_free": True,
        "stated_role": ("router", "peer", "client")[config.whatami],
    }
    return {**known, **node.facts}


CAPABILITIES = ASSUMED | {
    "responder", "initiator", "qos", "low-latency", "compression", "agent", *(f"agent.{name}" for name in COMMANDS),
}  # fmt: skip
"""The capabilities of the reference node."""
