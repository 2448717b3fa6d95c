"""Scenes in memory: the reference, or a faulty node, in this process, on a clock that nobody waits for.

The same cases, models and laws run here as against a real node; what would take a lease takes no time.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from zenoh_conformance.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.errata import reading_of
from zenoh_conformance.finding import Finding
from zenoh_conformance.scene import Agent
from zenoh_harness.errors import HarnessError
from zenoh_harness.profiles import PROFILES

from . import Config, Reference
from .application import COMMANDS
from .config import Action
from .configured import config_of
from .credentials import open_session

UNIT = 1.0
"""Seconds of patience on the clock in memory; they cost nothing."""
STEP = 0.25
"""How far the clock goes when nothing is to be read."""


class MemoryWorld:
    """One node, its links, a clock, and the conversation that is written as it goes."""

    def __init__(self, node: Reference) -> None:
        self.node = node
        self.now = 0.0
        self.conversation = Conversation()
        self.inbox: dict[str, deque[Event]] = defaultdict(deque)
        self.ended: set[str] = set()
        """Links that we ended, or the node did."""

    def connect(self, name: str, side: Side) -> None:
        """A link between us, on that side, and the node."""
        names = ("harness", "target") if side is Side.INITIATOR else ("target", "harness")
        self.conversation.connections[name] = Connection(name, "memory", initiator=names[0], responder=names[1])
        self._note(Event(self.now, name, Side.INITIATOR, Happened.OPEN))
        self.take(self.node.connected(name, side.other, self.now))

    def send(self, name: str, side: Side, data: bytes) -> None:
        """Bytes of ours; a link that has ended swallows them."""
        self._note(Event(self.now, name, side, Happened.BYTES, data))
        if name not in self.ended:
            self.take(self.node.received(name, data, self.now))

    def hang_up(self, name: str, side: Side, how: Happened) -> None:
        """We end a link."""
        if name not in self.ended:
            self.ended.add(name)
            self._note(Event(self.now, name, side, how))
            self.take(self.node.disconnected(name, self.now))
            (self.deliver if how is Happened.EOF else self._note)(Event(self.now, name, side.other, Happened.EOF))

    def take(self, actions: list[Action]) -> None:
        """What the node does becomes events."""
        for action in actions:
            side = self._node_side(action.link)
            if action.data:
                self.deliver(Event(self.now, action.link, side, Happened.BYTES, action.data))
            if action.end and action.link not in self.ended:
                self.ended.add(action.link)
                self.deliver(Event(self.now, action.link, side, Happened.EOF))

    def deliver(self, event: Event) -> None:
        """An event of the node, to the conversation and to whoever reads the link."""
        self._note(event)
        self.inbox[event.connection].append(event)

    def advance(self, to: float) -> None:
        """Let time pass."""
        self.now = min(to, self.now + STEP)
        self.take(self.node.tick(self.now))

    def _node_side(self, name: str) -> Side:
        return Side.RESPONDER if self.conversation.connections[name].responder == "target" else Side.INITIATOR

    def _note(self, event: Event) -> None:
        self.conversation.events.append(event)


class MemoryWire:
    """One link in memory: a `zenoh_conformance.scene.Wire`."""

    framing = Framing.STREAM
    link = "memory"

    def __init__(self, world: MemoryWorld, name: str, side: Side) -> None:
        self.world, self.name, self.side = world, name, side
        world.connect(name, side)

    def now(self) -> float:
        return self.world.now

    def send(self, data: bytes) -> None:
        self.world.send(self.name, self.side, data)

    def receive(self, within: float) -> Event | None:
        """The next event of the node; the clock goes on while there is none."""
        deadline = self.world.now + within
        inbox = self.world.inbox[self.name]
        while not inbox and self.world.now < deadline and self.name not in self.world.ended:
            self.world.advance(deadline)
        return inbox.popleft() if inbox else None

    def finish(self) -> None:
        self.world.hang_up(self.name, self.side, Happened.EOF)

    def reset(self) -> None:
        self.world.hang_up(self.name, self.side, Happened.RESET)

    def shut(self) -> None:
        self.world.hang_up(self.name, self.side, Happened.EOF)


class MemoryAgent:
    """The application of a node in memory: a `zenoh_conformance.scene.Agent`."""

    def __init__(self, world: MemoryWorld) -> None:
        self.world = world
        self.application = world.node.application

    def ask(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """One command; HarnessError for what it does not know."""
        if command not in COMMANDS:
            raise HarnessError(f"the application in memory does not know {command}")
        self.application.ask(command, arguments)
        self.world.take(self.world.node.drain())
        return {"ok": True}

    def events(self, count: int, within: float) -> Sequence[Mapping[str, Any]]:
        """What it was told; the clock goes on while there is less."""
        deadline, told = self.world.now + within, self.application.events
        while len(told) < count and self.world.now < deadline:
            self.world.advance(deadline)
        return [told.popleft() for _ in range(min(count, len(told)))]


class MemoryScene:
    """One case's stage around a reference node: a `zenoh_conformance.scene.Scene`."""

    unit = UNIT

    def __init__(
        self, requirement: str, node: type[Reference] = Reference, *, role: Side = Side.RESPONDER, profile: str = "default",
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.requirement, self.role, self.profile, self._seed = requirement, role, profile, seed
        self.world = MemoryWorld(node(config_of(profile)))
        self.deviations: list[Finding] = []
        self.reading: str | None = None
        self._count = 0
        self._names: Counter[str] = Counter()

    @property
    def conversation(self) -> Conversation:
        return self.world.conversation

    @property
    def agent(self) -> Agent:
        """The application in the node."""
        return MemoryAgent(self.world)

    def can(self, capability: str) -> bool:
        return capability in able(self.profile)

    def fact(self, name: str, default: Any = None) -> Any:
        return FACTS.get(name, default)

    def fresh_zid(self) -> bytes:
        """Eight bytes from the seed and a count."""
        self._count += 1
        return sha256(f"{self._seed}/{self._count}".encode()).digest()[:7] + b"\x5a"

    def wire(self, name: str = "us") -> MemoryWire:
        """A new link, with a name that no other has."""
        self._names[name] += 1
        unique = name if self._names[name] == 1 else f"{name}-{self._names[name]}"
        return MemoryWire(self.world, unique, self.role.other)

    def dialogue(self, name: str = "us", *, zid: bytes | None = None) -> Dialogue:
        return Dialogue(self.wire(name), zid=zid or self.fresh_zid(), unit=self.unit, requirement=self.requirement)

    def session(self, name: str = "us", *, zid: bytes | None = None) -> Dialogue:
        return open_session(self.dialogue(name, zid=zid), PROFILES[self.profile])

    def sessions(self, *names: str) -> tuple[Dialogue, ...]:
        return tuple(self.session(name) for name in names)

    def follows(self, erratum: str | None) -> None:
        self.reading = reading_of(erratum)

    def deviate(self, finding: Finding) -> None:
        self.deviations.append(finding)


def able(profile: str) -> frozenset[str]:
    """What the reference does in a profile."""
    return CAPABILITIES | PROFILES[profile].offers


CAPABILITIES = frozenset(
    {"responder", "initiator", "qos", "low-latency", "compression", "routing", "agent", *(f"agent.{name}" for name in COMMANDS)}
)
"""What the reference does."""
FACTS: Mapping[str, Any] = {
    "open_timeout_s": Config().handshake_s, "lease_ms": Config().lease_ms, "time_is_free": True,
}  # fmt: skip
