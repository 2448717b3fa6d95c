"""What a node says in a session can be read (batching#frame)."""

from __future__ import annotations

from typing import Any, Final

from zenoh_conformance.judging.law import law
from zenoh_conformance.messages import Frame, Join
from zenoh_conformance.reading.batch import decode_batch
from zenoh_conformance.reading.connection import TOO_LONG, Nature, Seen
from zenoh_conformance.reading.conversation import Happened
from zenoh_conformance.wire import DecodeError

from .handshake import HandshakeLaw

IN_SESSION: Final = (3, 4, 5, 6)
"""The ids of CLOSE, KEEP_ALIVE, FRAME and FRAGMENT, which may follow a FRAME."""


@law("batching/frame-holds-complete-messages")
class WhatIsSaidDecodes(HandshakeLaw):
    """All that a node says on a live link, or on multicast, is a message, and so is what its fragments make together."""

    natures = frozenset({Nature.UNICAST, Nature.MULTICAST})
    joined = False
    """A JOIN was seen: on multicast nothing else is needed to speak."""

    def on_join(self, seen: Seen, join: Join) -> None:
        self.joined = True

    def on_batch(self, seen: Seen, batch: bytes) -> None:
        """One more that was said in the session."""
        if self.is_live:
            self.subject(seen)

    def on_undecodable(self, seen: Seen, refusal: Any) -> None:
        """A link that ended inside a batch was cut, and who cut it is not known; a batch that is too long for us may be right."""
        if self.is_live and seen.event.kind is Happened.BYTES and seen.path != TOO_LONG:
            where, why = name_of_refused(seen.raw, refusal)
            self.require(False, at=seen, path=where, why=f"what was said is no message: {why}")

    def on_unread(self, seen: Seen, why: Any) -> None:
        """A chain of fragments that was broken off may be lawful; one that is whole and no message is not."""
        if self.is_live and isinstance(why, DecodeError):
            self.require(False, at=seen, path="fragment", why="what was said in fragments is no message")

    @property
    def is_live(self) -> bool:
        """Both OPENs were seen; or the session was met under way."""
        return not self.watched or self.link.is_open or self.joined


def name_of_refused(batch: bytes, refusal: DecodeError) -> tuple[str, str]:
    """Return the path and the reason of a refusal in a batch.

    A FRAME ends where its messages end, so that the rest of a network message that is too short is read as a transport message,
    such as INIT for the letter a. In a session such bytes belong to the FRAME.
    """
    before = [one for one in decode_batch(batch) if not isinstance(one, DecodeError)][-1:]
    if not before or not isinstance(before[0].message, Frame):
        return refusal.path or "batch", refusal.why
    begin, count = before[0].at + before[0].size, len(before[0].message.messages)
    if begin >= len(batch):  # a FRAME where there is none, as on a low-latency session
        return refusal.path or "batch", refusal.why
    rest = f"it may be the rest of frame.messages[{count - 1}]" if count else "it follows an empty FRAME"
    if batch[begin] & 0x1F in IN_SESSION:
        return refusal.path, f"{refusal.why}; {rest}"
    return f"frame.messages[{count}]", f"{batch[begin]:#04x} begins no network message; {rest}"
