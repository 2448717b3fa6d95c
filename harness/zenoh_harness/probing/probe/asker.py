"""Dialogues with one node, one question each, and the facts that they show."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.judging.finding import Deviation
from zenoh_conformance.messages import Auth, Init, sane
from zenoh_conformance.reading.kinds import InitAck
from zenoh_conformance.talking import Dialogue
from zenoh_conformance.wire import exts
from zenoh_harness.errors import CannotConnect
from zenoh_harness.links.timing import Deadline, scaled
from zenoh_harness.links.wires import Recorder
from zenoh_harness.reference.credentials import USER_METHOD, open_session
from zenoh_harness.targets.habits import habits_of
from zenoh_harness.targets.target import NodeInstance

UNIT: Final = 2.0
"""Seconds that one answer may take."""

QUICK: Final = 0.25
"""Seconds that every node is given, however quick."""

_ZIDS = itertools.count(1)


@dataclass(slots=True)
class ProbeFacts:
    """Facts about a node in one profile; a fact that could not be seen is absent."""

    profile: str
    seen: dict[str, Any] = field(default_factory=dict)
    """Name -> value, in the order of the table."""
    capabilities: set[str] = field(default_factory=set)

    def note(self, name: str, value: object) -> None:
        """Store a fact, unless it is None."""
        if value is not None:
            self.seen[name] = value

    def beside(self, other: ProbeFacts) -> ProbeFacts:
        """Return these facts, and those that only the other probe saw."""
        return ProbeFacts(self.profile, {**other.seen, **self.seen}, self.capabilities | other.capabilities)


class Asker:
    """Dialogues with one node, one question each."""

    def __init__(self, node: NodeInstance) -> None:
        self.node = node
        self.habits = habits_of(node)
        self.unit = max(scaled(UNIT), self.habits.unit)
        """Seconds that one answer may take; measured in the first session."""
        self._open: list[Dialogue] = []

    def learn(self) -> Dialogue | None:
        """Open a first session; the time that it takes bounds the wait for every later answer."""
        began = time.monotonic()
        dialogue = self.session()
        if dialogue is not None:
            self.unit = min(self.unit, max(scaled(QUICK), 10 * self.habits.answer, 50 * (time.monotonic() - began)))
        return dialogue

    def dialogue(self, **options: Any) -> Dialogue | None:
        """Open a link; None if the node cannot be reached."""
        zid = b"\x70" + next(_ZIDS).to_bytes(6, "big") + b"\x7a"
        try:
            wire = Recorder().wire(self.node, "probe", Deadline.after(max(UNIT, self.habits.longest * 2)))
        except CannotConnect:
            return None
        dialogue = Dialogue(wire, zid=zid, unit=self.unit, requirement="target/probe", **options)
        self.habits.prepare(dialogue)
        self._open.append(dialogue)
        dialogue.beside_us = self._open
        return dialogue

    def session(self, **changes: Any) -> Dialogue | None:
        """Open a session; None if the node refuses it."""
        dialogue = self.dialogue()
        try:
            return open_session(dialogue, self.node.profile, **changes) if dialogue else None
        except Deviation:
            return None

    def init(self, *, shows_user: bool = True, **changes: Any) -> Init | str:
        """Return the INIT that answers ours, or how ours was refused; ours offers a user where the profile asks for one."""
        dialogue = self.dialogue()
        if dialogue is None:
            return "no link"
        if shows_user and self.node.profile.credentials:
            changes["exts"] = exts(*changes.get("exts", sane.OFFERS), Auth(payload=USER_METHOD))
        try:
            answer: Init = dialogue.ask(dialogue.init_syn(**changes), expect=InitAck)
        except Deviation as why:
            return why.finding.got
        return answer

    def works(self, **changes: Any) -> bool:
        """Whether a session with these changes opens and finishes a query."""
        dialogue = self.session(**changes)
        try:
            return dialogue is not None and dialogue.fence() is not None
        except Deviation:
            return False

    def leave(self) -> None:
        """End all open sessions, so that the next question meets an idle node."""
        while self._open:
            self._open.pop().leave()
