"""Laws: folds over conversations, which never know whose conversation it is.

A law's annotated attributes are its state, its `on_<message>` methods are its steps, `end` closes. `on_alone` is a step for
every transport message and for undecodable bytes, but not for a nested message or a batch. The engine (`engine.py`) makes an
instance for each connection, for each session, or one for the conversation, as the law declares, when its first event comes. What
several laws need to know of what went by before is in *records*, which the engine keeps and lends them. Laws count *subjects*: a
law that met nothing says `not-observed`, never `pass`. A law may begin in the middle of a session, and judges only what it saw.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from inspect import getdoc
from typing import TypeVar

from zenoh_conformance.loading import import_all
from zenoh_conformance.reading.connection import Nature, Seen
from zenoh_conformance.reading.conversation import Happened, Side

from .finding import Finding


class Per(Enum):
    """What one instance of a law looks at."""

    CONNECTION = "connection"
    SESSION = "session"
    CONVERSATION = "conversation"


MOST_FINDINGS = 100
"""Findings kept of one law instance, so of one connection or session: bounded memory, and none hides another's; the rest is counted."""


class Law:
    """Base of all laws; a subclass declares its state and its steps."""

    requirement: str
    id: str
    per: Per
    about: str
    fold: type[Law] | None = None
    """The fold that feeds this law, if it has no steps of its own: it has several laws for its parts."""
    reads: tuple[type[Record], ...] = ()
    """Records that it has under their names: they tell what went by before the message that is looked at."""
    natures: frozenset[Nature] = frozenset({Nature.UNICAST})
    """The connections that it looks at."""
    watched = True
    """All that it looks at was seen from the beginning; false where one connection was met under way."""
    datagrams = False
    """Whether its connection, or the last one of several, is of datagrams: batches have no prefix."""
    lossy = False
    """What was sent may be missing, or out of order: one connection is of datagrams that were not seen from the beginning."""

    def __init__(self) -> None:
        self.subjects: dict[Side, int] = {}
        self.findings: list[Finding] = []
        self.more = 0
        """Findings past the bound."""

    @property
    def parts(self) -> tuple[Law, ...]:
        """The laws whose subjects and findings this instance counts: itself, or those that it feeds."""
        return (self,)

    def subject(self, seen: Seen, sender: Side | None = None) -> None:
        """Count that there was something to judge, charged to the sender of what was seen unless told otherwise."""
        charged = sender or seen.sender
        self.subjects[charged] = self.subjects.get(charged, 0) + 1

    def require(
        self, holds: bool, *, at: Seen, path: str = "", expected: object = "", got: object = "", why: str = "",
        sender: Side | None = None, follows: str = "",
    ) -> None:  # fmt: skip
        """Note a finding unless it holds. Values are shown by `show`; the sender is that of what was seen.

        `follows`: the erratum whose text allows it.
        """
        if holds:
            return
        if len(self.findings) >= MOST_FINDINGS:
            self.more += 1
            return
        self.findings.append(
            Finding(
                requirement=self.requirement, sender=sender or at.sender, connection=at.connection, time=at.time,
                path=path or at.path, expected=show(expected), got=show(got), why=why, event=at.event,
                raw=at.raw, within=at.path, follows=follows,
            )
        )  # fmt: skip

    def on_begin(self, time: float) -> None:
        """The connection was opened."""

    def on_end(self, sender: Side, how: Happened, time: float) -> None:
        """The sender's direction of the connection ended."""

    def end(self) -> None:
        """The conversation ended: nothing more will come."""


class Record(Law):
    """What several laws read of what went by: shared by all of one scope, and fed with each message after they have seen it."""

    name: str

    @property
    def parts(self) -> tuple[Law, ...]:
        return ()


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
