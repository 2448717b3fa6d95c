"""Responders that accept a wrong InitSyn, or send a wrong InitAck."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.messages import Frame, Init, KeepAlive, sane
from zenoh_conformance.messages.init import Compression, LowLatency, Patch, QoS, QoSLink
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.kinds import InitAck, OpenAck
from zenoh_conformance.tables.session import State
from zenoh_conformance.wire import Exts
from zenoh_harness.reference import INVALID, MAX_LINKS, TO_SELF, before, refuse

from . import fault, say_before
from .establishment_chains import BelievesBroken

fault(
    "answers-nothing",
    "Does not answer InitSyn.",
    handshake=lambda: None,
    caught_by="establishment-sane/a-sane-proposal-is-answered",
    also={"*": "it completes no handshake"},
)
fault(
    "issues-no-cookie",
    "Sends InitAck with an empty cookie.",
    make_cookie=lambda: b"",
    caught_by="establishment-sane/a-sane-proposal-is-answered",
    also={"establishment-*": "there is no cookie to begin with"},
)
fault(
    "believes-any-version",
    "Accepts any version.",
    accepts_version=lambda: True,
    caught_by=(
        "establishment-init/an-unknown-version-is-unsupported",
        "establishment-init/an-unknown-version-is-closed",
    ),
)
fault(
    "believes-an-old-version-with-a-patch",
    "Accepts version 8 together with Patch.",
    check_init=lambda base, syn: (
        base(syn=replace(syn, version=sane.VERSION))
        if syn.version == sane.VERSION - 1 and any(isinstance(ext, Patch) for ext in syn.exts)
        else base()
    ),
    caught_by="establishment-init/an-unknown-version-is-unsupported",
)
fault(
    "calls-a-version-invalid",
    "Refuses an unknown version with the wrong reason.",
    check_init=lambda node, base, syn: refuse(INVALID) if not node.accepts_version(syn.version) else base(),
    caught_by="establishment-init/an-unknown-version-is-unsupported",
)
fault(
    "drops-a-version-silently",
    "Ends the link without CLOSE on an unknown version.",
    check_init=lambda node, base, syn: refuse(None) if not node.accepts_version(syn.version) else base(),
    caught_by="establishment-init/an-unknown-version-is-closed",
    also={
        "law/refusal-is-close": "the law sees it too",
        "establishment-init/*": "it sends no CLOSE and so no reason",
    },
)
fault(
    "drops-routers-silently",
    "Ends the link without CLOSE if the peer is a router.",
    check_init=lambda base, syn: refuse(None) if syn.whatami == WhatAmI(sane.ROUTER) else base(),
    caught_by="establishment-limits/a-lone-lawful-proposal-is-answered-or-closed",
    also={"establishment-sane/every-role-is-accepted": "one of the roles is that of a router"},
)
fault(
    "accepts-newer-versions",
    "Accepts a higher version as compatible.",
    accepts_version=lambda version: version >= sane.VERSION,
    caught_by="establishment-init/an-unknown-version-is-unsupported",
    also={"establishment-init/an-unknown-version-is-closed": "it does not refuse the version"},
)
fault(
    "talks-to-itself-as-a-peer",
    "Accepts its own ZenohID of a peer.",
    check_init=lambda node, base, syn: None if syn.whatami == sane.PEER and syn.zid.raw == node.config.zid else base(),
    caught_by="establishment-init/its-own-zid-is-refused",
)
fault(
    "talks-to-itself",
    "Accepts a peer with its own ZenohID.",
    check_init=lambda node, base, syn: base(
        syn=syn if syn.zid.raw != node.config.zid else replace(syn, zid=ZenohID(b"\x99"))
    ),
    caught_by="establishment-init/its-own-zid-is-refused",
)
fault(
    "knows-itself-by-eight-bytes",
    "Mistakes a ZenohID that begins with the eight bytes of its own for its own.",
    check_init=lambda node, base, syn: refuse(TO_SELF) if syn.zid.raw[:8] == node.config.zid[:8] else base(),
    caught_by="establishment-init/a-zid-like-its-own-is-another-node",
)
fault(
    "raises-the-resolution",
    "Answers with its own resolution, whatever was proposed.",
    choose_resolution=lambda node: node.config.resolution,
    caught_by=("establishment-init/no-resolution-is-raised", "law/resolution-not-raised"),
    also={
        "law/sn-within-resolution": "its sequence numbers exceed the proposed resolution",
        "query-targets/an-id-out-of-range-is-not-served": "its range of request ids is larger, too",
        "query-many/request-ids-begin-anew": "its range of request ids is larger, too",
        "law/request-id-in-range": "its range of request ids is larger, too",
        "settled-terms/every-pair-of-terms-is-at-work": "its sequence numbers have another range",
        "settled-terms/*wrap-where-it-was-settled": "its sequence numbers have another range",
        "law/resolution-not-raised": "the law sees it too",
        "law/initial-sn-in-range": "its sequence numbers follow the raised resolution",
        "session-lanes/numbers-of-every-lane-wrap": "its sequence numbers wrap elsewhere",
    },
)
fault(
    "raises-the-request-id-resolution",
    "Lowers the FSN resolution and keeps its own RID resolution.",
    choose_resolution=lambda node, base: (base() & 3) | (node.config.resolution & 12),
    caught_by="establishment-init/no-resolution-is-raised",
    also={
        "law/resolution-not-raised": "the law sees it too",
        "query-targets/an-id-out-of-range-is-not-served": "it serves ids of the range that it kept",
        "query-many/request-ids-begin-anew": "its request ids have the range that it kept",
        "law/request-id-in-range": "its request ids have the range that it kept",
    },
)
fault(
    "sets-reserved-resolution-bits",
    "Sets a reserved bit in its resolution byte.",
    answer_init=lambda base, link: replace(base(), resolution=link.terms.resolution | 0x40),
    caught_by="law/resolution-reserved-zero",
)
fault(
    "keeps-its-own-batch-size",
    "Answers with its own batch size if the proposed one is smaller, and uses it if the answered one is.",
    choose_batch=lambda node: node.config.batch_size,
    caught_by=(
        "establishment-init/the-smaller-batch-size-counts",
        "application-terms/an-application-keeps-to-the-batch-that-we-take",
    ),
    also={
        "session-batches/*": "it fills batches past what was proposed",
        "law/batch-size-is-receive-limit": "the law sees it too",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "its own batches are larger",
    },
)
fault(
    "answers-unasked-qos",
    "Sends InitAck with QoS though InitSyn had none.",
    answer_exts=lambda: sane.offers("QoS"),
    caught_by="law/qos-needs-both",
    also={
        "law/qos-answered-in-kind": "the peer offers QoSLink there",
        "establishment-extensions/qos-and-qos-link-*": "the peer offers QoSLink there",
        "establishment-limits/the-right-password-is-let-in": "its InitAck has no challenge",
        "close-scope/two-links-make-one-session": "its InitAck has no challenge",
    },
)
fault(
    "refuses-who-offers-no-lanes",
    "Refuses an InitSyn without QoS and without another mode.",
    check_init=lambda base, syn: (
        base()
        if any(isinstance(ext, QoS | QoSLink | LowLatency | Compression) for ext in syn.exts)
        else refuse(INVALID)
    ),
    caught_by="establishment-sane/qos-is-settled-by-both",
    also={
        "establishment-extensions/what-may-be-declined-is-no-reason-to-refuse": "some of what may be declined is offered without QoS",
        "settled-terms/every-pair-of-terms-is-at-work": "some pairs have no mode at all",
    },
)
fault(
    "answers-unasked-low-latency",
    "Sends InitAck with LowLatency though InitSyn had none.",
    answer_exts=lambda base: Exts((*base(), LowLatency())),
    caught_by="law/low-latency-needs-both",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "it negotiates low latency with a peer that asked for lanes",
        "*low-latency*": "it negotiates low latency with QoS, too",
        "establishment-extensions/odd-extensions-of-init-*": "it negotiates low latency and does not use it",
    },
)
fault(
    "answers-unasked-compression",
    "Sends InitAck with Compression though InitSyn had none.",
    answer_exts=lambda base: Exts((*base(), Compression())),
    caught_by="law/compression-needs-both",
)
fault(
    "takes-only-long-zids",
    "Refuses a ZenohID shorter than four bytes.",
    check_init=lambda base, syn: refuse(INVALID) if len(syn.zid.raw) < 4 else base(),
    caught_by="establishment-sane/a-zid-of-every-length-is-accepted",
)
fault(
    "takes-no-sixteen-byte-zid",
    "Refuses a ZenohID of sixteen bytes.",
    check_init=lambda base, syn: refuse(INVALID) if len(syn.zid.raw) == 16 else base(),
    caught_by="establishment-sane/a-zid-of-every-length-is-accepted",
)
fault(
    "takes-clients-only",
    "Refuses routers and peers.",
    accepts_whatami=lambda whatami: whatami == sane.CLIENT,
    caught_by="establishment-sane/every-role-is-accepted",
    also={"initiator-*": "our responder is a router"},
)
fault(
    "insists-on-a-size",
    "Refuses an InitSyn without S.",
    check_init=lambda base, syn: refuse(INVALID) if syn.resolution is None else base(),
    caught_by="establishment-sane/init-syn-without-size-means-defaults",
)
fault(
    "reads-a-missing-size-as-64-bit",
    "Reads S=0 as the widest resolution.",
    settle=lambda base, syn: replace(base(), resolution=0x0F) if syn.resolution is None else base(),
    caught_by="establishment-sane/init-syn-without-size-means-defaults",
    also={
        "law/sn-within-resolution": "its sequence numbers exceed the negotiated 32 bits",
        "law/resolution-not-raised": "the law sees it too",
        "law/initial-sn-in-range": "its initial sequence number has 64 bits",
    },
)
fault(
    "believes-any-role",
    "Reads WhatAmI 3 as a client.",
    of=BelievesBroken,
    believes=lambda link, refusal: (
        link.state is State.AWAIT_INIT and any(field in str(refusal) for field in ("whatami", "packed", "role"))
    ),
    caught_by="establishment-init/a-role-that-does-not-exist-is-refused",
    also={"establishment-fields/a-malformed-message-*": "one of the messages has such a role"},
)
fault(
    "believes-a-zid-of-zero",
    "Accepts a ZenohID of zero.",
    of=BelievesBroken,
    believes=lambda link, refusal: link.state is State.AWAIT_INIT and "zid" in str(refusal).lower(),
    caught_by="establishment-init/a-zid-of-zero-is-refused",
    also={
        "establishment-init/a-cut-proposal-is-refused": "it accepts a proposal cut in its ZID, too",
        "establishment-batches/a-batch-that-is-cut-*": "it accepts a batch cut in its ZID",
        "establishment-fields/*": "one message has such a ZID, others are cut in it",
    },
)
fault(
    "believes-a-cut-proposal",
    "Fills in the missing fields of a short InitSyn.",
    of=BelievesBroken,
    believes=lambda link, refusal: link.state is State.AWAIT_INIT and "end" in str(refusal),
    caught_by="establishment-init/a-cut-proposal-is-refused",
    also={"establishment-*": "it accepts any message that is cut"},
)
fault(
    "settles-on-qos-and-low-latency",
    "Accepts QoS and LowLatency on one link.",
    answer_exts=lambda syn: Exts(ext for ext in syn.exts if isinstance(ext, QoS | LowLatency | Patch)),
    caught_by=("law/no-qos-with-low-latency", "establishment-sane/lanes-and-low-latency-are-not-combined"),
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "a pair proposes both",
        "establishment-extensions/odd-extensions-of-init-*": "it accepts both modes if both are offered",
        "establishment-limits/the-right-password-is-let-in": "its InitAck has no challenge",
        "close-scope/two-links-make-one-session": "its InitAck has no challenge",
    },
)
fault(
    "answers-with-version-8",
    "States an old version in InitAck.",
    answer_init=lambda base: replace(base(), version=8),
    caught_by="law/init-version-current",
)
fault(
    "answers-init-with-keep-alive",
    "Sends KEEP_ALIVE before InitAck.",
    send=say_before(InitAck, KeepAlive()),
    caught_by="law/init-ack-answers-init-syn",
)
fault(
    "speaks-before-open",
    "Sends a FRAME before OpenAck.",
    send=say_before(OpenAck, Frame(sn=0, messages=())),
    caught_by="law/no-data-before-open",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "it sends a FRAME before OpenAck there, too",
        "close-scope/two-links-make-one-session": "it sends a FRAME where OpenAck is due",
        "establishment-*": "it sends a FRAME where OpenAck is due",
        "law/open-ack-answers-open-syn": "the FRAME is no answer",
        "law/lease-proposed-by-both": "it sends a FRAME before it states its lease",
    },
)


fault(
    "knows-others-by-twelve-bytes",
    "Treats two ZenohIDs with the same first twelve bytes as one node, and refuses its second link.",
    check_open=before(
        lambda node, link: (
            refuse(MAX_LINKS)
            if len(link.zid or b"") >= 12
            and any(other.live and (other.zid or b"")[:12] == link.zid[:12] for other in node.links.values())
            else None
        )
    ),
    caught_by="establishment-init/like-zids-are-two-nodes",
)


fault(
    "sets-reserved-role-bits",
    "Sets a reserved bit in the byte of its role.",
    encoded=lambda base, message: (
        (data := base())[:2] + bytes([data[2] | 0x04]) + data[3:] if isinstance(message, Init) else base()
    ),
    caught_by="law/init-packed-reserved",
)
