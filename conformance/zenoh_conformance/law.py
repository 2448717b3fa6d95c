"""Laws: folds over conversations, which never know whose conversation it is.

A law's annotated attributes are its state, its `on_<message>` methods are its steps, `end` closes. `on_alone` is a step for
whatever is a transport message, or bytes that are none: not what is nested in one, not the batch. A new instance is made
for each connection, each session, or once for the conversation, as the law declares. Laws count *subjects*: a law that met
nothing says `not-observed`, never `pass`. They can begin in the middle of a session: what they did not see, they do not judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from inspect import getdoc
from typing import Any, TypeVar

from .case import import_all
from .connection import Decoders, Nature, Seen
from .conversation import SIDES, Begins, Conversation, Event, Framing, Happened, Side
from .finding import Finding
from .pieces import Pieces


class Per(Enum):
    """What one instance of a law looks at."""

    CONNECTION = "connection"
    SESSION = "session"
    CONVERSATION = "conversation"


TELLING = frozenset({"init", "join", "scout", "hello"})
"""Messages that may tell what their connection is: which laws look at it, and in which session."""

MOST_FINDINGS = 100
"""Findings kept of one law instance, so of one connection or session: bounded memory, and none hides another's; the rest is counted."""


class Law:
    """Base of all laws; a subclass declares its state and its steps."""

    requirement: str
    id: str
    per: Per
    about: str
    natures: frozenset[Nature] = frozenset({Nature.UNICAST})
    """The connections that it looks at."""
    watched = True
    """All that it looks at was seen from the beginning; false where one connection was met under way."""
    lossy = False
    """What was sent may be missing, or out of order: one connection is of datagrams that were not seen from the beginning."""

    def __init__(self) -> None:
        self.subjects: dict[Side, int] = {}
        self.findings: list[Finding] = []
        self.more = 0
        """Findings past the bound."""

    def subject(self, seen: Seen, sender: Side | None = None) -> None:
        """Count that there was something to judge, charged to the sender of what was seen unless told otherwise."""
        charged = sender or seen.sender
        self.subjects[charged] = self.subjects.get(charged, 0) + 1

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
                path=path or at.path, expected=show(expected), got=show(got), why=why, event=at.event,
            )
        )  # fmt: skip

    def on_begin(self, time: float) -> None:
        """The connection was opened."""

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


Step = Callable[[Seen, object], None]
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


@cache
def _every() -> tuple[type[Law], ...]:
    return tuple(all_laws().values())


@dataclass(frozen=True, slots=True)
class Judged:
    """What one law says of one side of a conversation."""

    law: type[Law]
    sender: Side
    subjects: int
    findings: tuple[Finding, ...] = ()


@cache
def _nothing(laws: tuple[type[Law], ...]) -> tuple[Judged, ...]:
    """What laws say that met nothing, of each side: most of them, of most conversations."""
    return tuple(Judged(law_, side, 0) for law_ in laws for side in SIDES)


@dataclass(slots=True)
class _Sessions:
    """Which session a connection belongs to: the pair of ZIDs that INIT showed.

    It is counted anew when all its links have ended, and for a link that no side offers as one of several: a node that was
    killed and is back has left no end of its old link.
    """

    shown: dict[str, dict[Side, Any]] = field(default_factory=dict)
    """Connection to the INITs on it."""
    live: dict[str, set[str]] = field(default_factory=dict)
    born: Counter[str] = field(default_factory=Counter)
    of: dict[str, str] = field(default_factory=dict)
    """Connection to session; a connection whose INITs were not seen is a session of its own."""

    def note(self, seen: Seen) -> None:
        """Learn the ZIDs from INIT; the connection joins the session when both are known."""
        if seen.kind != "init":
            return
        pair = self.shown.setdefault(seen.connection, {})
        pair[seen.sender] = seen.message
        if len(pair) < len(Side) or seen.connection in self.of:
            return
        name = "/".join(sorted(init.zid.raw.hex() for init in pair.values()))
        several = all(any(type(ext).__name__ == "MultiLink" for ext in init.exts) for init in pair.values())
        if not several or not self.live.get(f"{name}#{self.born[name]}"):
            self.born[name] += 1
        session = self.of[seen.connection] = f"{name}#{self.born[name]}"
        self.live.setdefault(session, set()).add(seen.connection)

    def leave(self, connection: str) -> str | None:
        """The connection ended; the session that ended with it, if it was its last link."""
        self.shown.pop(connection, None)
        session = self.of.pop(connection, connection)
        links = self.live.get(session, {connection})
        links.discard(connection)
        if links:
            return None
        self.live.pop(session, None)
        return session


