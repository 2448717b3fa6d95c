"""Replays a recorded conversation as a scene: the target sends what was recorded, and the case must send what was recorded.

Imports only zenoh_conformance and the opening of sessions by profile, since it is packed into `verify.pyz`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from zenoh_conformance.judging.finding import Finding
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.spec.errata import reading_of
from zenoh_conformance.talking import Agent, Dialogue
from zenoh_harness.profiles import PROFILES
from zenoh_harness.reference.credentials import open_session

UNITS = (2.0, 1.0, 4.0, 10.0, 20.0)
"""Possible response times of a healthy target in seconds: of runs, of runs in memory, and scaled for slow machines."""


NUMBER: Final = re.compile(r"-\d+$")
"""What is behind the name of a connection that is not the first of that name."""

Zids = Callable[[int], bytes]
"""The ZenohID of the n-th dialogue, n counting from 1."""


class ReplayMismatch(Exception):  # noqa: N818 - not an error of the program
    """The check does something that was not recorded, so that the conversation cannot be replayed."""


class ReplayTape:
    """The recorded events of both sides, and a clock that follows the replay."""

    def __init__(self, conversation: Conversation, role: Side) -> None:
        self.conversation, self.role = conversation, role
        self.now = 0.0
        self.at = -1
        """The index of the last replayed event."""
        self.ours: deque[tuple[int, Event]] = deque()
        self.theirs: dict[str, deque[tuple[int, Event]]] = {name: deque() for name in conversation.connections}
        for place, event in enumerate(conversation.events):
            if event.kind is Happened.OPEN:
                continue
            if event.sender is role:
                self.theirs.setdefault(event.connection, deque()).append((place, event))
            else:
                self.ours.append((place, event))

    def replay_ours(self, connection: str, kind: Happened, data: bytes = b"") -> None:
        """Match an event of the harness with the next recorded one on that connection. Raises ReplayMismatch."""
        found = next(((n, item) for n, item in enumerate(self.ours) if item[1].connection == connection), None)
        if found is None:
            if kind is not Happened.BYTES or self._has_ended(connection):
                return  # a closed link ignores data, and is not ended twice
            raise ReplayMismatch(f"nothing more was sent on {connection}")
        index, (place, event) = found
        if event.kind is not kind or event.data != data:
            raise ReplayMismatch(f"something else was sent on {connection} in event {place + 1}")
        del self.ours[index]
        self.now, self.at = max(self.now, event.time), max(self.at, place)

    def _has_ended(self, connection: str) -> bool:
        return not any(event.kind is Happened.BYTES for _, event in self.theirs.get(connection, ()))

    def next_event(self, connection: str, within: float) -> Event | None:
        """Return the target's next event on that connection if it occurred before ours; else advance the clock and return None."""
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
    """A recorded link: a `zenoh_conformance.talking.scene.Wire`."""

    def __init__(self, tape: ReplayTape, connection: Connection) -> None:
        self._tape, self._connection = tape, connection
        self._ended = self.done = False
        self.name, self.side = connection.name, tape.role.other
        self.framing: Framing = connection.framing
        self.link = connection.link

    def now(self) -> float:
        """Return the recorded time."""
        return self._tape.now

    def send(self, data: bytes) -> None:
        """Send data that must be the recorded data."""
        self._tape.replay_ours(self.name, Happened.BYTES, data)

    def receive(self, within: float) -> Event | None:
        """Return the recorded event."""
        event = None if self._ended else self._tape.next_event(self.name, within)
        self._ended = self._ended or (event is not None and event.kind is not Happened.BYTES)
        return event

    def held_up(self, _since: float) -> float:
        """Return none: what was recorded does not change."""
        return 0.0

    def finish(self) -> None:
        """Close our direction."""
        self.done = True
        self._tape.replay_ours(self.name, Happened.EOF)

    def reset(self) -> None:
        """Reset the link."""
        self.done = True
        self._tape.replay_ours(self.name, Happened.RESET)

    def shut(self) -> None:
        """Close the link."""
        self.done = True
        self._tape.replay_ours(self.name, Happened.EOF)


