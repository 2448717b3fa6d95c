"""The engine that runs laws over a conversation.

The laws are compiled once into dispatch tables: for each nature of a connection and each kind of message, the steps of the laws
that look at it, as (slot, function). A connection has one slot for each law; the instance in a slot is made when its first event
arrives, and is shared by all connections of what the law is about: the connection, the session, or the conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final

from zenoh_conformance.reading.connection import Decoders, Nature, Seen
from zenoh_conformance.reading.conversation import SIDES, Begins, Conversation, Event, Framing, Happened, Side
from zenoh_conformance.reading.fragments import TOO_MUCH
from zenoh_conformance.reading.pieces import Pieces

from .finding import Finding
from .law import Law, Per, Record, all_laws

TELLING: Final = frozenset({"init", "join", "scout", "hello"})
"""Messages that may tell what their connection is: which laws look at it, and in which session."""

PIECES: Final = frozenset({"init", "frame", "fragment"})
"""Messages that matter for reassembly."""

Step = Callable[[Law, Seen, Any], None]


@dataclass(frozen=True, slots=True)
class Judged:
    """What one law says of one side of a conversation."""

    law: type[Law]
    sender: Side
    subjects: int
    findings: tuple[Finding, ...] = ()


class Dispatch:
    """The laws of one judge, compiled: which steps an event has."""

    def __init__(self, laws: tuple[type[Law], ...]) -> None:
        folds = dict.fromkeys(law_.fold or law_ for law_ in laws)
        self.laws = (*folds, *records_of(folds))
        """The folds: of laws that share one, it stands here once; then the records that they read, whose steps come last."""
        self.reads = tuple([(record.name, self.laws.index(record)) for record in law_.reads] for law_ in self.laws)
        """By slot: the attributes that are records, and their slots."""
        self.of_session = tuple(at for at, law_ in enumerate(self.laws) if law_.per is Per.SESSION)
        self.tables: dict[Nature, dict[tuple[str, bool], tuple[tuple[int, Step], ...]]] = {each: {} for each in Nature}
        """Nature to steps by kind of message and whether it stands alone; filled as kinds are met."""
        self.begins = {nature: self._overriding("on_begin", nature) for nature in Nature}
        self.ends = {nature: self._overriding("on_end", nature) for nature in Nature}
        self.nothing = tuple(Judged(law_, side, 0) for law_ in laws for side in SIDES)
        """What laws say that met nothing: most of them, of most conversations."""
        self.places = {(said.law, said.sender): at for at, said in enumerate(self.nothing)}

    def _overriding(self, name: str, nature: Nature) -> tuple[int, ...]:
        """The slots of the laws that define a step which the base class leaves empty."""
        return tuple(
            at
            for at, law_ in enumerate(self.laws)
            if nature in law_.natures and getattr(law_, name) is not getattr(Law, name)
        )

    def steps(self, nature: Nature, kind: str, alone: bool) -> tuple[tuple[int, Step], ...]:
        """Compile the steps for messages of a kind: laws in order of id, `on_alone` before `on_<kind>`."""
        names = ("on_alone", f"on_{kind}") if alone and kind != "batch" else (f"on_{kind}",)
        table = self.tables[nature][kind, alone] = tuple(
            (at, getattr(law_, name))
            for at, law_ in enumerate(self.laws) if nature in law_.natures
            for name in names if hasattr(law_, name)
        )  # fmt: skip
        return table


def records_of(laws: Iterable[type[Law]]) -> Iterable[type[Record]]:
    """The records that laws read, and those that these read, each once."""
    direct = dict.fromkeys(record for law_ in laws for record in law_.reads)
    return dict.fromkeys((*direct, *records_of(direct))) if direct else ()


@cache
def dispatch_of(laws: tuple[type[Law], ...] | None) -> Dispatch:
    """Return the program of some laws, or of all of them; compiled once."""
    return Dispatch(tuple(all_laws().values()) if laws is None else laws)


@dataclass(slots=True)
class View:
    """What the engine keeps of one connection."""

    slots: list[Law | None]
    """For each law of the program the instance that looks at this connection."""
    nature: Nature
    session: str
    """Its session's name; its own while its INITs were not seen."""
    own: dict[int, Law]
    """The live instances by slot that look at the connection, or at its session before that had a name."""
    began_before: bool
    """Its first events were not seen."""
    lossy: bool
    """They were datagrams."""
    datagrams: bool
    """Its batches are datagrams."""
    ended: set[Side] = field(default_factory=set)


