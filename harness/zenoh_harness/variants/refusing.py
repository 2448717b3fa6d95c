"""Nodes that refuse in another way, or for another reason, than the reference, where no page says how."""

from __future__ import annotations

from zenoh_conformance import sane
from zenoh_conformance.connection import Seen
from zenoh_conformance.conversation import Side
from zenoh_conformance.kinds import reason_code
from zenoh_conformance.messages import Close, Init, Open
from zenoh_conformance.session import State
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import EXPIRED, GENERIC, INVALID, MAX_LINKS, Action, Refused
from zenoh_harness.reference.link import Link

from . import variant

FREE = "close#reasons: none of them is asked for here"


class _ForAnotherReason(Reference):
    """Says another reason where no page asks for one: a cookie, a number, a step out of turn."""

    reason = 0

    def check_open(self, link: Link, open_: Open) -> None:
        try:
            super().check_open(link, open_)
        except Refused as refused:
            raise Refused(self.reason if refused.reason == INVALID else refused.reason) from None

    def on_late_handshake(self, link: Link, message: Init | Open) -> None:
        raise Refused(self.reason)

    def check_init_ack(self, link: Link, ack: Init) -> None:
        try:
            super().check_init_ack(link, ack)
        except Refused as refused:
            raise Refused(self.reason if refused.reason == INVALID else refused.reason) from None


@variant("refuses-for-generic", permitted=FREE)
class RefusesForGeneric(_ForAnotherReason):
    """Refuses for GENERIC where no page asks for a reason."""

    reason = reason_code("GENERIC")


@variant("refuses-for-unsupported", permitted=FREE)
class RefusesForUnsupported(_ForAnotherReason):
    """Refuses for UNSUPPORTED where no page asks for a reason."""

    reason = reason_code("UNSUPPORTED")


@variant("refuses-for-unresponsive", permitted=FREE)
class RefusesForUnresponsive(_ForAnotherReason):
    """Refuses for UNRESPONSIVE where no page asks for a reason."""

    reason = reason_code("UNRESPONSIVE")


class _Silently(Reference):
    """Refuses without CLOSE where none is required: in a session, what is no message, and as initiator."""

    resets = False

    def refuse(self, link: Link, reason: int | None) -> None:
        due = link.side is Side.RESPONDER and link.theirs is not None and not link.live
        if due or reason not in (None, INVALID) or (link.side is Side.RESPONDER and not link.live):
            super().refuse(link, reason)
            return
        self.end(link)

    def end(self, link: Link) -> None:
        self.actions.append(Action(link.name, end=True, reset=self.resets))
        self.drop(link)


@variant("ends-by-fin", permitted="session-establishment#overview asks for CLOSE of a responder in the handshake only")
class EndsByFin(_Silently):
    """Ends a session for what is wrong in it, and a handshake that it began itself, by FIN and without CLOSE."""


@variant("ends-by-rst", permitted="no page says how a link ends")
class EndsByRst(_Silently):
    """The same by RST; and every link, after CLOSE too."""

    resets = True


NO_REASON = {"establishment-limits/an-expired-session-is-told-so": "no CLOSE tells why the session ended"}


@variant(
    "ends-expired-sessions-for-generic", permitted="GENERIC tells no reason, and contradicts none", unjudged=NO_REASON
)
class EndsExpiredSessionsForGeneric(Reference):
    """Says Close(GENERIC) to a session whose lease is over."""

    def refuse(self, link: Link, reason: int | None) -> None:
        super().refuse(link, GENERIC if reason == EXPIRED else reason)


@variant("says-close-and-waits", permitted="no page says who ends a link after CLOSE")
class SaysCloseAndWaits(Reference):
    """After its own CLOSE it leaves the end of the link to the other side, for half a second."""

    def __init__(self, config: object = None) -> None:
        super().__init__(config)  # type: ignore[arg-type]
        self.lingering: dict[str, float] = {}

    def refuse(self, link: Link, reason: int | None) -> None:
        if reason is None:
            super().refuse(link, reason)
            return
        self.send(link, sane.close(reason, session=link.live))
        self.drop(link)
        self.lingering[link.name] = self.now + 0.5

    def disconnected(self, name: str, now: float) -> list[Action]:
        self.lingering.pop(name, None)
        return super().disconnected(name, now)

    def tick(self, now: float) -> list[Action]:
        over = [name for name, until in self.lingering.items() if now >= until]
        for name in over:
            del self.lingering[name]
            self.actions.append(Action(name, end=True))
        return super().tick(now)


