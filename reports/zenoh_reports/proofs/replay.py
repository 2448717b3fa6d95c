"""A recorded conversation as a scene: the target says what it said then, and what we say must be what we said then.

Stands on the conformance room, and on how a session of each profile is opened: it is packed into `verify.pyz`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

from zenoh_conformance.connection import ConnectionDecoder
from zenoh_conformance.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.dialogue import Dialogue
from zenoh_conformance.errata import reading_of
from zenoh_conformance.finding import Finding
from zenoh_conformance.scene import Agent
from zenoh_harness.profiles import PROFILES
from zenoh_harness.reference.credentials import open_session

UNITS = (2.0, 1.0, 4.0, 10.0, 20.0)
"""Seconds that a healthy target takes at most: as runs have it, as memory has it, and scaled for slow machines."""


Zids = Callable[[int], bytes]
"""The ZenohID of the n-th dialogue, n counting from 1."""


class Apart(Exception):  # noqa: N818 - no fault of anybody
    """The check does not do now what was recorded then: the conversation cannot be replayed."""


class Tape:
    """The recorded events, ours and the target's, with a clock that stands where the replay is."""

    def __init__(self, conversation: Conversation, role: Side) -> None:
        self.conversation, self.role = conversation, role
        self.now = 0.0
        self.at = -1
        """The place of the last event that was replayed."""
        self.ours: deque[tuple[int, Event]] = deque()
        self.theirs: dict[str, deque[tuple[int, Event]]] = {name: deque() for name in conversation.connections}
        for place, event in enumerate(conversation.events):
            if event.kind is Happened.OPEN:
                continue
            if event.sender is role:
                self.theirs.setdefault(event.connection, deque()).append((place, event))
            else:
                self.ours.append((place, event))

    def said(self, connection: str, kind: Happened, data: bytes = b"") -> None:
        """We say something: it must be the next thing that we said on that connection. Raises Apart."""
        found = next(((n, item) for n, item in enumerate(self.ours) if item[1].connection == connection), None)
        if found is None:
            if kind is not Happened.BYTES or self._gone(connection):
                return  # a link that has gone swallows what is said, and is not ended twice
            raise Apart(f"nothing more was said on {connection}")
        index, (place, event) = found
        if event.kind is not kind or event.data != data:
            raise Apart(f"something else was said on {connection} in event {place + 1}")
        del self.ours[index]
        self.now, self.at = max(self.now, event.time), max(self.at, place)

    def _gone(self, connection: str) -> bool:
        return not any(event.kind is Happened.BYTES for _, event in self.theirs.get(connection, ()))

    def heard(self, connection: str, within: float) -> Event | None:
        """What the target did next on that connection, if it did so before we went on; else None, and time passes."""
        queue = self.theirs.get(connection, deque())
        limit = self.now + within
        next_ours = self.ours[0] if self.ours else None
        if queue:
            place, event = queue[0]
            waited = next_ours is not None and place < next_ours[0]
            if waited or (next_ours is None and event.time <= limit):
                queue.popleft()
                self.now, self.at = max(self.now, event.time), max(self.at, place)
                return event
        self.now = limit if next_ours is None else max(self.now, min(limit, next_ours[1].time))
        if within > 0 and next_ours is not None and limit > next_ours[1].time:
            self.now = limit
        return None


class TapeWire:
    """One recorded link: a `zenoh_conformance.scene.Wire`."""

    def __init__(self, tape: Tape, connection: Connection) -> None:
        self._tape, self._connection = tape, connection
        self._ended = self.done = False
        self.name, self.side = connection.name, tape.role.other
        self.framing: Framing = connection.framing
        self.link = connection.link

    def now(self) -> float:
        """The recorded time."""
        return self._tape.now

    def send(self, data: bytes) -> None:
        """Say it again."""
        self._tape.said(self.name, Happened.BYTES, data)

    def receive(self, within: float) -> Event | None:
        """What came then."""
        event = None if self._ended else self._tape.heard(self.name, within)
        self._ended = self._ended or (event is not None and event.kind is not Happened.BYTES)
        return event

    def finish(self) -> None:
        """We end our direction."""
        self.done = True
        self._tape.said(self.name, Happened.EOF)

    def reset(self) -> None:
        """We end the link at once."""
        self.done = True
        self._tape.said(self.name, Happened.RESET)

    def shut(self) -> None:
        """We end the link."""
        self.done = True
        self._tape.said(self.name, Happened.EOF)


