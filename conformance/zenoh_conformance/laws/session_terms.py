"""What was settled is kept to: numbers inside their resolution, and reasons of CLOSE that can hold where they are told."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.judging.law import law
from zenoh_conformance.messages import Close
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import reason_code
from zenoh_conformance.reading.pieces import SN_MASK

from .handshake import Handshake


@law("batching/sn-within-resolution")
class SnWithinResolution(Handshake):
    """Every FRAME and FRAGMENT carries a number inside the resolution that was settled (erratum sn-fills-vle-bytes)."""

    def on_frame(self, seen: Seen, message: Any) -> None:
        if self.resolution is None:
            return
        self.subject(seen)
        most = SN_MASK[self.resolution & 3]
        fits = message.sn <= most
        self.require(fits, at=seen, path=f"{seen.kind}.sn", expected=f"at most {most:#x}", got="a larger number")

    on_fragment = on_frame


class _Reasons(Handshake):
    """Laws of what a CLOSE may say. Some nodes answer a CLOSE by one with the same reason: that is an echo, and states nothing."""

    told: set[tuple[Side, int]]
    """Who said which reason."""

    def __init__(self) -> None:
        super().__init__()
        self.told = set()

    def is_echo(self, seen: Seen, close: Close) -> bool:
        """Whether the other side said the same before."""
        self.told.add((seen.sender, close.reason))
        return (seen.sender.other, close.reason) in self.told


@law("close/reason-expired")
class ExpiredNeedsALease(_Reasons):
    """Nobody tells EXPIRED in a handshake: no lease runs before both have stated one."""

    def on_close(self, seen: Seen, close: Close) -> None:
        if self.is_echo(seen, close):
            return
        if self.watched and self.init_syn is not None and self.open_ack is None:
            self.subject(seen)
            expired = close.reason == reason_code("EXPIRED")
            self.require(
                not expired,
                at=seen,
                path="close.reason",
                expected="a reason that can hold",
                got="EXPIRED in a handshake",
            )


@law("close/reason-connection-to-self")
class ToSelfNeedsOneZid(_Reasons):
    """Nobody tells CONNECTION_TO_SELF to a node that showed another ZenohID than its own."""

    def on_close(self, seen: Seen, close: Close) -> None:
        if self.is_echo(seen, close):
            return
        if self.init_syn is None or self.init_ack is None or close.reason != reason_code("CONNECTION_TO_SELF"):
            return
        self.subject(seen)
        same = self.init_syn.zid.raw.rstrip(b"\0") == self.init_ack.zid.raw.rstrip(b"\0")
        self.require(same, at=seen, path="close.reason", expected="two ZenohIDs that are one", got="CONNECTION_TO_SELF")
