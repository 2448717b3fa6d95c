"""What INIT and OPEN may say to each other (session-establishment#parameter-negotiation-rules)."""

from __future__ import annotations

from collections import defaultdict

from zenoh_conformance.judging.law import Law, law
from zenoh_conformance.messages import Fragment, Frame, Init, Open, sane
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.pieces import SN_AS_WRITTEN, SN_MASK, may_be_first

from .handshake import HandshakeLaw, carries, terms


@law("session-establishment/init-version-current")
class InitVersionCurrent(Law):
    """INIT states version 0x09."""

    def on_init(self, seen: Seen, init: Init) -> None:
        self.subject(seen)
        self.require(
            init.version == sane.VERSION, at=seen, path="init.version", expected=sane.VERSION, got=init.version
        )


@law("session-establishment/resolution-not-raised")
class ResolutionNotRaised(HandshakeLaw):
    """InitAck raises neither field of the resolution."""

    def on_init(self, seen: Seen, init: Init) -> None:
        if not init.ack or self.link.init_syn is None or init.resolution is None:
            return
        proposed = sane.DEFAULT_RESOLUTION if self.link.init_syn.resolution is None else self.link.init_syn.resolution
        self.subject(seen)
        for field, mask in (("FSN", 3), ("RID", 12)):
            fits = init.resolution & mask <= proposed & mask
            self.require(
                fits, at=seen, path="init.resolution", expected=f"{field} at most as proposed", got=f"a higher {field}"
            )


@law("session-establishment/cookie-echo")
class CookieEcho(HandshakeLaw):
    """The cookie that comes back is the cookie that was issued."""

    def on_open(self, seen: Seen, open_: Open) -> None:
        if not open_.ack and self.link.init_ack is not None:
            self.subject(seen)
            issued = self.link.init_ack.cookie
            self.require(
                open_.cookie == issued, at=seen, path="open.cookie", expected="the cookie issued", got="another cookie"
            )


@law("session-establishment/initial-sn-in-range")
class InitialSnInRange(HandshakeLaw):
    """The initial sequence number fits the negotiated resolution, as the baseline counts it (erratum sn-fills-vle-bytes)."""

    def on_open(self, seen: Seen, open_: Open) -> None:
        if self.link.resolution is not None:
            self.subject(seen)
            most = SN_MASK[self.link.resolution & 3]
            fits = open_.initial_sn <= most
            self.require(
                fits,
                at=seen,
                path="open.initial_sn",
                expected=f"at most {most:#x}",
                got="a larger number",
                follows="sn-fills-vle-bytes" if open_.initial_sn <= SN_AS_WRITTEN[self.link.resolution & 3] else "",
            )


@law("session-establishment/initial-sn-random", per="conversation")
class InitialSnRandom(Law):
    """One node does not begin every session with the same number: with three peers or more, some differ."""

    FEWEST = 3

    def __init__(self) -> None:
        super().__init__()
        self.zids: dict[str, dict[Side, bytes]] = defaultdict(dict)
        self.began: dict[tuple[Side, bytes], dict[bytes, int]] = defaultdict(dict)
        """(side, own ZID): peer's ZID to first number."""
        self.seen: dict[tuple[Side, bytes], Seen] = {}

    def on_init(self, seen: Seen, init: Init) -> None:
        self.zids[seen.connection][seen.sender] = init.zid.raw

    def on_open(self, seen: Seen, open_: Open) -> None:
        pair = self.zids[seen.connection]
        if len(pair) == len(Side):
            node = (seen.sender, pair[seen.sender])
            self.began[node][pair[seen.sender.other]] = open_.initial_sn
            self.seen[node] = seen

    def end(self) -> None:
        for node, began in self.began.items():
            if len(began) >= self.FEWEST:
                self.subject(self.seen[node])
                varies = len(set(began.values())) > 1
                self.require(
                    varies,
                    at=self.seen[node],
                    path="open.initial_sn",
                    expected="numbers that vary",
                    got="one number always",
                )


