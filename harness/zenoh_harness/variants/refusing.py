"""Nodes that refuse in another way, or with another reason, than the reference node, where no page requires one."""

from __future__ import annotations

from typing import Any

from zenoh_conformance.messages import Close, Frame, Init, Open, UQueryable, USubscriber, UToken, sane
from zenoh_conformance.reading.connection import Seen, priority_of
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import reason_code
from zenoh_harness.reference import (
    EXPIRED,
    GENERIC,
    INVALID,
    MAX_LINKS,
    Action,
    Base,
    Link,
    Reference,
    Refused,
    after,
    before,
    refuse,
)
from zenoh_harness.reference.hooked import do_nothing

from . import row, variant
from .later import TimedNode

FREE = "close#reasons: none of them is asked for here"


class _ForAnotherReason(Reference):
    """Closes with another reason where no page requires one: for a cookie, a sequence number, a message out of turn."""

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


for word in ("generic", "unsupported", "unresponsive"):
    row(
        f"refuses-for-{word}",
        f"Refuses for {word.upper()} where no page asks for a reason.",
        permitted=FREE,
        of=_ForAnotherReason,
        reason=reason_code(word.upper()),
    )


@variant(permitted="message-reference#frame: one or more network messages")
class RefusesEmptyFrames(Reference):
    """Refuses a FRAME without messages."""

    def on_session(self, link: Link, message: Any) -> None:
        if isinstance(message, Frame) and not message.messages:
            raise Refused(INVALID)
        super().on_session(link, message)


class _Silently(Reference):
    """Ends links without CLOSE where none is required: in a session, for bytes that are no message, and as initiator."""

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


row(
    "ends-by-fin",
    "Ends a session after a fault in it, and a handshake that it began itself, by FIN without CLOSE.",
    permitted="session-establishment#overview requires CLOSE of a responder in the handshake only",
    of=_Silently,
)
row(
    "ends-by-rst",
    "As `ends-by-fin`, by RST; ends every link by RST, also after CLOSE.",
    permitted="no page says how a link ends",
    of=_Silently,
    resets=True,
)

NO_REASON = {"establishment-limits/an-expired-session-is-told-so": "no CLOSE tells why the session ended"}


row(
    "ends-expired-sessions-for-generic",
    "Ends a session whose lease is over with Close(GENERIC).",
    permitted="GENERIC states no reason, and contradicts none",
    unjudged=NO_REASON,
    refuse=lambda base, reason: base(reason=GENERIC if reason == EXPIRED else reason),
)


row(
    "gives-up-handshakes-for-expired",
    "Closes a handshake that has taken more than a second with reason EXPIRED.",
    permitted="close#reasons: no page gives the end of a handshake that takes too long a reason",
    settings={"handshake_s": 1.0},
    on_time=lambda node, base, link: (
        base() if link.live or node.now - link.opened_at < node.config.handshake_s else node.refuse(link, EXPIRED)
    ),
)


row(
    "waits-for-another-answer",
    "As initiator, takes no notice of what is not the answer that is due, and waits for it.",
    permitted="session-establishment#overview: a refusal by CLOSE binds the responder; no page says when an initiator gives up",
    on_message=lambda node, base, link, seen: (
        base()
        if link.live or link.side is Side.RESPONDER or seen.kind == "close" or node.is_due(link, seen.message)
        else None
    ),
)


@variant(permitted="no page says who ends a link after CLOSE")
class SaysCloseAndWaits(TimedNode):
    """After its own CLOSE, waits half a second for the far side to end the link."""

    def refuse(self, link: Link, reason: int | None) -> None:
        if reason is None:
            super().refuse(link, reason)
            return
        self.send(link, sane.close(reason, session=link.live))
        self.drop(link)
        self.after(0.5, lambda link: self.actions.append(Action(link.name, end=True)), link)

    def disconnected(self, name: str, now: float) -> list[Action]:
        self.tasks = [task for task in self.tasks if task.link.name != name]
        return super().disconnected(name, now)


row(
    "calls-unknown-mandatory-unsupported",
    "Refuses an unknown mandatory extension with UNSUPPORTED, and all other undecodable bytes with INVALID.",
    permitted="primitives/unknown-mandatory-may-close",
    on_undecodable=lambda seen: refuse(
        reason_code("UNSUPPORTED") if "mandatory" in str(seen.message) else INVALID, str(seen.message)
    ),
)


def _has_reserved_bits(seen: Seen) -> bool:
    return any(each.kind == "reserved-bit" for each in seen.diagnostics)


def _refuse_reserved_bits(link: Link, seen: Seen, *, live: bool) -> None:
    """Refuse a message with a reserved bit set, in a live session or before one."""
    if link.live == live and _has_reserved_bits(seen):
        refuse(INVALID, "a reserved bit")


