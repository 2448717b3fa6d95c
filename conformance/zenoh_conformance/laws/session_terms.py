"""What was settled is kept to: numbers inside their resolution, and reasons of CLOSE that can hold where they are told."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.judging.law import law
from zenoh_conformance.messages import Close, Init, Open
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import reason_code
from zenoh_conformance.reading.pieces import SN_AS_WRITTEN, SN_MASK

from .handshake import HandshakeLaw


@law("batching/sn-within-resolution")
class SnWithinResolution(HandshakeLaw):
    """Every FRAME and FRAGMENT carries a number inside the resolution that was settled (erratum sn-fills-vle-bytes)."""

    def on_frame(self, seen: Seen, message: Any) -> None:
        if self.link.resolution is None:
            return
        self.subject(seen)
        most = SN_MASK[self.link.resolution & 3]
        if message.sn <= most:
            return
        self.require(
            False,
            at=seen,
            path=f"{seen.kind}.sn",
            expected=f"at most {most:#x}",
            got="a larger number",
            follows="sn-fills-vle-bytes" if message.sn <= SN_AS_WRITTEN[self.link.resolution & 3] else "",
        )

    on_fragment = on_frame


class _Reasons(HandshakeLaw):
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


SHORTEST = 0.05
"""Seconds within which no node gives a handshake up: the shortest patience of a known implementation is 0.1 s (zenoh-pico)."""

NEARLY = 0.9
"""The share of a lease after which it may count as over: clocks differ."""


@law("close/expired-lease-is-expired")
class ExpiredNeedsALease(_Reasons):
    """A node does not refuse a message of a handshake with EXPIRED: no lease runs yet. A node that gives up a handshake which has
    taken too long may say EXPIRED: no page gives that a reason. In a session no lease is over before the smaller of both is, from the
    OPEN of the other side on; an expired link may end the others of its session."""

    spoke: dict[Side, float]
    """When each side said something last; when the link was opened, if it has said nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.spoke = {}

    def on_begin(self, time: float) -> None:
        self.spoke = dict.fromkeys(Side, time)

    def on_init(self, seen: Seen, init: Init) -> None:
        self.spoke[seen.sender] = seen.time

    def on_open(self, seen: Seen, open_: Open) -> None:
        self.spoke[seen.sender] = seen.time

    def on_close(self, seen: Seen, close: Close) -> None:
        if self.is_echo(seen, close):
            return
        if self.link.open_syn is not None and self.link.open_ack is not None:
            self._judge_session(seen, close)
        elif self.watched and self.link.init_syn is not None and self.link.open_ack is None:
            self.subject(seen)
            waited = seen.time - self.spoke.get(seen.sender, seen.time) > SHORTEST
            right = waited or close.reason != reason_code("EXPIRED")
            expected, got = "a reason that can hold", "EXPIRED in a handshake"
            self.require(right, at=seen, path="close.reason", expected=expected, got=got)

    def _judge_session(self, seen: Seen, close: Close) -> None:
        if not self.watched or self.link.agreed("MultiLink") or close.reason != reason_code("EXPIRED"):
            return
        assert self.link.open_syn is not None and self.link.open_ack is not None
        self.subject(seen)
        lease = min(map(seconds, (self.link.open_syn, self.link.open_ack)))
        over = seen.time - self.spoke.get(seen.sender.other, seen.time) >= NEARLY * lease
        self.require(over, at=seen, path="close.reason", expected="a lease that is over", got="Close(EXPIRED) before")


def seconds(open_: Open) -> float:
    """The lease that an OPEN states, in seconds."""
    return open_.lease * (1 if open_.lease_in_seconds else 0.001)


@law("close/own-zid-is-connection-to-self")
class ToSelfNeedsOneZid(_Reasons):
    """Nobody tells CONNECTION_TO_SELF to a node that showed another ZenohID than its own."""

    def on_close(self, seen: Seen, close: Close) -> None:
        if self.is_echo(seen, close):
            return
        if (
            self.link.init_syn is None
            or self.link.init_ack is None
            or close.reason != reason_code("CONNECTION_TO_SELF")
        ):
            return
        self.subject(seen)
        same = self.link.init_syn.zid.raw.rstrip(b"\0") == self.link.init_ack.zid.raw.rstrip(b"\0")
        self.require(same, at=seen, path="close.reason", expected="two ZenohIDs that are one", got="CONNECTION_TO_SELF")