class _NeedsBoth(HandshakeLaw):
    """An INIT extension is answered only where it was offered."""

    name = ""

    def on_init(self, seen: Seen, init: Init) -> None:
        if init.ack and self.link.init_syn is not None:
            self.subject(seen)
            unasked = carries(init, self.name) and not carries(self.link.init_syn, self.name)
            self.require(
                not unasked, at=seen, path="init.exts", expected=f"no {self.name}, which was not offered", got=self.name
            )


@law("session-establishment/qos-needs-both")
class QosNeedsBoth(_NeedsBoth):
    """InitAck carries QoS only where InitSyn did, and no lane but Data is used unless both did."""

    name = "QoS"

    def on_frame(self, seen: Seen, message: Frame | Fragment) -> None:
        both = self.link.init_syn is not None and self.link.init_ack is not None
        if both and seen.channel is not None and seen.channel[1] != sane.DEFAULT_PRIORITY:
            self.subject(seen)
            agreed = self.link.agreed("QoS") or self.link.agreed("QoSLink")
            self.require(agreed, at=seen, path=f"{seen.kind}.exts.qos", expected="no lanes", got="a lane")

    on_fragment = on_frame


@law("session-establishment/low-latency-needs-both")
class LowLatencyNeedsBoth(_NeedsBoth):
    """InitAck carries LowLatency only where InitSyn did."""

    name = "LowLatency"


@law("session-establishment/compression-needs-both")
class CompressionNeedsBoth(_NeedsBoth):
    """InitAck carries Compression only where InitSyn did."""

    name = "Compression"


@law("session-establishment/no-qos-with-low-latency")
class NoQosWithLowLatency(HandshakeLaw):
    """InitAck does not settle on lanes and low latency both."""

    def on_init(self, seen: Seen, init: Init) -> None:
        if init.ack:
            self.subject(seen)
            common = terms(self.link.init_syn, init).common
            both = self.link.init_syn is not None and {"QoS", "LowLatency"} <= common
            self.require(not both, at=seen, path="init.exts", expected="QoS or LowLatency", got="both")


@law("session-establishment/initial-sn-own-start")
class InitialSnOwnStart(HandshakeLaw):
    """The first FRAME or FRAGMENT of each reliable channel carries the number that its sender announced, and of one with best
    effort, whose first messages its sender may drop, that number or one ahead. A session that may have several links is left
    out: its next link goes on where the session stands; and datagrams are, the first of which may be lost."""

    def __init__(self) -> None:
        super().__init__()
        self.started: set[tuple[Side, tuple[bool, int]]] = set()

    def on_frame(self, seen: Seen, message: Frame | Fragment) -> None:
        opened = self.link.open_syn if seen.sender is Side.INITIATOR else self.link.open_ack
        if opened is None or seen.channel is None or (seen.sender, seen.channel) in self.started:
            return
        self.started.add((seen.sender, seen.channel))
        if self.link.agreed("MultiLink") or self.lossy or not self.watched:
            return
        self.subject(seen)
        mask = SN_MASK[(self.link.resolution or 0) & 3]
        right = may_be_first(message.sn, announced=opened.initial_sn, mask=mask, reliable=seen.channel[0])
        self.require(
            right, at=seen, path=f"{seen.kind}.sn", expected="the initial number announced", got="another number"
        )

    on_fragment = on_frame


@law("session-establishment/batch-size-is-receive-limit")
class BatchSizeIsReceiveLimit(HandshakeLaw):
    """No batch is larger than the negotiated size less its prefix (erratum batch-size-counts-prefix)."""

    def on_batch(self, seen: Seen, batch: bytes) -> None:
        if self.link.batch_size is not None and (
            self.link.open_ack or (seen.sender is Side.RESPONDER and self.link.open_syn)
        ):
            self.subject(seen)
            self.require(
                len(batch) <= self.link.batch_size,
                at=seen,
                path="batch",
                expected="at most the negotiated size",
                got="a larger batch",
            )
