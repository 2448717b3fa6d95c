"""Bits that a page reserves and calls zero, in messages whose sender has chosen them itself.

The QoS of a network message is left out: a router passes the bits on that it got. A bit without a meaning that no page calls
zero (bit 6 of CLOSE) is a remark of `explain`.
"""

from __future__ import annotations

from zenoh_conformance.judging.law import Law, law
from zenoh_conformance.messages import Frame, Init, Join
from zenoh_conformance.messages.frame import QoS
from zenoh_conformance.reading.connection import Nature, Seen


class ReservedBits(Law):
    """The bits that a page reserves are zero; one law for each place."""

    path = ""

    def judge_bits(self, seen: Seen) -> None:
        """A subject for every message that has the place; a finding for every reserved-bit diagnostic there."""
        self.subject(seen)
        for diagnostic in seen.diagnostics:
            if diagnostic.kind == "reserved-bit" and diagnostic.path.startswith(self.path):
                self.require(False, at=seen, path=diagnostic.path, why=diagnostic.why)


@law("session-establishment/init-packed-reserved")
class InitPackedReserved(ReservedBits):
    """Bits 3:2 of INIT's packed byte are zero."""

    path = "init.packed"

    def on_init(self, seen: Seen, init: Init) -> None:
        self.judge_bits(seen)


@law("session-establishment/resolution-reserved-zero")
class ResolutionReservedZero(ReservedBits):
    """Bits 7:4 of the resolution byte of INIT and JOIN are zero."""

    natures = frozenset({Nature.UNICAST, Nature.MULTICAST})

    def on_init(self, seen: Seen, message: Init | Join) -> None:
        if message.resolution is not None:
            self.subject(seen)
            zero, got = message.resolution < 0x10, f"{message.resolution:#04x}"
            self.require(zero, at=seen, path=f"{seen.kind}.resolution", expected="bits 7:4 zero", got=got)

    on_join = on_init


@law("message-reference/frame-ext-qos-reserved")
class FrameQosReserved(ReservedBits):
    """Bits 7:3 of the QoS of a FRAME are zero."""

    natures = frozenset({Nature.UNICAST, Nature.MULTICAST})
    path = "frame.exts.qos"

    def on_frame(self, seen: Seen, frame: Frame) -> None:
        if frame.exts.get(QoS) is not None:
            self.judge_bits(seen)