row(
    "is-strict-about-reserved-bits",
    "Refuses INIT with a reserved bit set.",
    permitted="session-establishment#packed-byte, #resolution-byte: zero",
    on_message=before(lambda link, seen: _refuse_reserved_bits(link, seen, live=False)),
)
row(
    "is-strict-about-reserved-bits-in-a-session",
    "Ends a session in which a message has a reserved bit set.",
    permitted="message-reference#frame, #qos-extension: reserved (zero)",
    on_message=before(lambda link, seen: _refuse_reserved_bits(link, seen, live=True)),
)
row(
    "drops-what-has-reserved-bits",
    "Drops a message with a reserved bit set.",
    permitted="message-reference#frame, #qos-extension: reserved (zero)",
    on_message=lambda base, link, seen: None if link.live and _has_reserved_bits(seen) else base(),
)


row(
    "refuses-what-comes-between-fragments",
    "Ends a session in which a FRAME comes between the fragments of its reliable channel.",
    permitted="fragmentation#sequence: no other FRAME comes between",
    on_session=before(
        lambda link, message: (
            refuse(INVALID, "between fragments")
            if isinstance(message, Frame) and message.reliable and (True, priority_of(message)) in link.partial
            else None
        )
    ),
)
row(
    "takes-no-undeclaration-without-its-key",
    "Ignores the undeclaration of a subscriber, queryable or token that does not name the key.",
    permitted="declarations#undeclare-subscriber: the extension WireExpr is there",
    on_declare=lambda base, link, declare: (
        None
        if isinstance(declare.body, USubscriber | UQueryable | UToken) and not declare.body.exts and link.inside is None
        else base()
    ),
)
row(
    "refuses-empty-batches",
    "Ends a session in which a length prefix is zero.",
    permitted="erratum empty-unit: nothing on a length prefix of zero",
    on_batch=lambda base, batch: base() if batch else refuse(INVALID, "empty batch"),
)


@variant("on_message", permitted="erratum duplicate-extensions: no rule for an extension that occurs twice")
def is_strict_about_extensions(node: Reference, base: Base[None], link: Link, seen: Seen) -> None:
    """Refuses INIT and OPEN with an extension that occurs twice."""
    chain = [(ext.id if hasattr(ext, "id") else type(ext).__name__) for ext in getattr(seen.message, "exts", ())]
    if not link.live and len(chain) > len(set(chain)):
        raise Refused(INVALID, "an extension twice")
    base(link, seen)


row(
    "passes-over-what-is-odd-in-a-session",
    "Ignores undecodable bytes and handshake messages in a live session.",
    permitted="no page says what a node does with it in a session",
    unjudged={
        "establishment-states/a-node-comes-back-after-every-end": "what is odd in a session is not refused there"
    },
    on_undecodable=lambda base, link: None if link.live else base(),
    on_late_handshake=do_nothing,
)


row(
    "takes-the-new-for-the-old",
    "Closes the session of a node that opens another one, as if the node had lost the first.",
    permitted="no page says which of two links of one node stays",
    check_open=before(
        lambda node, link, open_: (
            node.refuse(earlier, GENERIC)
            if (earlier := node.earlier_link(link)) is not None
            and not link.terms.multilink
            and node.cookie_matches(link, open_)
            else None
        )
    ),
)


row(
    "refuses-a-second-link-at-init",
    "Refuses a second session of a node already at its INIT, not at its OPEN.",
    permitted="session-establishment#overview: resource limits, at any point",
    check_init=after(
        lambda node, syn: (
            refuse(MAX_LINKS)
            if node.config.max_links == 1 and any(o.live and o.zid == syn.zid.raw for o in node.links.values())
            else None
        )
    ),
)


row(
    "tells-nothing-of-an-expired-lease",
    "Ends a session whose lease is over without CLOSE.",
    permitted="keep-alive#expiry: the link is closed",
    unjudged=NO_REASON,
    on_time=lambda node, base, link: (
        node.end(link)
        if link.their_open and link.live and node.now - link.last_heard >= node.lease_of(link)
        else base()
    ),
)


@variant("refuse", permitted="close#scope: a session of one link ends either way")
def closes_only_the_link(node: Reference, base: Base[None], link: Link, reason: int | None) -> None:
    """Closes a session of one link by CLOSE without S."""
    if reason is not None and link.live:
        node.send(link, Close(session=False, reason=reason))
        node.end(link)
    else:
        base(link, reason)


row(
    "answers-close-by-close",
    "Answers CLOSE of a session by CLOSE(GENERIC).",
    permitted="close: no page forbids it; both are done",
    on_close=before(
        lambda node, link, close: node.send(link, Close(session=close.session, reason=GENERIC)) if link.live else None
    ),
)


@variant("refuse", permitted="close#scope: a session of one link ends either way; no page says which in a handshake")
def closes_sessions_in_handshakes(node: Reference, base: Base[None], link: Link, reason: int | None) -> None:
    """Refuses in a handshake by CLOSE with S."""
    if reason is not None:
        node.send(link, sane.close(reason, session=True))
    node.end(link)