@dataclass(slots=True)
class _Sessions:
    """Which session a connection belongs to: the pair of ZIDs that INIT showed.

    A session is counted anew when all its links have ended, and for a link that no side offers as one of several: a node that
    was killed and is back has left no end of its old link.
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
        if len(pair) < len(SIDES) or seen.connection in self.of:
            return
        name = "/".join(sorted(init.zid.raw.hex() for init in pair.values()))
        several = all(any(type(ext).__name__ == "MultiLink" for ext in init.exts) for init in pair.values())
        if not several or not self.live.get(f"{name}#{self.born[name]}"):
            self.born[name] += 1
        session = self.of[seen.connection] = f"{name}#{self.born[name]}"
        self.live.setdefault(session, set()).add(seen.connection)

    def leave(self, connection: str) -> str | None:
        """Take out a connection that ended. Returns the session that ended with it, if it was its last link."""
        self.shown.pop(connection, None)
        session = self.of.pop(connection, connection)
        links = self.live.get(session, {connection})
        links.discard(connection)
        if links:
            return None
        self.live.pop(session, None)
        return session


class Judge:
    """Feeds the events of one conversation to laws. Memory is bounded by what is live."""

    def __init__(
        self,
        conversation: Conversation,
        laws: Iterable[type[Law]] | None = None,
        *,
        watch: Callable[[Seen], None] | None = None,
    ) -> None:
        """Begin with no event; `laws` are all of them unless given, and `watch` is called with every message before the laws."""
        self._watch = watch
        self._asked = None if laws is None else tuple(laws)
        self._conversation = conversation
        self._decoders = Decoders(conversation)
        self._views: dict[str, View] = {}
        self._scopes: dict[str, dict[int, Law]] = {}
        """Connection, session, or "" for the conversation, to its live instances by slot."""
        self._sessions = _Sessions()
        self._pieces = Pieces()
        self.unended = 0
        """Chains of fragments that were dropped since the incomplete messages of their sender took too many bytes."""
        self._said: dict[tuple[type[Law], Side], tuple[int, list[Finding]]] = {}

    @cached_property
    def _dispatch(self) -> Dispatch:
        return dispatch_of(self._asked)

    def __getstate__(self) -> Mapping[str, Any]:
        """Everything but the program, which is compiled again where the state is read."""
        return {name: value for name, value in vars(self).items() if name != "_dispatch"}

    def feed(self, event: Event) -> None:
        """Decode one event into messages, reassemble fragments, and run the steps of each message."""
        view = None
        for seen in self._decoders.feed(event):
            if self._watch is not None:
                self._watch(seen)
            if view is None or seen.kind in TELLING:
                if seen.kind in TELLING:
                    self._sessions.note(seen)
                view = self._view(event.connection)
            self._see(view, seen)
            if seen.kind in PIECES:
                for whole in self._pieces.feed(seen):
                    if whole.kind == "unread" and str(whole.message).startswith(TOO_MUCH):
                        self.unended += 1
                    self._see(view, whole)
        if event.kind is not Happened.BYTES:
            self._after(event)

    def _see(self, view: View, seen: Seen) -> None:
        alone = not seen.around
        steps = self._dispatch.tables[view.nature].get((seen.kind, alone))
        if steps is None:
            steps = self._dispatch.steps(view.nature, seen.kind, alone)
        slots, message = view.slots, seen.message
        for at, step in steps:
            step(slots[at] or self._instance(view, at), seen, message)

    def _view(self, connection: str) -> View:
        """The view of a connection; where its nature or session became known, its session's instances take over."""
        nature, session = self._decoders.nature(connection), self._sessions.of.get(connection, connection)
        view = self._views.get(connection)
        if view is None:
            known = self._conversation.connection(connection)
            before = known.begins is not Begins.START
            slots: list[Law | None] = [None] * len(self._dispatch.laws)
            own = self._scopes.setdefault(connection, {})
            datagrams = known.framing is Framing.DATAGRAM
            view = View(slots, nature, session, own, before, before and datagrams, datagrams)
            self._views[connection] = view
        elif (view.nature, view.session) != (nature, session):
            view.nature, view.session = nature, session
            for at in self._dispatch.of_session:
                view.slots[at] = None
        return view

    def _instance(self, view: View, at: int) -> Law:
        """Find or make the instance for a slot: that of the connection, of its session, or of the conversation."""
        law_ = self._dispatch.laws[at]
        if law_.per is Per.CONNECTION:  # its slot is never emptied: where it holds none, there is none
            instance = view.own[at] = law_()
        else:
            instance = self._shared_instance(view, at, law_)
        if view.datagrams:
            instance.datagrams = True
        if view.began_before:
            instance.watched = False
            instance.lossy = instance.lossy or view.lossy
        for name, record in self._dispatch.reads[at]:
            setattr(instance, name, view.slots[record] or self._instance(view, record))
        view.slots[at] = instance
        return instance

    def _shared_instance(self, view: View, at: int, law_: type[Law]) -> Law:
        """Find or make the instance of a session, or of the conversation."""
        live = self._scopes.setdefault(view.session if law_.per is Per.SESSION else "", {})
        instance = live.get(at)
        if instance is None:
            earlier = view.own.pop(at, None) if law_.per is Per.SESSION else None
            instance = live[at] = earlier or law_()
        return instance

    def _after(self, event: Event) -> None:
        """Run the steps for a link's beginning or end."""
        view = self._view(event.connection)
        slots = self._dispatch.begins if event.kind is Happened.OPEN else self._dispatch.ends
        for at in slots[view.nature]:
            instance = view.slots[at] or self._instance(view, at)
            if event.kind is Happened.OPEN:
                instance.on_begin(event.time)
            else:
                instance.on_end(event.sender, event.kind, event.time)
        if event.kind is not Happened.OPEN:
            view.ended |= set(SIDES) if event.kind is Happened.RESET else {event.sender}
            if len(view.ended) == len(SIDES):
                self._forget(event.connection)

    def _forget(self, connection: str) -> None:
        """Close what looked at a connection that has ended, and at its session if this was its last link."""
        self._decoders.forget(connection)
        self._pieces.forget(connection)
        self._views.pop(connection, None)
        self._close(Per.CONNECTION, connection)
        session = self._sessions.leave(connection)
        if session is not None:
            self._close(Per.SESSION, session)

    def _close(self, per: Per, scope: str) -> None:
        live = self._scopes.get(scope, {})
        for at in [at for at in live if self._dispatch.laws[at].per is per]:
            self._settle(live.pop(at))
        if not live:
            self._scopes.pop(scope, None)

    def _settle(self, instance: Law) -> None:
        instance.end()
        for part in instance.parts:
            if part.subjects or part.findings:  # most have met nothing
                self._take(part)

    def _take(self, instance: Law) -> None:
        """Move what an instance has counted and found so far to what is said."""
        law_ = type(instance)
        if (law_, Side.INITIATOR) not in self._dispatch.places:
            return  # another law of its fold was asked for
        for side, subjects in instance.subjects.items():
            count, findings = self._said.get((law_, side)) or (0, [])
            self._said[law_, side] = (count + subjects, findings)
        for finding in instance.findings:
            self._said.setdefault((law_, finding.sender), (0, []))[1].append(finding)

    def drain(self) -> list[Judged]:
        """Return what was said since the last call, of a conversation that goes on; each subject and finding once."""
        for live in self._scopes.values():
            for part in (part for instance in live.values() for part in instance.parts):
                self._take(part)
                part.subjects.clear()
                part.findings.clear()
        said, self._said = self._said, {}
        return [Judged(law_, side, count, tuple(findings)) for (law_, side), (count, findings) in said.items()]

    def finish(self) -> list[Judged]:
        """Close what is open. Returns what each law says of each side, laws in order of id. To be called once."""
        for live in self._scopes.values():
            for instance in live.values():
                self._settle(instance)
        self._scopes.clear()
        every = list(self._dispatch.nothing)
        for (law_, side), (count, findings) in self._said.items():
            every[self._dispatch.places[law_, side]] = Judged(law_, side, count, tuple(findings))
        return every


def judge(
    conversation: Conversation, laws: Iterable[type[Law]] | None = None, *, watch: Callable[[Seen], None] | None = None
) -> list[Judged]:
    """Return what the laws, all of them unless given, say of each side of a whole conversation."""
    running = Judge(conversation, laws, watch=watch)
    for event in conversation:
        running.feed(event)
    return running.finish()
