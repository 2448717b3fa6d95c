"""Laws: folds over conversations, which never know whose conversation it is.

A law's annotated attributes are its state, its `on_<message>` methods are its steps, `end` closes. A new instance is made
for each connection, each session, or once for the conversation, as the law declares. Laws count *subjects*: a law that met
nothing says `not-observed`, never `pass`. They can begin in the middle of a session: what they did not see, they do not judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from inspect import getdoc
from typing import Any, TypeVar

from .case import import_all
from .connection import Decoders, Seen
from .conversation import Conversation, Event, Happened, Side
from .finding import Finding


class Per(Enum):
    """What one instance of a law looks at."""

    CONNECTION = "connection"
    SESSION = "session"
    CONVERSATION = "conversation"


MOST_FINDINGS = 100
"""Findings kept of one law instance: bounded memory; the rest is counted."""


class Law:
    """Base of all laws; a subclass declares its state and its steps."""

    requirement: str
    id: str
    per: Per
    about: str

    def __init__(self) -> None:
        self.subjects: Counter[Side] = Counter()
        self.findings: list[Finding] = []
        self.more = 0
        """Findings past the bound."""

    def subject(self, seen: Seen, sender: Side | None = None) -> None:
        """Count that there was something to judge, charged to the sender of what was seen unless told otherwise."""
        self.subjects[sender or seen.sender] += 1

    def require(
        self, holds: bool, *, at: Seen, path: str = "", expected: object = "", got: object = "", why: str = "",
        sender: Side | None = None,
    ) -> None:  # fmt: skip
        """Note a finding unless it holds. Values are shown by `show`; the sender is that of what was seen."""
        if holds:
            return
        if len(self.findings) >= MOST_FINDINGS:
            self.more += 1
            return
        self.findings.append(
            Finding(
                requirement=self.requirement, sender=sender or at.sender, connection=at.connection, time=at.time,
                path=path or at.path, expected=show(expected), got=show(got), why=why,
            )
        )  # fmt: skip

    def on_end(self, sender: Side, how: Happened, time: float) -> None:
        """The sender's direction of the connection ended."""

    def end(self) -> None:
        """The conversation ended: nothing more will come."""


def show(value: object) -> str:
    """A value as people read it: bytes in hex, long ones cut in the middle; names for enumerations."""
    if isinstance(value, bytes | bytearray):
        text = value.hex()
        return text if len(text) <= 64 else f"{text[:40]}..{text[-16:]} ({len(value)} bytes)"
    return value.name if isinstance(value, Enum) else str(value)


LawClass = TypeVar("LawClass", bound=type[Law])
_LAWS: dict[str, type[Law]] = {}


def law(requirement: str, *, per: str = "connection") -> Callable[[LawClass], LawClass]:
    """Register a law under its requirement; its id is the class's name in words. Raises ValueError for a taken id."""

    def register(cls: LawClass) -> LawClass:
        name = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()
        cls.id = f"law/{name}"
        cls.requirement, cls.per, cls.about = requirement, Per(per), getdoc(cls) or ""
        known = _LAWS.get(cls.id)
        if known is not None and known.__module__ != cls.__module__:
            raise ValueError(f"two laws are called {cls.id}")
        _LAWS[cls.id] = cls
        return cls

    return register


def all_laws() -> Mapping[str, type[Law]]:
    """Every law by id, sorted."""
    import_all("zenoh_conformance.laws")
    return dict(sorted(_LAWS.items()))


@dataclass(frozen=True, slots=True)
class Judged:
    """What one law says of one side of a conversation."""

    law: type[Law]
    sender: Side
    subjects: int
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class _Sessions:
    """Which session a connection belongs to: the pair of ZIDs that INIT showed, or the connection itself."""

    shown: dict[str, dict[Side, bytes]] = field(default_factory=dict)

    def note(self, seen: Seen) -> None:
        zid = getattr(seen.message, "zid", None)
        if seen.kind == "init" and zid is not None:
            self.shown.setdefault(seen.connection, {})[seen.sender] = zid.raw

    def of(self, connection: str) -> str:
        pair = self.shown.get(connection, {})
        return "/".join(pair[side].hex() for side in Side) if len(pair) == len(Side) else connection


class Judge:
    """Feeds the events of one conversation to laws; `judged()` at any time tells what they say so far."""

    def __init__(self, conversation: Conversation, laws: Iterable[type[Law]] | None = None) -> None:
        self._laws = tuple(all_laws().values() if laws is None else laws)
        self._decoders = Decoders(conversation)
        self._running: dict[tuple[type[Law], str], Law] = {}
        self._sessions = _Sessions()

    def feed(self, event: Event) -> None:
        """One event; bytes become messages, and each message a step of each law."""
        for seen in self._decoders.feed(event):
            self._sessions.note(seen)
            for law_ in self._laws:
                self._step(law_, seen)
        if event.kind in (Happened.EOF, Happened.RESET):
            for law_ in self._laws:
                self._instance(law_, event.connection).on_end(event.sender, event.kind, event.time)

    def _step(self, law_: type[Law], seen: Seen) -> None:
        instance = self._instance(law_, seen.connection)
        for name in ("on_any", f"on_{seen.kind}"):
            step: Callable[[Seen, Any], None] | None = getattr(instance, name, None)
            if step is not None:
                step(seen, seen.message)

    def _instance(self, law_: type[Law], connection: str) -> Law:
        which = {Per.CONNECTION: connection, Per.SESSION: self._sessions.of(connection), Per.CONVERSATION: ""}[law_.per]
        return self._running.setdefault((law_, which), law_())

    def finish(self) -> list[Judged]:
        """Close every law and say what each says of each side, laws in order of id."""
        for instance in self._running.values():
            instance.end()
        return [self._of(law_, side) for law_ in self._laws for side in Side]

    def _of(self, law_: type[Law], side: Side) -> Judged:
        mine = [instance for (cls, _), instance in self._running.items() if cls is law_]
        findings = tuple(f for instance in mine for f in instance.findings if f.sender is side)
        return Judged(law_, side, sum(instance.subjects[side] for instance in mine), findings)


def judge(conversation: Conversation, laws: Iterable[type[Law]] | None = None) -> list[Judged]:
    """What the laws (all of them unless told) say of each side of a whole conversation."""
    running = Judge(conversation, laws)
    for event in conversation:
        running.feed(event)
    return running.finish()
