"""What a node says in a session can be read (batching#frame)."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.judging.law import law
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Happened
from zenoh_conformance.wire import DecodeError

from .handshake import Handshake


@law("batching/frame-holds-complete-messages")
class WhatIsSaidDecodes(Handshake):
    """All that a node says on a live link is a message, and so is what its fragments make together."""

    def on_batch(self, seen: Seen, batch: bytes) -> None:
        """One more that was said in the session."""
        if self.is_live:
            self.subject(seen)

    def on_undecodable(self, seen: Seen, refusal: Any) -> None:
        """A link that ended inside a batch was cut; who cut it is not known."""
        if self.is_live and seen.event.kind is Happened.BYTES:
            where = refusal.path or "batch"
            self.require(False, at=seen, path=where, why=f"what was said is no message: {refusal.why}")

    def on_unread(self, seen: Seen, why: Any) -> None:
        """A chain of fragments that was broken off may be lawful; one that is whole and no message is not."""
        if self.is_live and isinstance(why, DecodeError):
            self.require(False, at=seen, path="fragment", why="what was said in fragments is no message")

    @property
    def is_live(self) -> bool:
        """Both OPENs were seen; or the session was met under way."""
        return not self.watched or (self.open_syn is not None and self.open_ack is not None)
