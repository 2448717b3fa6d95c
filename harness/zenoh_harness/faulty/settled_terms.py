"""Nodes that do not keep the negotiated terms, lanes among them, or close for an impossible reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from zenoh_conformance.messages import Init, KeepAlive, sane
from zenoh_conformance.messages.init import QoS
from zenoh_conformance.primitives import WhatAmI
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.reading.pieces import SN_AS_WRITTEN, SN_MASK
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import EXPIRED, INVALID, TO_SELF, Refused, after, before

from . import fault

LANES = "session-lanes"
WRAP = f"{LANES}/numbers-of-every-lane-wrap"
FIRST = f"{LANES}/every-channel-of-ours-begins-with-our-number"
PLAIN = (True, sane.DEFAULT_PRIORITY)
"""The channel of a message without QoS."""
WHATAMI = {sane.ROUTER: sane.PEER, sane.PEER: sane.CLIENT, sane.CLIENT: sane.ROUTER}


def another_role(init: Init) -> Init:
    """The same INIT with another role."""
    return replace(init, whatami=WhatAmI(WHATAMI[int(init.whatami)]))


def refuse_cookies_for(reason: int) -> Callable[..., None]:
    """A `check_open` that refuses a wrong OpenSyn with an impossible reason."""

    def check_open(base: Callable[..., None]) -> None:
        try:
            base()
        except Refused as refused:
            raise Refused(reason if refused.reason == INVALID else refused.reason) from None

    return check_open


def _counts_on(link, channel, sn, mask):
    """Let the next sequence number of a channel follow this one, within the mask; return this one."""
    link.tx[channel] = (sn + 1) & mask
    return sn


fault(
    "works-only-without-a-lower-batch-and-lanes",
    "Drops the messages of a session with lanes and a small batch.",
    route=lambda base, link: (
        base() if not (link.terms.qos and link.terms.batch_size < 1000 and link.terms.patch) else None
    ),
    caught_by="settled-terms/every-pair-of-terms-is-at-work",
)
fault(
    "shows-another-role",
    "Shows another role in INIT than its own.",
    propose=lambda base: another_role(base()),
    answer_init=lambda base: another_role(base()),
    caught_by=("settled-terms/it-shows-the-role-that-it-has", "settled-terms/it-proposes-in-the-role-that-it-has"),
)
fault(
    "does-not-keep-its-lease",
    "States a lease, and sends no KEEP_ALIVE.",
    send=lambda base, messages: base() if messages != (KeepAlive(),) else None,
    caught_by=("settled-terms/a-stated-lease-is-kept", "settled-terms/its-stated-lease-is-kept"),
    also={"session-leases/each-session-is-kept-alive": "it keeps no session alive"},
)
fault(
    "uses-lanes-that-it-declined",
    "Leaves QoS out of its InitAck, and uses lanes.",
    answer_exts=lambda base: Exts(ext for ext in base() if not isinstance(ext, QoS)),
    caught_by="law/qos-needs-both",
)
fault(
    "tells-expired-in-a-handshake",
    "Refuses a wrong cookie with reason EXPIRED.",
    check_open=refuse_cookies_for(EXPIRED),
    caught_by="law/expired-needs-a-lease",
)
fault(
    "tells-everybody-that-he-is-itself",
    "Refuses a wrong cookie with reason CONNECTION_TO_SELF.",
    check_open=refuse_cookies_for(TO_SELF),
    caught_by="law/to-self-needs-one-zid",
)


fault(
    "says-nothing-of-what-it-lowered",
    "Leaves resolution and batch size out of InitAck where InitSyn has none.",
    answer_init=lambda base, syn: (
        replace(base(), resolution=None, batch_size=None) if syn.resolution is None else base()
    ),
    caught_by="settled-terms/what-it-lowered-it-keeps-to",
)
fault(
    "counts-on-in-32-bits",
    "Counts its sequence numbers past the negotiated resolution.",
    next_sn=lambda base, link, reliable, priority: _counts_on(link, (reliable, priority), base(), SN_MASK[2]),
    caught_by=(
        "law/sn-within-resolution",
        "settled-terms/numbers-wrap-where-it-was-settled",
        "settled-terms/its-numbers-wrap-where-it-was-settled",
        "settled-terms/what-it-lowered-it-keeps-to",
    ),
    also={"session-lanes/numbers-of-every-lane-wrap": "the same in every lane"},
)


fault(
    "counts-numbers-as-written",
    "Counts its sequence numbers to 2^8, 2^16 or 2^32, as the text has it (erratum sn-fills-vle-bytes, ZD-24).",
    next_sn=lambda base, link, reliable, priority: _counts_on(
        link, (reliable, priority), base(), SN_AS_WRITTEN[link.terms.resolution & 3]
    ),
    caught_by="law/sn-within-resolution",
    also={
        "session-lanes/*": "we and it do not agree on the last number",
        "settled-terms/*": "we and it do not agree on the last number",
    },
)


fault(
    "uses-lanes-once-somebody-has-them",
    "Uses lanes in every session while one session has them.",
    lane_of=lambda node, message: (
        priority_of(message)
        if any(other.live and other.terms.qos for other in node.links.values())
        else sane.DEFAULT_PRIORITY
    ),
    caught_by=f"{LANES}/who-has-no-lanes-hears-none",
    also={"law/qos-needs-both": "it uses lanes that were not negotiated"},
)


fault(
    "uses-lanes-toward-a-patch",
    "Uses lanes in a session that has Patch and no QoS.",
    lane_of=lambda base, link, message: priority_of(message) if link.terms.patch else base(),
    caught_by=(f"{LANES}/who-has-no-lanes-hears-none", "law/qos-needs-both"),
)
fault(
    "has-lanes-and-low-latency",
    "Accepts QoS and LowLatency on one link where it has low latency at all.",
    settle=lambda base, syn: replace(base(), qos=any(isinstance(ext, QoS) for ext in syn.exts)),
    caught_by=("law/no-qos-with-low-latency", "establishment-sane/who-has-low-latency-settles-on-one"),
)
fault(
    "wraps-in-its-default-lane-only",
    "Counts its sequence numbers past the negotiated resolution in every lane but Data.",
    next_sn=lambda base, link, reliable, priority: (
        base() if priority == sane.DEFAULT_PRIORITY else _counts_on(link, (reliable, priority), base(), SN_MASK[2])
    ),
    caught_by=WRAP,
    also={"law/sn-within-resolution": "its sequence numbers exceed the resolution"},
)


fault(
    "takes-numbers-that-begin-anew-in-one-channel-only",
    "Drops best-effort messages, and those of other lanes than Data, after their sequence numbers wrap.",
    accepts_sn=lambda base, link, message: (
        ((channel := (message.reliable, priority_of(message))) == PLAIN or message.sn >= link.rx.get(channel, 0))
        and base()
    ),
    caught_by=WRAP,
    also={FIRST: "the sequence numbers wrap if our first one is the last of the resolution"},
)


fault(
    "awaits-zero-in-other-channels",
    "Expects the first sequence number 0 on every channel but one, whatever OPEN stated.",
    accepts_sn=before(
        lambda node, link, message: (
            link.rx.setdefault(channel, node.sn_mask(link))
            if (channel := (message.reliable, priority_of(message))) != PLAIN
            else None
        )
    ),
    caught_by=FIRST,
)
fault(
    "uses-low-latency-alone",
    "Uses low latency though the other side's INIT does not have it.",
    settle=lambda node, base: replace(base(), lowlatency=node.config.lowlatency),
    settle_ack=lambda node, base: replace(base(), lowlatency=node.config.lowlatency),
    caught_by=(
        "session-modes/low-latency-that-we-do-not-offer-is-not-used",
        "session-modes/low-latency-that-we-decline-is-not-used",
    ),
)
fault(
    "writes-compression-headers-alone",
    "Writes compression headers though the other side's INIT does not have Compression.",
    send_batch=lambda node, base, link, batch: base(
        batch=b"\0" + batch if link.live and node.config.compression and not link.terms.compression else batch
    ),
    caught_by=(
        "session-modes/compression-that-we-do-not-offer-is-not-used",
        "session-modes/compression-that-we-decline-is-not-used",
    ),
    also={"law/what-is-said-decodes": "a batch with a header is no message there"},
)
fault(
    "counts-two-lanes-together",
    "Counts the numbers that come in the lanes 6 and 7 together.",
    accepts_sn=after(
        lambda link, message: (
            link.rx.update({(message.reliable, lane): message.sn for lane in (6, 7)})
            if priority_of(message) in (6, 7)
            else None
        )
    ),
    caught_by=(f"{LANES}/all-channels-of-ours-count-apart", "application-terms/an-application-hears-every-channel"),
)
