"""What the laws of a session's network messages read: roles, negotiated terms, keys, and whether any bytes could not be read.

No law of its own. One record sees one session, all its links; messages in fragments come whole.
"""

from __future__ import annotations

from typing import Any

from zenoh_conformance.judging.law import Law, Per, Record
from zenoh_conformance.messages import Declare, Init, sane
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.names import Names

from .handshake import terms


class Session(Record):
    """The first INIT of each side, and what their expression ids stand for; `begun` tells that it was seen from its beginning."""

    per, name = Per.SESSION, "session"

    def __init__(self) -> None:
        super().__init__()
        self.inits: dict[Side, Init] = {}
        self.common: frozenset[str] = frozenset()
        """The extensions that the INITs so far have in common."""
        self.unread: set[Side] = set()
        """Sides that said what we cannot read: it may have been anything."""
        self.names = Names()

    def on_init(self, seen: Seen, init: Init) -> None:
        """Keep it."""
        self.inits.setdefault(seen.sender, init)
        self.common = terms(self.inits.get(Side.INITIATOR), self.inits.get(Side.RESPONDER)).common

    def on_undecodable(self, seen: Seen, refusal: Any) -> None:
        """From here on we do not know all that this side said."""
        self.unread.add(seen.sender)

    on_unread = on_undecodable

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        """Learn what an expression id stands for."""
        self.names.note(seen.sender, declare.body)

    @property
    def begun(self) -> bool:
        """Whether both INITs were seen, and nothing of the rest can be missing."""
        return len(self.inits) == len(Side) and not self.lossy

    def knows(self, side: Side) -> bool:
        """Whether all that a side said in this session was seen and read."""
        return self.begun and side not in self.unread

    def is_client(self, side: Side) -> bool:
        """A client passes nothing on: what it says is its own."""
        init = self.inits.get(side)
        return init is not None and init.whatami == sane.CLIENT

    def agreed(self, name: str) -> bool:
        """Whether both INITs carried the extension of that name."""
        return self.begun and name in self.common


class SessionLaw(Law):
    """A law that reads what is known of its session."""

    reads: tuple[type[Record], ...] = (Session,)
    session: Session


def path_of(seen: Seen, field: str) -> str:
    """The path of a field without places in lists: causes are the same wherever a message stood."""
    return f"{seen.kind}.{field}"
