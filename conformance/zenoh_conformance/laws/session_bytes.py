"""What cannot be read in a session: told by where it stands."""

from __future__ import annotations

import re
from typing import Any

from zenoh_conformance.codec import Layer
from zenoh_conformance.connection import Seen
from zenoh_conformance.law import law

from .handshake import Handshake

TRANSPORT_IDS = range(0x08)
NETWORK_IDS = range(0x19, 0x20)


class _InSession(Handshake):
    """What is said once the session lives."""

    @property
    def lives(self) -> bool:
        """OPEN was answered; or the session was met under way."""
        return self.open_ack is not None or not self.watched


@law("batching/frame-holds-complete-messages")
class FrameHoldsCompleteMessages(_InSession):
    """Each network message in a FRAME is there in full, and can be read."""

    def on_frame(self, seen: Seen, message: Any) -> None:
        if self.lives:
            self.subject(seen)

    def on_undecodable(self, seen: Seen, refusal: Any) -> None:
        if self.lives and refusal.path.startswith("frame.messages"):
            self.subject(seen)
            where = re.sub(r"\[\d+\]", "", refusal.path)
            self.require(False, at=seen, path=where, expected="a whole message", got="bytes that cannot be read as one")


@law("message-reference/transport-id-range")
class TransportIdsOnly(_InSession):
    """Where a message begins in a session's batch stands the id of a message."""

    def on_any(self, seen: Seen, message: Any) -> None:
        if self.lives and not seen.around and seen.kind not in ("batch", "undecodable"):
            self.subject(seen)

    def on_undecodable(self, seen: Seen, refusal: Any) -> None:
        if not self.lives or refusal.path != Layer.TRANSPORT or refusal.at >= len(seen.raw):
            return
        ident = seen.raw[refusal.at] & 0x1F
        if ident not in NETWORK_IDS:  # those stand in no FRAME, which is judged by itself
            self.subject(seen)
            self.require(False, at=seen, path="batch", expected="an id from 0x00 to 0x07", got=f"{ident:#04x}")