class TapeScene:
    """A scene on the recorded conversation: a `zenoh_conformance.talking.scene.Scene`."""

    def __init__(
        self,
        conversation: Conversation,
        *,
        role: Side,
        profile: str,
        requirement: str,
        zids: Zids | None = None,
        unit: float = UNITS[0],
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """`zids`: what our dialogues were called, by their count; without it, what our INITs show.

        `facts`: what was known of the target.
        """
        self.unit, self.brief, self.left = unit, False, (0, 0)
        self._facts = facts or {}
        self.guessed: set[str] = set()
        """Facts that the check used and that were not recorded."""
        self.tape = ReplayTape(conversation, role)
        self.role, self.profile, self.requirement = role, profile, requirement
        self.findings: list[Finding] = []
        self.reading: str | None = None
        self.dialogues: list[Dialogue] = []
        self._beside: list[Dialogue] = []
        """Those that have not left."""
        self._unused = list(conversation.connections.values())
        self._draw, self._count = zids, 0
        self._shown = shown_zids(conversation, role.other)

    @property
    def conversation(self) -> Conversation:
        """Return the conversation up to the replayed event."""
        whole = self.tape.conversation
        return Conversation(whole.connections, whole.events[: self.tape.at + 1], whole.about)

    @property
    def agent(self) -> Agent:
        """Raise ReplayMismatch: a proof contains no application."""
        raise ReplayMismatch("the check asks the target's application")

    def fresh_zid(self) -> bytes:
        """Return the recorded ZenohID of the next dialogue."""
        self._count += 1
        if self._draw is not None:
            return self._draw(self._count)
        return self._shown.popleft()[1] if self._shown else bytes(7) + b"\x5a"

    def can(self, capability: str) -> bool:
        """Return true, since the case ran when it was recorded."""
        return True

    def fact(self, name: str, default: Any = None) -> Any:
        """Return the recorded fact; else the default, and note that it was used."""
        if name not in self._facts:
            self.guessed.add(name)
        return self._facts.get(name, default)

    def wire(self, name: str = "us", *, group: str = "") -> TapeWire:
        """Open the next link of that name. Raises ReplayMismatch if there is none."""
        found = next((one for one in self._unused if name in (one.name, NUMBER.sub("", one.name))), None)
        if found is None:
            raise ReplayMismatch(f"there is no further connection {name}")
        self._unused.remove(found)
        return TapeWire(self.tape, found)

    def dialogue(self, name: str = "us", *, zid: bytes | None = None, group: str = "") -> Dialogue:
        """Open a dialogue over the next link of that name, with its recorded ZenohID."""
        wire = self.wire(name, group=group)
        known = next((each for each in self._shown if each[0] == wire.name), None)
        if zid is None and known is not None and self._draw is None:
            self._shown.remove(known)
            zid = known[1]
        us = Dialogue(wire, zid=zid or self.fresh_zid(), unit=self.unit, requirement=self.requirement)
        self.dialogues.append(us)
        us.join(self._beside)
        return us

    def session(self, name: str = "us", *, zid: bytes | None = None, **init: Any) -> Dialogue:
        """Open a dialogue with the handshake of the profile. Raises ReplayMismatch for an unknown profile."""
        if self.profile not in PROFILES:
            raise ReplayMismatch(f"there is no profile {self.profile}")
        return open_session(self.dialogue(name, zid=zid), PROFILES[self.profile], **init)

    def sessions(self, *names: str) -> tuple[Dialogue, ...]:
        """Open one dialogue per name."""
        return tuple(self.session(name) for name in names)

    def wait(self, seconds: float) -> None:
        """Advance the clock."""
        self.tape.next_event("", seconds)

    def follows(self, erratum: str | None) -> None:
        """Store the reading."""
        self.reading = reading_of(erratum)

    def deviate(self, finding: Finding) -> None:
        """Store a deviation and continue."""
        self.findings.append(finding)


def shown_zids(conversation: Conversation, ours: Side) -> deque[tuple[str, bytes]]:
    """Return (connection, ZenohID) of every INIT of the harness, in order."""
    decoders: dict[str, ConnectionDecoder] = {}
    found: deque[tuple[str, bytes]] = deque()
    for event in conversation:
        decoder = decoders.setdefault(event.connection, ConnectionDecoder(conversation.connection(event.connection)))
        for seen in decoder.feed(event):
            if seen.sender is ours and seen.kind == "init":
                found.append((event.connection, seen.message.zid.raw))
    return found
