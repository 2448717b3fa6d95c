"""The reference node: bytes in, bytes out. Establishment and session traffic; what it routes is in `router`.

Miniatures override one hook. Every hook is a small method that answers one question about the protocol.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from hashlib import sha256, shake_128
from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.batch import frame_batch
from zenoh_conformance.codec import encode
from zenoh_conformance.connection import ConnectionDecoder, Seen, priority_of
from zenoh_conformance.conversation import Connection, Event, Framing, Happened, Side
from zenoh_conformance.dialogue import SN_MASK
from zenoh_conformance.kinds import InitAck, InitSyn, OpenAck, OpenSyn, reason_code
from zenoh_conformance.messages import Close, Fragment, Frame, Init, KeepAlive, Open
from zenoh_conformance.messages.init import Patch
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.session import INITIATOR, RESPONDER, State
from zenoh_conformance.session import Seen as Step
from zenoh_conformance.wire.extensions import Exts

from . import password
from .link import Link, Terms
from .router import Router

GENERIC, UNSUPPORTED, INVALID = reason_code("GENERIC"), reason_code("UNSUPPORTED"), reason_code("INVALID")
MAX_SESSIONS, MAX_LINKS = reason_code("MAX_SESSIONS"), reason_code("MAX_LINKS")
EXPIRED, TO_SELF = reason_code("EXPIRED"), reason_code("CONNECTION_TO_SELF")


@dataclass(frozen=True, slots=True)
class Config:
    """What a node is started with."""

    zid: bytes = bytes.fromhex("0102030405060708")
    whatami: int = sane.ROUTER
    resolution: int = sane.DEFAULT_RESOLUTION
    batch_size: int = sane.DEFAULT_BATCH
    lease_ms: int = sane.LEASE_MS
    qos: bool = True
    lowlatency: bool = False
    compression: bool = False
    patch: int = 1
    max_sessions: int = 1000
    max_links: int = 1
    handshake_s: float = 10.0
    """How long a handshake may take."""
    secret: bytes = b"reference"
    """What cookies are made with."""
    credentials: tuple[str, str] | None = None
    """User and password that a session must show."""


@dataclass(slots=True)
class Action:
    """What the node does to a link: bytes to send, or its end."""

    link: str
    data: bytes = b""
    end: bool = False


@dataclass(slots=True)
class Refused(Exception):  # noqa: N818 - a step of the protocol, not an error
    """Ends a link: CLOSE for this reason first, or silently."""

    reason: int | None
    why: str = field(default="")


class Reference(Router):
    """One node with any number of links. Single-threaded; time is told to it."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        self.config = config or Config()
        self.actions: list[Action] = []
        self.now = 0.0

    # -- the world's door

    def connected(self, name: str, side: Side, now: float, framing: Framing = Framing.STREAM) -> list[Action]:
        """A link came up; an initiator speaks first."""
        self.now = now
        state = State.AWAIT_INIT if side is Side.RESPONDER else State.INIT_SENT
        link = Link(
            name, side, ConnectionDecoder(Connection(name, framing=framing)), now, state, last_heard=now, last_said=now
        )
        self.links[name] = link
        if side is Side.INITIATOR:
            link.mine = self.propose(link)
            self.send(link, link.mine)
        return self.drain()

    def received(self, name: str, data: bytes, now: float) -> list[Action]:
        """Bytes came in on a link."""
        self.now = now
        link = self.links.get(name)
        if link is not None:
            link.last_heard = now
            self._feed(link, Event(now, name, link.side.other, Happened.BYTES, data))
        return self.drain()

    def disconnected(self, name: str, now: float) -> list[Action]:
        """A link ended at the far side."""
        self.now = now
        if name in self.links:
            self.drop(self.links[name])
        return self.drain()

    def tick(self, now: float) -> list[Action]:
        """Time passed: keep-alives, leases, handshakes that take too long, queries that time out."""
        self.now = now
        for link in list(self.links.values()):
            self.on_time(link)
        self.expire_queries()
        return self.drain()

    def drain(self) -> list[Action]:
        """What is to be done now, in order."""
        actions, self.actions = self.actions, []
        return actions

    # -- steps

    def _feed(self, link: Link, event: Event) -> None:
        for seen in link.decoder.feed(event):
            if link.state is State.CLOSED:
                return
            try:
                if seen.kind == "undecodable":
                    self.on_undecodable(link, seen)
                elif seen.kind == "batch":
                    self.on_batch(link, seen.message)
                elif not seen.around:
                    self.on_message(link, seen)
            except Refused as refused:
                self.refuse(link, refused.reason)
                return

    def on_batch(self, link: Link, batch: bytes) -> None:
        """A batch came in; an empty one is no handshake message, and nothing on a live session."""
        if not batch and not link.live:
            raise Refused(INVALID, "empty batch")
        if link.live and len(batch) > link.terms.batch_size:
            raise Refused(INVALID, "batch larger than negotiated")

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        """Bytes that are no message: refused during the handshake, and the end of a session."""
        raise Refused(INVALID, str(seen.message))

    def on_message(self, link: Link, seen: Seen) -> None:
        """One transport message: a step of the table, or the end."""
        message = seen.message
        if isinstance(message, Close):
            self.on_close(link, message)
        elif link.live:
            if link.terms.lowlatency and not isinstance(message, KeepAlive | Open | Init):
                self.route(link, message)
            else:
                self.on_session(link, message)
        elif self.is_due(link, message):
            self.handshake(link, message)
        else:
            raise Refused(INVALID, "not the message that is due")

    def is_due(self, link: Link, message: object) -> bool:
        """Whether the state's table lists this message."""
        table = RESPONDER if link.side is Side.RESPONDER else INITIATOR
        kinds = {InitSyn: Step.INIT_SYN, InitAck: Step.INIT_ACK, OpenSyn: Step.OPEN_SYN, OpenAck: Step.OPEN_ACK}
        return any(kind.matches(message) and step in table[link.state] for kind, step in kinds.items())

    def handshake(self, link: Link, message: Any) -> None:
        """The message that is due: check, answer, step on."""
        if InitSyn.matches(message):
            self.check_init(link, message)
            link.theirs = message
            link.terms = self.settle(message)
            link.mine = self.answer_init(link, message)
            link.state = State.INIT_ACKED
            self.send(link, link.mine)
        elif OpenSyn.matches(message):
            self.check_open(link, message)
            self.go_live(link, message, self.answer_open(link))
        elif InitAck.matches(message):
            self.check_init_ack(link, message)
            link.theirs = message
            link.terms = self.settle_ack(link, message)
            link.my_open = self.confirm(link, message)
            link.state = State.OPEN_SENT
            self.send(link, link.my_open)
        else:
            self.check_open_ack(link, message)
            self.go_live(link, message, None)

    def go_live(self, link: Link, theirs: Open, answer: Open | None) -> None:
        """The session is live: numbers start, and the answer, if one is due, goes out first."""
        link.their_open = theirs
        if answer is not None:
            link.my_open = answer
            self.send(link, answer)
        link.state = State.LIVE
        self.on_live(link)

    # -- hooks of the responder

    def check_init(self, link: Link, syn: Init) -> None:
        """Whether a proposal can be accepted. Raises Refused."""
        if not self.accepts_version(syn.version):
            raise Refused(UNSUPPORTED)
        if syn.zid.raw.rstrip(b"\0") == self.config.zid.rstrip(b"\0"):
            raise Refused(TO_SELF)
        if not self.accepts_whatami(syn.whatami):
            raise Refused(INVALID)
        if self.config.credentials and not password.will_show(syn.exts):
            raise Refused(INVALID, "authentication")

    def accepts_version(self, version: int) -> bool:
        return version == sane.VERSION

    def accepts_whatami(self, whatami: int) -> bool:
        return whatami in (sane.ROUTER, sane.PEER, sane.CLIENT)

    def settle(self, syn: Init) -> Terms:
        """The terms that a proposal and our own wishes make."""
        offers = {type(ext).__name__: ext for ext in syn.exts}
        lowlatency = self.config.lowlatency and "LowLatency" in offers
        return Terms(
            resolution=self.choose_resolution(sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution),
            batch_size=self.choose_batch(sane.DEFAULT_BATCH if syn.batch_size is None else syn.batch_size),
            qos=self.config.qos and "QoS" in offers and not lowlatency,
            lowlatency=lowlatency,
            compression=self.config.compression and "Compression" in offers,
            patch=min(self.config.patch, self.patch_of(offers)),
        )

    def patch_of(self, offers: dict[str, Any]) -> int:
        return int(offers["Patch"].value) if "Patch" in offers else 0

    def choose_resolution(self, proposed: int) -> int:
        """Field by field the lower of theirs and ours; reserved bits are not taken over."""
        return min(proposed & 3, self.config.resolution & 3) | min(proposed & 12, self.config.resolution & 12)

    def choose_batch(self, proposed: int) -> int:
        return min(proposed, self.config.batch_size)

    def answer_init(self, link: Link, syn: Init) -> Init:
        """InitAck."""
        return Init(
            ack=True, version=sane.VERSION, whatami=WhatAmI(self.config.whatami), zid=ZenohID(self.config.zid),
            resolution=link.terms.resolution, batch_size=link.terms.batch_size, cookie=self.make_cookie(link, syn),
            exts=self.answer_exts(link, syn),
        )  # fmt: skip

    def answer_exts(self, link: Link, syn: Init) -> Exts[Any]:
        """Of what was offered, what we do too."""
        terms = link.terms
        does = {"QoS": terms.qos, "LowLatency": terms.lowlatency, "Compression": terms.compression}
        kept = [ext for ext in syn.exts if does.get(type(ext).__name__)]
        if self.config.credentials:
            kept.append(password.challenge(self.nonce(link)))
        return Exts((*kept, *(Patch(value=terms.patch) for ext in syn.exts if isinstance(ext, Patch))))

    def make_cookie(self, link: Link, syn: Init) -> bytes:
        """Bound to the link and to what was proposed, so that no state is kept and nothing can be replayed elsewhere."""
        return hmac.digest(self.config.secret, link.name.encode() + encode(syn), sha256)

    def check_open(self, link: Link, open_: Open) -> None:
        """Whether OpenSyn activates the session. Raises Refused."""
        if not self.cookie_matches(link, open_):
            raise Refused(INVALID, "cookie")
        if not self.accepts_initial_sn(link, open_.initial_sn):
            raise Refused(INVALID, "initial_sn")
        if self.config.credentials and not self.accepts_proof(link, open_):
            raise Refused(INVALID, "authentication")
        others = [other for other in self.links.values() if other.live and other is not link]
        if sum(other.zid == link.zid for other in others) >= self.config.max_links:
            raise Refused(MAX_LINKS)
        if len({other.zid for other in others} | {link.zid}) > self.config.max_sessions:
            raise Refused(MAX_SESSIONS)

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        assert link.mine is not None
        return hmac.compare_digest(open_.cookie or b"", link.mine.cookie or b"")

    def nonce(self, link: Link) -> int:
        """The challenge of a link."""
        return password.nonce_for(link.name, self.config.secret)

    def accepts_proof(self, link: Link, open_: Open) -> bool:
        """Whether OpenSyn shows the user and the password."""
        assert self.config.credentials is not None
        return password.shows(open_.exts, self.config.credentials, self.nonce(link))

    def accepts_initial_sn(self, link: Link, sn: int) -> bool:
        return sn <= self.sn_mask(link)

    def answer_open(self, link: Link) -> Open:
        """OpenAck."""
        link.initial_sn = self.make_initial_sn(link)
        return sane.open_ack(initial_sn=link.initial_sn, **self.lease_fields())

    def lease_fields(self) -> dict[str, Any]:
        seconds, rest = divmod(self.config.lease_ms, 1000)
        return {"lease_in_seconds": not rest, "lease": self.config.lease_ms if rest else seconds}

    def make_initial_sn(self, link: Link) -> int:
        """Differs between sessions, lies inside the negotiated resolution."""
        seed = self.config.zid + (link.zid or b"") + link.name.encode() + self.config.secret
        return int.from_bytes(shake_128(seed).digest(8), "little") & self.sn_mask(link)

    # -- hooks of the initiator

    def propose(self, link: Link) -> Init:
        """InitSyn."""
        offers = {"QoS": self.config.qos, "LowLatency": self.config.lowlatency, "Compression": self.config.compression}
        exts = sane.offers(*(name for name, wanted in offers.items() if wanted), patch=self.config.patch)
        return sane.init_syn(
            self.config.zid, exts=exts, whatami=self.config.whatami,
            resolution=self.config.resolution, batch_size=self.config.batch_size,
        )  # fmt: skip

    def check_init_ack(self, link: Link, ack: Init) -> None:
        """Whether an answer can be accepted. Raises Refused."""
        assert link.mine is not None
        if not self.accepts_version(ack.version):
            raise Refused(UNSUPPORTED)
        if not self.accepts_whatami(ack.whatami):
            raise Refused(INVALID)
        if ack.zid.raw.rstrip(b"\0") == self.config.zid.rstrip(b"\0"):
            raise Refused(TO_SELF)
        if not self.accepts_resolution(link.mine, ack):
            raise Refused(INVALID, "resolution raised")
        if not self.accepts_exts(link.mine, ack):
            raise Refused(INVALID, "extension that was not offered")

    def accepts_resolution(self, syn: Init, ack: Init) -> bool:
        """Not above the proposal, in either field."""
        proposed = sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
        got = sane.DEFAULT_RESOLUTION if ack.resolution is None else ack.resolution
        return got & 3 <= proposed & 3 and got & 12 <= proposed & 12

    def accepts_exts(self, syn: Init, ack: Init) -> bool:
        """No mode that was not offered, and a patch no higher than ours."""
        offered = {type(ext).__name__: ext for ext in syn.exts}
        modes = [
            ext for ext in ack.exts if type(ext).__name__ in ("QoS", "QoSLink", "LowLatency", "Compression", "Patch")
        ]
        if any(type(ext).__name__ not in offered for ext in modes):
            return False
        return all(ext.value <= self.patch_of(offered) for ext in modes if isinstance(ext, Patch))

    def settle_ack(self, link: Link, ack: Init) -> Terms:
        """The terms as the responder settled them."""
        agreed = {type(ext).__name__: ext for ext in ack.exts}
        return Terms(
            resolution=sane.DEFAULT_RESOLUTION if ack.resolution is None else ack.resolution,
            batch_size=self.choose_batch(sane.DEFAULT_BATCH if ack.batch_size is None else ack.batch_size),
            qos="QoS" in agreed,
            lowlatency="LowLatency" in agreed,
            compression="Compression" in agreed,
            patch=self.patch_of(agreed),
        )

    def confirm(self, link: Link, ack: Init) -> Open:
        """OpenSyn."""
        link.initial_sn = self.make_initial_sn(link)
        return sane.open_syn(ack, initial_sn=link.initial_sn, **self.lease_fields())

    def check_open_ack(self, link: Link, ack: Open) -> None:
        if not self.accepts_initial_sn(link, ack.initial_sn):
            raise Refused(INVALID, "initial_sn")

    # -- session

    def on_close(self, link: Link, close: Close) -> None:
        """The far side closes: nothing more is said on this link; S ends the whole session."""
        for other in list(self.links.values()):
            if other is link or (close.session and other.live and other.zid == link.zid):
                self.end(other)

    def on_session(self, link: Link, message: Any) -> None:
        """Traffic of a live session."""
        if isinstance(message, Frame):
            if self.accepts_sn(link, message):
                link.partial.pop((message.reliable, priority_of(message)), None)
                for inner in message.messages:
                    self.route(link, inner)
        elif isinstance(message, Fragment):
            if self.accepts_sn(link, message):
                self.on_fragment(link, message)
        elif isinstance(message, Init | Open):
            self.on_late_handshake(link, message)

    def on_late_handshake(self, link: Link, message: Init | Open) -> None:
        """A handshake message on a live session."""
        raise Refused(INVALID)

    def accepts_sn(self, link: Link, message: Frame | Fragment) -> bool:
        """Whether a number is the next of its channel or a little later. Raises Refused for one outside the resolution."""
        mask = self.sn_mask(link)
        if message.sn > mask:
            raise Refused(INVALID, "sequence number outside the negotiated resolution")
        if not link.terms.qos and priority_of(message) != sane.DEFAULT_PRIORITY:
            raise Refused(INVALID, "priority on a session without QoS")
        channel = (message.reliable, priority_of(message))
        assert link.their_open is not None
        last = link.rx.get(channel, (link.their_open.initial_sn - 1) & mask)
        if not 1 <= (message.sn - last) & mask <= mask >> 1:
            return False
        if (message.sn - last) & mask != 1:
            link.partial.pop(channel, None)
        link.rx[channel] = message.sn
        return True

    def on_fragment(self, link: Link, fragment: Fragment) -> None:
        """One fragment; the last one completes a message."""
        channel = (fragment.reliable, priority_of(fragment))
        marks = {type(ext).__name__ for ext in fragment.exts}
        if "Drop" in marks:
            link.partial.pop(channel, None)
            return
        if "First" in marks or (channel not in link.partial and not link.terms.patch):
            link.partial[channel] = bytearray()
        if channel not in link.partial:
            return
        link.partial[channel] += fragment.payload
        if not fragment.more:
            self.route_bytes(link, bytes(link.partial.pop(channel)))

    def sn_mask(self, link: Link) -> int:
        return SN_MASK[link.terms.resolution & 3]

    def on_time(self, link: Link) -> None:
        """What time alone makes a link do."""
        if not link.live:
            if self.now - link.opened_at >= self.config.handshake_s:
                self.refuse(link, None)
        elif self.now - link.last_heard >= self.lease_of(link):
            self.refuse(link, EXPIRED)
        elif self.now - link.last_said >= self.config.lease_ms / 4000:
            self.send(link, KeepAlive())

    def lease_of(self, link: Link) -> float:
        """The effective lease in seconds: the smaller of both."""
        assert link.their_open is not None
        theirs = link.their_open.lease * (1 if link.their_open.lease_in_seconds else 0.001)
        return min(theirs, self.config.lease_ms / 1000)

    # -- saying

    def send(self, link: Link, *messages: Any) -> None:
        """Transport messages, one batch."""
        self.send_batch(link, b"".join(self.encoded(message) for message in messages))

    def encoded(self, message: Any) -> bytes:
        """A transport message as bytes."""
        return encode(message)

    def send_batch(self, link: Link, batch: bytes) -> None:
        """A batch, framed as this link is framed now."""
        ours = link.decoder.directions[link.side]
        data = frame_batch(batch, link.decoder.connection.framing.value, prefix=ours.prefix, compressed=ours.compressed)
        for _ in link.decoder.feed(Event(self.now, link.name, link.side, Happened.BYTES, data)):
            pass
        link.last_said = self.now
        self.actions.append(Action(link.name, data))

    def refuse(self, link: Link, reason: int | None) -> None:
        """CLOSE instead of what would come next, then the end of the link."""
        if reason is not None:
            self.send(link, sane.close(reason))
        self.end(link)

    def end(self, link: Link) -> None:
        """Shut a link, and forget what its session declared."""
        self.actions.append(Action(link.name, end=True))
        self.drop(link)

    def drop(self, link: Link) -> None:
        """Forget a link."""
        was_live, link.state = link.live, State.CLOSED
        self.links.pop(link.name, None)
        if was_live:
            self.on_gone(link)
