"""Initiators that accept or send what they must not, or use what was proposed or negotiated earlier."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.messages import Close, Init, KeepAlive, Open, sane
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitAck, OpenAck, OpenSyn
from zenoh_conformance.tables.session import State
from zenoh_harness.reference import INVALID, before, refuse

from . import fault, faulty, say_before
from .establishment_chains import BelievesBroken

AGAIN, TERMS = "initiator-again", "application-terms"

fault(
    "initiator-begins-with-open",
    "Says OPEN where INIT is due.",
    propose=lambda base: sane.open_syn(base()),
    caught_by="law/init-syn-first",
    also={"initiator-*": "no InitSyn comes"},
)
fault(
    "initiator-never-opens",
    "Does not answer InitAck.",
    handshake=lambda base, message: None if isinstance(message, Init) else base(),
    caught_by="initiator-init-ack/a-sane-answer-is-followed",
    also={"*": "it answers no INIT in either role"},
)
fault(
    "initiator-trims-the-cookie",
    "Returns only the first 64 bytes of the cookie.",
    confirm=lambda base, ack: base(ack=replace(ack, cookie=(ack.cookie or b"")[:64])),
    caught_by=("initiator-init-ack/any-cookie-comes-back", "law/cookie-echo"),
)
fault(
    "initiator-stops-the-cookie-at-zero",
    "Returns the cookie up to its first zero byte.",
    confirm=lambda base, ack: base(ack=replace(ack, cookie=(ack.cookie or b"").partition(b"\0")[0])),
    caught_by="initiator-init-ack/any-cookie-comes-back",
    also={"law/cookie-echo": "the law sees it too"},
)
fault(
    "initiator-refuses-compressed-batches",
    "Ends a session with compression at a batch that is compressed, where it opened the link.",
    on_batch=before(
        lambda link, batch: (
            refuse(INVALID)
            if link.live and link.side is Side.INITIATOR and link.terms.compression and batch[0] & 1
            else None
        )
    ),
    caught_by="session-batch-effects/both-forms-of-a-batch-are-read-by-who-connects",
)
fault(
    "initiator-keeps-its-resolution",
    "Uses an initial sequence number of the proposed resolution.",
    make_initial_sn=lambda: 0x0FFF_FFFF,
    caught_by="initiator-init-ack/a-lower-resolution-is-taken",
    also={
        "law/sn-within-resolution": "its sequence numbers exceed the negotiated resolution",
        "establishment-open/the-same-peer-meets-another-number": "its initial sequence number never changes",
        "law/initial-sn-*": "its initial sequence number never changes, and is too large",
        "establishment-open/initial-numbers-vary": "its initial sequence number never changes",
        "initiator-fields/a-resolution-at-most-*": "it ignores a lower resolution",
        "session-lanes/numbers-of-every-lane-wrap": "the same fault as responder",
    },
)
fault(
    "initiator-takes-a-raised-resolution",
    "Accepts a resolution above its proposal.",
    accepts_resolution=lambda: True,
    caught_by="initiator-init-ack/a-raised-resolution-is-refused",
    also={
        "law/initial-sn-in-range": "its initial sequence number follows the higher resolution",
        "initiator-fields/no-raised-resolution-*": "the same check with all values",
    },
)
fault(
    "initiator-believes-a-wrong-answer",
    "Treats a malformed InitAck as a valid one.",
    of=BelievesBroken,
    believes=lambda link: link.state is State.INIT_SENT,
    caught_by="initiator-init-ack/a-wrong-answer-is-refused",
    also={
        "initiator-init-ack/nothing-but-init-ack-is-followed": "garbage is a malformed InitAck, too",
        "initiator-*": "it accepts any malformed InitAck",
    },
)
fault(
    "initiator-takes-any-handshake-message-for-init-ack",
    "Takes INIT and OPEN of either kind for the InitAck that it waits for.",
    of=BelievesBroken,
    on_message=lambda node, base, link, seen: (
        node.handshake(link, node.due(link))
        if link.state is State.INIT_SENT and isinstance(seen.message, Init | Open) and not InitAck.matches(seen.message)
        else base()
    ),
    caught_by="initiator-init-ack/nothing-but-init-ack-is-followed",
)
fault(
    "initiator-refuses-what-it-does-not-know",
    "Refuses an unknown optional extension.",
    check_init_ack=lambda base, ack: (
        refuse(INVALID) if any(type(ext).__name__ == "Unknown" for ext in ack.exts) else base()
    ),
    caught_by="initiator-init-ack/an-unknown-optional-extension-is-skipped",
    also={"initiator-extensions/an-unknown-optional-extension-of-init-ack-*": "the same check with many values"},
)
fault(
    "initiator-does-not-hear-close",
    "Keeps the link open after CLOSE.",
    on_close=lambda: None,
    caught_by=("initiator-init-ack/a-refusal-is-taken", "initiator-open-ack/a-refusal-of-open-is-taken"),
    also={
        "establishment-order/close-ends-a-live-session": "in neither role",
        "establishment-states/close-ends-the-link-in-every-state": "in neither role",
        "close-scope/*": "the same over two links",
        "session-extensions/a-close-*": "the same fault as responder",
    },
)
fault(
    "initiator-does-no-work",
    "Completes the handshake and ignores all traffic in the session.",
    on_session=lambda: None,
    caught_by="initiator-open-ack/a-sane-handshake-makes-a-session",
    also={
        "settled-terms/*": "the case needs traffic, and it answers none",
        "interest-snapshots/a-snapshot-ends": "it answers nothing in a session",
        "query-ends/a-query-that-nobody-serves-is-final": "it answers nothing in a session",
        "establishment-*": "it works in neither role",
        "close-scope/*": "the same over two links",
        "initiator-open-ack/*": "nothing works after OPEN",
        "initiator-*": "nothing works after OPEN",
    },
)
fault(
    "initiator-expects-zero",
    "Expects our sequence numbers to begin at zero, whatever OpenAck stated.",
    go_live=lambda base, theirs: base(theirs=replace(theirs, initial_sn=0)),
    caught_by="initiator-open-ack/our-initial-number-is-taken",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "it drops messages if the first sequence number is not zero",
        "establishment-open/an-initial-number-at-the-edge-is-accepted": "in neither role",
        "establishment-fields/*": "in neither role",
        "session-lanes/every-channel-of-ours-begins-with-our-number": "the same fault as responder",
    },
)
fault(
    "initiator-reads-milliseconds-as-seconds",
    "Reads the lease of OpenAck as seconds, whatever T says.",
    lease_of=lambda node, base, link: (
        min(float(link.their_open.lease), node.config.lease_ms / 1000)
        if link.side is Side.INITIATOR and link.their_open is not None
        else base()
    ),
    caught_by="initiator-open-ack/a-session-expires-when-we-are-silent",
)
fault(
    "initiator-answers-with-keep-alive",
    "Sends KEEP_ALIVE before OpenSyn.",
    send=say_before(OpenSyn, KeepAlive()),
    caught_by="law/open-syn-answers-init-ack",
)
fault(
    "initiator-takes-short-leases-only",
    "Refuses a lease of more than a minute.",
    check_open_ack=lambda base, ack: (
        refuse(INVALID) if ack.lease * (1 if ack.lease_in_seconds else 0.001) > 60 else base()
    ),
    caught_by="initiator-open-ack/our-lease-is-taken-in-either-unit",
)
fault(
    "initiator-keeps-its-lanes",
    "Uses lanes though InitAck declined QoS.",
    settle_ack=lambda node, base: replace(base(), qos=node.config.qos),
    caught_by=(f"{TERMS}/an-application-uses-no-lanes-that-we-declined", "law/qos-needs-both"),
)
fault(
    "initiator-keeps-its-patch",
    "Uses its patch though InitAck declined it, and drops fragments without First.",
    settle_ack=lambda node, base: replace(base(), patch=node.config.patch),
    caught_by=f"{TERMS}/an-application-needs-no-marks-that-we-declined",
    also={f"{TERMS}/an-application-hears-every-channel": "no patch is settled there, either"},
)
fault(
    "initiator-believes-a-larger-batch",
    "Fills batches up to the size in InitAck, though it proposed a smaller one.",
    settle_ack=lambda base, ack: replace(
        base(), batch_size=sane.DEFAULT_BATCH if ack.batch_size is None else ack.batch_size
    ),
    caught_by=f"{TERMS}/an-application-keeps-to-the-smaller-batch",
    also={"law/batch-size-is-receive-limit": "its application's messages exceed the batch size"},
)
fault(
    "initiator-serves-ids-as-proposed",
    "Serves request ids of the proposed range, though InitAck lowered it.",
    serves_id=lambda base, link, number: number < 1 << 32 if link.side is Side.INITIATOR else base(),
    caught_by=f"{TERMS}/an-application-serves-no-id-that-we-ruled-out",
)


_OWN_ACK = sane.open_ack()
"""What stands in for the OpenAck that did not come."""

for _name, _about, _changes in (
    ("initiator-opens-itself", "Treats any message as OpenAck.", {}),
    (
        "initiator-opens-itself-to-interests",
        "Treats any message as OpenAck, and answers no query in that session.",
        {"on_request": lambda base, link: None if link.their_open is _OWN_ACK else base()},
    ),
    (
        "initiator-opens-itself-for-300-ms",
        "Treats any message as OpenAck with a lease of 300 ms.",
        {"lease_of": lambda base, link: 0.3 if link.their_open is _OWN_ACK else base()},
    ),
):
    fault(
        _name,
        _about,
        on_message=lambda node, base, link, seen: (
            node.go_live(link, _OWN_ACK, None)
            if link.state is State.OPEN_SENT
            and not OpenAck.matches(seen.message)
            and not isinstance(seen.message, Close)
            else base()
        ),
        **_changes,
        caught_by="initiator-open-ack/nothing-but-open-ack-activates",
        also={"law/no-data-before-open": "it answers in a session that nobody opened"},
    )


fault(
    "keeps-its-first-cookie",
    "Returns the cookie of its first handshake in every later one.",
    state={"first": dict},
    confirm=lambda node, base, ack: base(ack=replace(ack, cookie=node.first.setdefault("cookie", ack.cookie))),
    caught_by=(f"{AGAIN}/each-cookie-comes-back-on-its-own-link", "law/cookie-echo"),
)


@faulty(
    "go_live",
    caught_by=(f"{AGAIN}/each-session-begins-with-its-own-number", "law/initial-sn-own-start"),
    state={"left": lambda: None},
)
def counts_on_after_a_session(node, base, link):
    """Continues the sequence numbers of its first session in the second one."""
    base()
    if link.side is Side.INITIATOR:
        link.tx = node.left = link.tx if node.left is None else node.left
