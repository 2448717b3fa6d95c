"""Responders that accept a wrong OpenSyn, or a message at the wrong time, or send a wrong OpenAck."""

from __future__ import annotations

import hmac
from hashlib import sha256

from zenoh_conformance.messages import Close, Frame, KeepAlive, Open, sane
from zenoh_conformance.reading.kinds import InitSyn, OpenAck
from zenoh_conformance.tables.session import State
from zenoh_harness.reference import INVALID, Reference, before, refuse

from . import fault, faulty, say_before
from .establishment_chains import BelievesBroken


class Silence(Exception):  # noqa: N818 - a fault on purpose
    """Ends a step without an answer."""


fault(
    "believes-any-cookie",
    "Accepts any cookie.",
    cookie_matches=lambda: True,
    caught_by=(
        "establishment-cookie/a-changed-cookie-is-refused",
        "establishment-cookie/an-invented-cookie-is-refused",
    ),
    also={
        "establishment-cookie/*": "it accepts any cookie",
        "establishment-batches/an-open-sent-too-soon-*": "its cookie is invented",
    },
)
fault(
    "compares-half-a-cookie",
    "Compares only the first four bytes of the cookie.",
    cookie_matches=lambda link, open_: (open_.cookie or b"")[:4] == link.mine.cookie[:4],
    caught_by="establishment-cookie/a-changed-cookie-is-refused",
    also={
        "establishment-cookie/a-shortened-cookie-is-refused": "a shortened cookie lacks only its last byte",
        "establishment-cookie/a-longer-cookie-*": "a longer cookie begins with the right bytes",
    },
)
fault(
    "compares-a-prefix-of-the-cookie",
    "Accepts any prefix of the cookie.",
    cookie_matches=lambda link, open_: link.mine.cookie.startswith(open_.cookie or b""),
    caught_by="establishment-cookie/a-shortened-cookie-is-refused",
    also={"establishment-cookie/a-cookie-length-that-lies-*": "the bytes after a wrong length are a prefix"},
)
fault(
    "compares-the-length-of-the-cookie",
    "Compares only the length of the cookie.",
    cookie_matches=lambda link, open_: len(open_.cookie or b"") == len(link.mine.cookie or b""),
    caught_by="establishment-cookie/an-invented-cookie-is-refused",
    also={"establishment-cookie/*": "all cookies have the same length"},
)
fault(
    "bakes-the-same-cookie-again",
    "Makes the cookie from the ZenohID alone, so that it opens several sessions.",
    make_cookie=lambda node, syn: hmac.digest(node.config.secret, syn.zid.raw, sha256),
    caught_by=(
        "establishment-cookie/a-used-cookie-opens-no-second-session",
        "establishment-cookie/a-cookie-of-another-link-is-refused",
        "law/cookies-differ",
    ),
)
fault(
    "believes-any-initial-sn",
    "Accepts any initial sequence number, whatever the resolution.",
    accepts_initial_sn=lambda: True,
    caught_by="establishment-open/an-initial-number-past-the-edge-is-refused",
)
fault(
    "refuses-the-largest-initial-sn",
    "Refuses the largest initial sequence number of the resolution.",
    accepts_initial_sn=lambda node, link, sn: sn < node.sn_mask(link),
    caught_by="establishment-open/an-initial-number-at-the-edge-is-accepted",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "one pair begins at the edge",
        "initiator-open-ack/our-initial-number-is-taken": "in both roles",
        "establishment-fields/*": "the last number of a resolution is one of their values",
    },
)
fault(
    "refuses-an-initial-sn-of-zero",
    "Refuses an initial sequence number of zero.",
    accepts_initial_sn=lambda base, sn: sn != 0 and base(),
    caught_by="establishment-open/an-initial-number-at-the-edge-is-accepted",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "one pair begins at zero",
        "settled-terms/its-numbers-wrap-where-it-was-settled": "a wrapped sequence number is zero",
        "establishment-*": "our usual number is zero",
        "initiator-open-ack/*": "in both roles",
        "initiator-*": "in both roles",
    },
)
fault(
    "begins-past-the-resolution",
    "States an initial sequence number past the resolution.",
    make_initial_sn=lambda node, link: node.sn_mask(link) + 1,
    caught_by="law/initial-sn-in-range",
    also={
        "establishment-open/the-same-peer-meets-another-number": "it is always the same sequence number",
        "*initial-number*": "its only sequence number exceeds every resolution",
        "law/initial-sn-random": "it is always the same sequence number",
        "law/sn-within-resolution": "its FRAMEs continue from that sequence number",
        "session-lanes/numbers-of-every-lane-wrap": "the same in every lane",
        "initiator-init-ack/a-lower-resolution-is-taken": "the same fault as initiator",
        "initiator-fields/a-resolution-at-most-*": "the same fault as initiator",
    },
)
fault(
    "begins-always-at-zero",
    "Begins every session with sequence number zero.",
    make_initial_sn=lambda: 0,
    caught_by=("law/initial-sn-random", "establishment-open/initial-numbers-vary"),
    also={"establishment-open/the-same-peer-meets-another-number": "every peer gets the same sequence number"},
)
fault(
    "reads-leases-as-milliseconds",
    "Reads a lease in seconds as milliseconds, and refuses it as too short.",
    check_open=lambda base, open_: refuse(INVALID) if open_.lease < 1000 else base(),
    caught_by="establishment-sane/a-lease-in-either-unit-is-accepted",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "a pair has a lease in seconds, which it refuses as too short",
        "establishment-*": "our usual lease is ten seconds",
    },
)
fault(
    "counts-leases-as-milliseconds",
    "Counts every lease in milliseconds, whatever T says: a session of ten seconds is over after ten milliseconds.",
    lease_of=lambda node, link: min(link.their_open.lease, node.config.lease_ms) / 1000,
    caught_by="law/expired-needs-a-lease",
    also={"*": "sessions end while they are at work"},
)
fault(
    "opens-and-does-nothing",
    "Completes the handshake and ignores all traffic after it.",
    on_session=lambda: None,
    caught_by="establishment-sane/a-session-does-work",
    also={
        "settled-terms/*": "the case needs traffic, and it answers none",
        "interest-snapshots/a-snapshot-ends": "it answers nothing in a session",
        "query-ends/a-query-that-nobody-serves-is-final": "it answers nothing in a session",
        "establishment-*": "no session does work",
        "close-scope/*": "the same over two links",
        "initiator-open-ack/*": "in both roles",
        "initiator-*": "in both roles",
    },
)
fault(
    "opens-without-init",
    "Accepts an OpenSyn as the first message.",
    is_due=lambda base, message: (isinstance(message, Open) and not message.ack) or base(),
    cookie_matches=lambda base, link: link.mine is None or base(),
    caught_by="establishment-order/nothing-but-init-syn-begins",
    also={"law/handshake-messages-in-order": "the law sees it too"},
)
fault(
    "ignores-what-is-not-due",
    "Ignores messages that are not due.",
    on_message=lambda node, base, link, seen: (
        None
        if not link.live and not node.is_due(link, seen.message) and not isinstance(seen.message, Close)
        else base()
    ),
    caught_by="establishment-order/nothing-but-open-syn-follows",
    also={
        "establishment-order/*": "it ignores such messages in every state",
        "initiator-*/nothing-but-*": "in both roles",
    },
)
fault(
    "stays-open-after-close",
    "Keeps the session open after CLOSE.",
    on_close=lambda: None,
    caught_by="establishment-order/close-ends-a-live-session",
    also={
        "initiator-*/a-refusal*": "in both roles",
        "establishment-states/close-ends-the-link-in-every-state": "in every state",
        "close-scope/*": "the same for several links",
        "session-extensions/a-close-*": "any CLOSE",
    },
)
fault(
    "refuses-without-close",
    "Ends the link without CLOSE.",
    refuse=lambda base: base(reason=None),
    caught_by="law/refusal-is-close",
    also={"establishment-init/*": "these ask for CLOSE", "establishment-*": "these ask for CLOSE"},
)
fault(
    "believes-a-cut-open",
    "Fills in the missing fields of a short OpenSyn.",
    of=BelievesBroken,
    believes=lambda link: link.state is State.INIT_ACKED,
    caught_by="establishment-open/a-cut-open-is-refused",
    also={
        "establishment-order/nothing-but-open-syn-follows": "garbage is a malformed OpenSyn, too",
        "establishment-*": "it treats any malformed OpenSyn as a valid one",
    },
)
fault(
    "fills-batches-past-their-size",
    "Never fragments.",
    room=lambda: 0xFFFF,
    caught_by=("law/batch-size-is-receive-limit", "session-batches/what-does-not-fit-is-fragmented"),
    also={
        "establishment-init/the-smaller-batch-size-counts": "it does not fragment larger messages",
        "application-terms/an-application-keeps-to-the-*": "in either role",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "the same with compression",
    },
)
fault(
    "begins-with-a-number-of-the-zenohids",
    "Derives its initial sequence number from the two ZenohIDs alone, so that a peer always meets the same.",
    make_initial_sn=lambda node, link: (
        int.from_bytes(sha256(node.config.zid + (link.zid or b"")).digest()[:8], "little") & node.sn_mask(link)
    ),
    caught_by="establishment-open/the-same-peer-meets-another-number",
)
fault(
    "answers-open-with-keep-alive",
    "Sends KEEP_ALIVE before OpenAck.",
    send=say_before(OpenAck, KeepAlive()),
    caught_by="law/open-ack-answers-open-syn",
)


