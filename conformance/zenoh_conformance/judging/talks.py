"""Conversations written down as who says what, for the tests of laws: a handshake, then network messages in FRAMEs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from zenoh_conformance.messages import Frame, sane
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.conversation import Connection, Conversation, Event, Happened, Side
from zenoh_conformance.reading.fragments import fragment
from zenoh_conformance.wire import Exts

from .engine import judge
from .finding import Finding
from .law import all_laws

WE, THEY = Side.INITIATOR, Side.RESPONDER
ZIDS = {WE: b"\x01\x5a", THEY: b"\x02\x5a"}


@dataclass(slots=True)
class Talk:
    """One link, written as it goes."""

    handshake: bool = True
    link: str = "a"
    init: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, Any] = field(default_factory=dict)
    """What InitSyn and InitAck have otherwise."""
    conversation: Conversation = field(default_factory=Conversation)
    sn: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(Side, 0))

    def __post_init__(self) -> None:
        self.conversation.connections[self.link] = Connection(self.link)
        if self.handshake:
            syn = sane.init_syn(ZIDS[WE], **self.init)
            ack = sane.init_ack(syn, ZIDS[THEY], b"cookie", **self.answer)
            for side, message in ((WE, syn), (THEY, ack), (WE, sane.open_syn(ack)), (THEY, sane.open_ack())):
                self.batch(side, encode(message))

    def batch(self, side: Side, data: bytes) -> None:
        """One batch as it stands."""
        framed = frame_batch(data, "stream", prefix=2, compressed=False)
        self.conversation.events.append(
            Event(float(len(self.conversation.events)), self.link, side, Happened.BYTES, framed)
        )

    def say(self, side: Side, message: Any, lane: int = sane.DEFAULT_PRIORITY) -> Talk:
        """One network message in one FRAME."""
        exts = Exts(() if lane == sane.DEFAULT_PRIORITY else (sane.lane(lane),))
        self.batch(side, encode(Frame(sn=self.sn[side], exts=exts, messages=(message,))))
        self.sn[side] += 1
        return self

    def in_pieces(self, side: Side, message: Any, size: int = 4, lane: int | None = None) -> Talk:
        """One network message in FRAGMENTs."""
        for piece in fragment(encode(message), sn=self.sn[side], size=size, priority=lane):
            self.batch(side, encode(piece))
            self.sn[side] += 1
        return self


def told(steps: Sequence[Any], **about: Any) -> Talk:
    """A talk of (side, message) or (side, message, lane); bytes are a batch as it stands."""
    talk = Talk(**about)
    for side, message, *lane in steps:
        if isinstance(message, bytes):
            talk.batch(side, message)
        else:
            talk.say(side, message, *lane)
    return talk


def findings(law: str, talk: Talk) -> list[Finding]:
    """What one law finds."""
    return [finding for said in judge(talk.conversation, [all_laws()[law]]) for finding in said.findings]


def subjects(law: str, talk: Talk) -> int:
    """How much one law looked at."""
    return sum(said.subjects for said in judge(talk.conversation, [all_laws()[law]]))