class Judge:
    """Feeds the events of one conversation to laws, one instance for each thing that a law looks at; bounded by what is live."""

    def __init__(
        self, conversation: Conversation, laws: Iterable[type[Law]] | None = None,
        *, watch: Callable[[Seen], None] | None = None,
    ) -> None:  # fmt: skip
        """`watch` is shown every message before the laws are."""
        self._watch = watch
        self._laws = _every() if laws is None else tuple(laws)
        self._conversation = conversation
        self._decoders = Decoders(conversation)
        self._running: dict[str, dict[type[Law], Law]] = {}
        """What is looked at (a connection, a session, "" for the conversation) to the laws that look."""
        self._steps: dict[str, dict[tuple[str, bool], Sequence[Step]]] = {}
        """Connection to steps, by kind and whether the message stands alone."""
        self._instances: dict[str, dict[type[Law], Law]] = {}
        """Connection to the instances that look at it."""
        self._known_as: dict[str, tuple[Nature, str | None]] = {}
        """Connection to its nature and session when its steps were bound."""
        self._sessions = _Sessions()
        self._ended: dict[str, set[Side]] = {}
        self._pieces = Pieces()
        self._said: dict[tuple[type[Law], Side], tuple[int, list[Finding]]] = {}

    def feed(self, event: Event) -> None:
        """One event; bytes become messages, whole ones again where they came in fragments, and each a step of each law."""
        for seen in self._decoders.feed(event):
            if self._watch is not None:
                self._watch(seen)
            if seen.kind in TELLING:
                self._sessions.note(seen)
                self._forget_steps(seen.connection)
            self._see(seen)
            for whole in self._pieces.feed(seen):
                self._see(whole)
        self._after(event)

    def _forget_steps(self, connection: str) -> None:
        """Steps are bound to instances: only another nature, or another session, asks for others."""
        now = self._decoders.nature(connection), self._sessions.of.get(connection)
        if self._known_as.get(connection) != now:
            self._known_as[connection] = now
            self._steps.pop(connection, None)
            instances = self._instances.get(connection, {})
            self._instances[connection] = {law_: one for law_, one in instances.items() if law_.per is not Per.SESSION}

    def _see(self, seen: Seen) -> None:
        message = seen.message
        for step in self._steps_of(seen.event.connection, seen.kind, not seen.around):
            step(seen, message)

    def _after(self, event: Event) -> None:
        if event.kind is Happened.OPEN:
            for law_ in beginning(self._laws, self._decoders.nature(event.connection)):
                self._instance(law_, event.connection).on_begin(event.time)
        if event.kind in (Happened.EOF, Happened.RESET):
            self._end(event)

    def _steps_of(self, connection: str, kind: str, alone: bool) -> Sequence[Step]:
        """The steps that messages of a kind are on a connection, kept until its session or its end changes them."""
        known = self._steps.get(connection)
        if known is None:
            known = self._steps[connection] = {}
        found = known.get((kind, alone))
        if found is None:
            nature = self._decoders.nature(connection)
            self._known_as.setdefault(connection, (nature, None))
            named = steps_for(self._laws, kind, nature, alone)
            met = self._instances.setdefault(connection, {})
            looking = [(met.get(law_) or self._instance(law_, connection), names) for law_, names in named]
            found = [getattr(instance, name) for instance, names in looking for name in names]
            known[kind, alone] = found
        return found

    def _end(self, event: Event) -> None:
        for law_ in ending(self._laws, self._decoders.nature(event.connection)):
            self._instance(law_, event.connection).on_end(event.sender, event.kind, event.time)
        ended = self._ended.setdefault(event.connection, set())
        ended |= set(Side) if event.kind is Happened.RESET else {event.sender}
        if len(ended) == len(Side):
            del self._ended[event.connection]
            self._decoders.forget(event.connection)
            self._pieces.forget(event.connection)
            self._steps.pop(event.connection, None)
            self._instances.pop(event.connection, None)
            self._known_as.pop(event.connection, None)
            self._close(Per.CONNECTION, event.connection)
            session = self._sessions.leave(event.connection)
            if session is not None:
                self._close(Per.SESSION, session)

    def _instance(self, law_: type[Law], connection: str) -> Law:
        """The instance that looks at a connection: found once, until its session or its end changes it."""
        of = self._instances.setdefault(connection, {})
        instance = of.get(law_)
        if instance is None:
            instance = of[law_] = self._found(law_, connection)
        return instance

    def _found(self, law_: type[Law], connection: str) -> Law:
        per = law_.per
        which = connection if per is Per.CONNECTION else ""
        if per is Per.SESSION:
            which = self._sessions.of.get(connection, connection)
        looking = self._running.get(which)
        if looking is None:
            looking = self._running[which] = {}
        instance = looking.get(law_)
        if instance is None:
            earlier = self._running.get(connection, {}).pop(law_, None) if per is Per.SESSION else None
            instance = looking[law_] = earlier or law_()
        known = self._conversation.connection(connection)
        if known.begins is not Begins.START:
            instance.watched = False
            instance.lossy = instance.lossy or known.framing is Framing.DATAGRAM
        return instance

    def _close(self, per: Per, which: str) -> None:
        looking = self._running.get(which, {})
        for law_ in [law_ for law_ in looking if law_.per is per]:
            self._settle(law_, looking.pop(law_))
        if not looking:
            self._running.pop(which, None)

    def _settle(self, law_: type[Law], instance: Law) -> None:
        instance.end()
        self._take(law_, instance)

    def _take(self, law_: type[Law], instance: Law) -> None:
        """What an instance has found so far goes to what is said."""
        for side, subjects in instance.subjects.items():
            count, findings = self._said.get((law_, side)) or (0, [])
            self._said[law_, side] = (count + subjects, findings)
        for finding in instance.findings:
            self._said.setdefault((law_, finding.sender), (0, []))[1].append(finding)

    def drain(self) -> list[Judged]:
        """What was said since the last time, of a conversation that goes on; each subject and finding is told once."""
        for looking in self._running.values():
            for law_, instance in looking.items():
                self._take(law_, instance)
                instance.subjects.clear()
                instance.findings.clear()
        said, self._said = self._said, {}
        return [Judged(law_, side, count, tuple(findings)) for (law_, side), (count, findings) in said.items()]

    def finish(self) -> list[Judged]:
        """Close what is open and say what each law says of each side, laws in order of id. To be called once."""
        for looking in self._running.values():
            for law_, instance in looking.items():
                self._settle(law_, instance)
        self._running.clear()
        every = list(_nothing(self._laws))
        for (law_, side), (count, findings) in self._said.items():
            every[len(SIDES) * self._laws.index(law_) + SIDES.index(side)] = Judged(law_, side, count, tuple(findings))
        return every