fault(
    "begins-one-late",
    "Sends its first FRAME with the sequence number after the stated one.",
    on_live=lambda node, link: setattr(link, "initial_sn", (link.initial_sn + 1) & node.sn_mask(link)),
    caught_by="law/initial-sn-own-start",
)


fault(
    "begins-where-the-peer-does",
    "Uses the peer's initial sequence number as its own.",
    on_live=lambda link: setattr(link, "initial_sn", link.their_open.initial_sn),
    caught_by="law/initial-sn-own-start",
)


fault(
    "answers-a-second-init",
    "Restarts the handshake at a second InitSyn.",
    on_message=before(
        lambda link, seen: (
            setattr(link, "state", State.AWAIT_INIT)
            if link.state is State.INIT_ACKED and InitSyn.matches(seen.message)
            else None
        )
    ),
    caught_by=(
        "establishment-order/nothing-but-open-syn-follows",
        "law/no-challenge-round",
        "law/handshake-messages-in-order",
    ),
    also={"law/*": "it answers out of turn, and twice"},
)


@faulty("on_message", caught_by="establishment-order/data-before-open-goes-nowhere")
def routes_before_open(node, base, link, seen):
    """Routes the messages of a FRAME before the session is open, then refuses."""
    if not link.live and isinstance(seen.message, Frame):
        for inner in seen.message.messages:
            node.route(link, inner)
    base()


@faulty("refuse", caught_by="law/nothing-after-close")
def speaks_after_close(node, link, reason):
    """Sends KEEP_ALIVE after CLOSE."""
    if reason is not None:
        node.send(link, sane.close(reason))
        node.send(link, KeepAlive())
    node.end(link)


fault(
    "takes-cookies-of-other-links",
    "Accepts a cookie that it issued on another link.",
    state={"issued": dict},
    make_cookie=lambda node, base: node.issued.setdefault(cookie := base(), cookie),
    cookie_matches=lambda node, open_: open_.cookie in node.issued,
    caught_by="establishment-cookie/a-cookie-of-another-link-is-refused",
    also={"establishment-cookie/a-used-cookie-opens-no-second-session": "the used cookie is an issued one"},
)


@faulty(
    caught_by="establishment-sane/a-sane-handshake-is-accepted",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "no session is opened",
        "establishment-*": "no session opens",
    },
)
class NeverAcksOpen(Reference):
    """Does not answer OpenSyn."""

    def check_open(self, link, open_):
        super().check_open(link, open_)
        raise Silence

    def handshake(self, link, message):
        try:
            super().handshake(link, message)
        except Silence:
            return