class TapeScene:
    """A case's stage on the recorded conversation: a `zenoh_conformance.scene.Scene`."""

    def __init__(
        self, conversation: Conversation, *, role: Side, profile: str, requirement: str, zids: Zids | None = None,
        unit: float = UNITS[0], facts: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """`zids`: what our dialogues were called, by their count; without it, what our INITs show.

        `facts`: what was known of the target.
        """
        self.unit = unit
        self._facts = facts or {}
        self.guessed: set[str] = set()
        """Facts that the check asked for and nobody wrote down."""
        self.tape = Tape(conversation, role)
        self.role, self.profile, self.requirement = role, profile, requirement
        self.findings: list[Finding] = []
        self.reading: str | None = None
        self.dialogues: list[Dialogue] = []
        self._names: Counter[str] = Counter()
        self._draw, self._count = zids, 0
        self._shown = shown_zids(conversation, role.other)

    @property
    def conversation(self) -> Conversation:
        """What was said so far."""
        whole = self.tape.conversation
        return Conversation(whole.connections, whole.events[: self.tape.at + 1], whole.about)

    @property
    def agent(self) -> Agent:
        """There is no application any more. Raises Apart."""
        raise Apart("the check asks the target's application")

    def fresh_zid(self) -> bytes:
        """What we were called then, in the order of the dialogues."""
        self._count += 1
        if self._draw is not None:
            return self._draw(self._count)
        return self._shown.popleft()[1] if self._shown else bytes(7) + b"\x5a"

    def can(self, capability: str) -> bool:
        """It was tried, so it could."""
        return True

    def fact(self, name: str, default: Any = None) -> Any:
        """What was written down; else the default, and that it was asked for."""
        if name not in self._facts:
            self.guessed.add(name)
        return self._facts.get(name, default)

    def wire(self, name: str = "us") -> TapeWire:
        """The next link of that name. Raises Apart where there was none."""
        self._names[name] += 1
        unique = name if self._names[name] == 1 else f"{name}-{self._names[name]}"
        if unique not in self.tape.conversation.connections:
            raise Apart(f"there is no connection {unique}")
        return TapeWire(self.tape, self.tape.conversation.connections[unique])

    def dialogue(self, name: str = "us", *, zid: bytes | None = None) -> Dialogue:
        """A dialogue over the next link of that name, under the ZenohID that it had."""
        wire = self.wire(name)
        known = next((each for each in self._shown if each[0] == wire.name), None)
        if zid is None and known is not None and self._draw is None:
            self._shown.remove(known)
            zid = known[1]
        us = Dialogue(wire, zid=zid or self.fresh_zid(), unit=self.unit, requirement=self.requirement)
        self.dialogues.append(us)
        us.beside_us = self.dialogues
        return us

    def session(self, name: str = "us", *, zid: bytes | None = None, **init: Any) -> Dialogue:
        """A dialogue with the handshake that the profile asks for. Raises Apart for a profile that is not known."""
        if self.profile not in PROFILES:
            raise Apart(f"there is no profile {self.profile}")
        return open_session(self.dialogue(name, zid=zid), PROFILES[self.profile], **init)

    def sessions(self, *names: str) -> tuple[Dialogue, ...]:
        """As many as names."""
        return tuple(self.session(name) for name in names)

    def wait(self, seconds: float) -> None:
        """The time that went by then goes by again."""
        self.tape.heard("", seconds)

    def follows(self, erratum: str | None) -> None:
        """Note the reading."""
        self.reading = reading_of(erratum)

    def deviate(self, finding: Finding) -> None:
        """Note a fault and go on."""
        self.findings.append(finding)


def shown_zids(conversation: Conversation, ours: Side) -> deque[tuple[str, bytes]]:
    """(connection, ZenohID) of everything that we proposed or answered, in order."""
    decoders: dict[str, ConnectionDecoder] = {}
    found: deque[tuple[str, bytes]] = deque()
    for event in conversation:
        decoder = decoders.setdefault(event.connection, ConnectionDecoder(conversation.connection(event.connection)))
        for seen in decoder.feed(event):
            if seen.sender is ours and seen.kind == "init":
                found.append((event.connection, seen.message.zid.raw))
    return found