@variant("calls-unknown-mandatory-unsupported", permitted="primitives/unknown-mandatory-may-close")
class CallsUnknownMandatoryUnsupported(Reference):
    """Tells UNSUPPORTED for an unknown mandatory extension, INVALID for all else that cannot be read."""

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        mandatory = "mandatory" in str(seen.message)
        raise Refused(reason_code("UNSUPPORTED") if mandatory else INVALID, str(seen.message))


@variant("is-strict-about-reserved-bits", permitted="session-establishment#packed-byte, #resolution-byte: zero")
class IsStrictAboutReservedBits(Reference):
    """Refuses INIT with a reserved bit set."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if not link.live and any(each.kind == "reserved-bit" for each in seen.diagnostics):
            raise Refused(INVALID, "a reserved bit")
        super().on_message(link, seen)


@variant("is-strict-about-extensions", permitted="erratum duplicate-extensions: nothing on what stands twice")
class IsStrictAboutExtensions(Reference):
    """Refuses INIT and OPEN with an extension that stands twice."""

    def on_message(self, link: Link, seen: Seen) -> None:
        chain = [(ext.id if hasattr(ext, "id") else type(ext).__name__) for ext in getattr(seen.message, "exts", ())]
        if not link.live and len(chain) > len(set(chain)):
            raise Refused(INVALID, "an extension twice")
        super().on_message(link, seen)


@variant(
    "passes-over-what-is-odd-in-a-session",
    permitted="no page says what a node does with it in a session",
    unjudged={
        "establishment-states/a-node-comes-back-after-every-end": "what is odd in a session is not refused there"
    },
)
class PassesOverWhatIsOddInASession(Reference):
    """In a session it passes over what it cannot read, and what belongs to a handshake."""

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        if not link.live:
            super().on_undecodable(link, seen)

    def on_late_handshake(self, link: Link, message: Init | Open) -> None:
        return


@variant("takes-the-new-for-the-old", permitted="no page says which of two links of one node stays")
class TakesTheNewForTheOld(Reference):
    """A node that opens a session while it has one is believed to have come back: the old session is closed."""

    def check_open(self, link: Link, open_: Open) -> None:
        earlier = self.earlier_link(link)
        if earlier is not None and not link.terms.multilink and self.cookie_matches(link, open_):
            self.refuse(earlier, reason_code("GENERIC"))
        super().check_open(link, open_)


@variant("refuses-a-second-link-at-init", permitted="session-establishment#overview: resource limits, at any point")
class RefusesASecondLinkAtInit(Reference):
    """Refuses a node that has a session already when it proposes another, not when it opens it."""

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn)
        if self.config.max_links == 1 and any(o.live and o.zid == syn.zid.raw for o in self.links.values()):
            raise Refused(MAX_LINKS)


@variant(
    "tells-nothing-of-an-expired-lease",
    permitted="keep-alive#expiry: the link is closed",
    unjudged={"establishment-limits/an-expired-session-is-told-so": "no CLOSE tells why the session ended"},
)
class TellsNothingOfAnExpiredLease(Reference):
    """Ends a session whose lease is over without CLOSE."""

    def on_time(self, link: Link) -> None:
        if link.live and self.now - link.last_heard >= self.lease_of(link):
            self.end(link)
        else:
            super().on_time(link)


@variant("closes-only-the-link", permitted="close#scope: a session of one link ends either way")
class ClosesOnlyTheLink(Reference):
    """Closes a session of one link by CLOSE without S."""

    def refuse(self, link: Link, reason: int | None) -> None:
        if reason is not None and link.live and link.state is State.LIVE:
            self.send(link, Close(session=False, reason=reason))
            self.end(link)
        else:
            super().refuse(link, reason)


@variant("answers-close-by-close", permitted="close: no page forbids it; both are done")
class AnswersCloseByClose(Reference):
    """Answers CLOSE of a session by CLOSE(GENERIC)."""

    def on_close(self, link: Link, close: Close) -> None:
        if link.live:
            self.send(link, Close(session=close.session, reason=GENERIC))
        super().on_close(link, close)


@variant(
    "closes-sessions-in-handshakes",
    permitted="close#scope: a session of one link ends either way; no page says which in a handshake",
)
class ClosesSessionsInHandshakes(Reference):
    """Refuses in a handshake by CLOSE with S."""

    def refuse(self, link: Link, reason: int | None) -> None:
        if reason is not None:
            self.send(link, sane.close(reason, session=True))
        self.end(link)
