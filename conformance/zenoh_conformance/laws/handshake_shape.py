"""What INIT and OPEN look like, where they may stand, and what a session may carry after them."""

from __future__ import annotations

from zenoh_conformance.judging.law import Law, law
from zenoh_conformance.messages import Fragment, Frame, Init, Open, Patch, sane
from zenoh_conformance.reading.codec import Layer
from zenoh_conformance.reading.connection import Nature, Seen
from zenoh_conformance.reading.conversation import SIDES, Happened, Side
from zenoh_conformance.reading.kinds import InitAck, InitSyn
from zenoh_conformance.wire import DecodeError

from .handshake import HandshakeLaw, carries

NETWORK = range(0x19, 0x20)
"""Ids of network messages, which no transport message has."""


class _Unicast(Law):
    """INIT and OPEN never stand beside JOIN: one is of unicast links, the other of multicast."""

    kind = ""
    natures = frozenset({Nature.UNICAST, Nature.MULTICAST})

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[Side, set[str]] = {side: set() for side in SIDES}

    def on_init(self, seen: Seen, message: object) -> None:
        said = self.said[seen.sender]
        if seen.kind == self.kind:
            others = {"join"} if self.kind != "join" else {"init", "open"}
            self.subject(seen)
            mixed = sorted(said & others)
            self.require(
                not mixed, at=seen, expected=f"no {self.kind.upper()}", got=f"one beside {', '.join(mixed).upper()}"
            )
        said.add(seen.kind)

    on_open = on_join = on_init


@law("session-establishment/init-unicast-only")
class InitUnicastOnly(_Unicast):
    """Who says JOIN on a link says no INIT there."""

    kind = "init"


@law("session-establishment/open-unicast-only")
class OpenUnicastOnly(_Unicast):
    """Who says JOIN on a link says no OPEN there."""

    kind = "open"


@law("session-establishment/multicast-has-no-handshake")
class MulticastHasNoHandshake(_Unicast):
    """Who says INIT or OPEN on a link says no JOIN there."""

    kind = "join"


class _Whole(HandshakeLaw):
    """What begins like INIT or OPEN, before the session, is one to its end."""

    mid = 0
    first = False
    """The batch has just begun: what does not decode now is its first message."""

    def on_batch(self, seen: Seen, batch: bytes) -> None:
        """What comes next is its first message."""
        self.first = True

    def on_alone(self, seen: Seen, message: object) -> None:
        began, self.first = self.first, False
        if not (isinstance(message, DecodeError) and seen.event.kind is Happened.BYTES and seen.raw[:1]):
            return
        if began and self.watched and self.link.open_ack is None and seen.raw[0] & 0x1F == self.mid:
            self.subject(seen)
            self.require(False, at=seen, why=f"what begins like a message is none: {message.why}")


@law("session-establishment/init-field-order")
class InitIsWhole(_Whole):
    """INIT has all its fields, in their order, with values that they can have."""

    mid = 0x01

    def on_init(self, seen: Seen, init: Init) -> None:
        self.subject(seen)


@law("session-establishment/open-field-order")
class OpenIsWhole(_Whole):
    """OPEN has all its fields, in their order, with values that they can have."""

    mid = 0x02

    def on_open(self, seen: Seen, open_: Open) -> None:
        self.subject(seen)


@law("session-establishment/version-is-proposed-by-initiator")
class VersionIsProposedByInitiator(Law):
    """InitSyn proposes the version whose layout it has."""

    def on_init(self, seen: Seen, init: Init) -> None:
        if InitSyn.matches(init):
            self.subject(seen)
            right = init.version == sane.VERSION
            self.require(right, at=seen, path="init.version", expected=sane.VERSION, got=init.version)


@law("session-establishment/lease-proposed-by-both")
class LeaseProposedByBoth(HandshakeLaw):
    """Nobody says anything in a session before it has stated its own lease, in its OPEN."""

    def on_open(self, seen: Seen, open_: Open) -> None:
        self.subject(seen)

    def on_frame(self, seen: Seen, message: Frame | Fragment) -> None:
        mine = self.link.open_syn if seen.sender is Side.INITIATOR else self.link.open_ack
        if self.watched and self.link.init_ack is not None:
            self.require(mine is not None, at=seen, expected="a lease of its own first", got=seen.kind)

    on_fragment = on_frame


@law("session-establishment/frame-transport-by-default")
class FrameTransportByDefault(HandshakeLaw):
    """Without low latency no network message stands in a batch by itself."""

    def on_frame(self, seen: Seen, message: Frame | Fragment) -> None:
        if self.watched and self.link.init_ack is not None and not self.link.agreed("LowLatency"):
            self.subject(seen)

    on_fragment = on_frame

    def on_undecodable(self, seen: Seen, refusal: DecodeError) -> None:
        """A network message is no transport message, so that it does not decode as one. Where a message begins, not in a FRAME."""
        if self.link.open_ack is None or self.link.agreed("LowLatency") or not seen.raw:
            return
        begins = refusal.path == Layer.TRANSPORT and refusal.at < len(seen.raw)
        if begins and seen.raw[refusal.at] & 0x1F in NETWORK:
            self.subject(seen)
            self.require(False, at=seen, expected="FRAME or FRAGMENT", got="a network message by itself")


@law("session-establishment/patch-at-most-offered")
class PatchAtMostOffered(HandshakeLaw):
    """InitAck states no higher patch than InitSyn did."""

    def on_init(self, seen: Seen, init: Init) -> None:
        if InitAck.matches(init) and self.link.init_syn is not None:
            self.subject(seen)
            fits = patch_of(init) <= patch_of(self.link.init_syn)
            self.require(
                fits, at=seen, path="init.exts.patch", expected="at most the patch offered", got="a higher one"
            )


@law("session-establishment/qos-told-from-qos-link-by-enc")
class QosAnsweredInKind(HandshakeLaw):
    """InitAck answers QoS with QoS and QoSLink with QoSLink, though they share an id."""

    def on_init(self, seen: Seen, init: Init) -> None:
        if InitAck.matches(init) and self.link.init_syn is not None:
            self.subject(seen)
            for name, other in (("QoS", "QoSLink"), ("QoSLink", "QoS")):
                mistaken = (
                    carries(init, name) and carries(self.link.init_syn, other) and not carries(self.link.init_syn, name)
                )
                self.require(not mistaken, at=seen, path="init.exts", expected=f"{other} or neither", got=name)


@law("session-establishment/cookie-prevents-replay", per="conversation")
class CookiesDiffer(Law):
    """One node issues no cookie twice: a cookie of another link would open this one. Two short cookies may be equal by chance."""

    SHORT = 8
    """Bytes below which two cookies that were drawn at random may be equal: no page says how long a cookie is."""
    MOST = 4096
    """Cookies kept."""

    def __init__(self) -> None:
        super().__init__()
        self.issued: dict[tuple[bytes, bytes], str] = {}
        """(ZID, cookie) to the link, the newest last."""

    def on_init(self, seen: Seen, init: Init) -> None:
        if not init.ack or len(init.cookie or b"") < self.SHORT:
            return
        key = (init.zid.raw, init.cookie or b"")
        self.subject(seen)
        again = self.issued.get(key, seen.connection) != seen.connection
        self.require(not again, at=seen, path="init.cookie", expected="a cookie of its own", got="that of another link")
        self.issued[key] = seen.connection
        if len(self.issued) > self.MOST:
            del self.issued[next(iter(self.issued))]


def patch_of(init: Init) -> int:
    """The patch that an INIT states; 0 where it states none."""
    patch = init.exts.get(Patch)
    return 0 if patch is None else patch.value