@cache
def beginning(laws: tuple[type[Law], ...], nature: Nature) -> tuple[type[Law], ...]:
    """The laws that look at beginnings of links of that nature."""
    return tuple(law_ for law_ in laws if law_.on_begin is not Law.on_begin and nature in law_.natures)


@cache
def ending(laws: tuple[type[Law], ...], nature: Nature) -> tuple[type[Law], ...]:
    """The laws that look at ends of links of that nature."""
    return tuple(law_ for law_ in laws if law_.on_end is not Law.on_end and nature in law_.natures)


@cache
def steps_for(
    laws: tuple[type[Law], ...], kind: str, nature: Nature, alone: bool
) -> tuple[tuple[type[Law], tuple[str, ...]], ...]:
    """The laws that have a step for messages of a kind on links of that nature, with the names of those steps."""
    wanted = ("on_alone", f"on_{kind}") if alone and kind != "batch" else (f"on_{kind}",)
    looking = (law_ for law_ in laws if nature in law_.natures)
    named = ((law_, tuple(name for name in wanted if hasattr(law_, name))) for law_ in looking)
    return tuple((law_, names) for law_, names in named if names)


def judge(
    conversation: Conversation, laws: Iterable[type[Law]] | None = None, *, watch: Callable[[Seen], None] | None = None
) -> list[Judged]:
    """What the laws (all of them unless told) say of each side of a whole conversation; `watch` is shown every message."""
    running = Judge(conversation, laws, watch=watch)
    for event in conversation:
        running.feed(event)
    return running.finish()
