"""Nodes with faults in the states of a handshake, in limits and timeouts, and in what was negotiated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance.messages import Frame, Init, Join, Oam, Open, sane
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.batch import decode_batch
from zenoh_conformance.reading.codec import Decoded, encode
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.reading.kinds import InitSyn, OpenAck
from zenoh_conformance.tables.session import State
from zenoh_harness.reference import EXPIRED, INVALID, MAX_LINKS, MAX_SESSIONS, Reference, Refused, after, before, refuse

from . import fault, faulty


class _SaysJoin(Reference):
    """Base of nodes that send JOIN before and after some messages."""

    around: tuple[type[Any], ...] = ()

    def send(self, link, *messages):
        join = Join(
            version=sane.VERSION,
            whatami=WhatAmI(sane.ROUTER),
            zid=ZenohID(self.config.zid),
            lease_in_seconds=True,
            lease=10,
            next_sn_reliable=0,
            next_sn_best_effort=0,
        )
        around = any(isinstance(message, self.around) for message in messages)
        super().send(link, *((join, *messages, join) if around else messages))


fault(
    "ignores-close-of-the-link",
    "Keeps the link open after CLOSE with S clear.",
    on_close=lambda base, close: base() if close.session else None,
    caught_by="establishment-states/close-ends-the-link-in-every-state",
    also={
        "*a-refusal*": "in both roles",
        "establishment-order/close-ends-a-live-session": "in every state",
        "close-scope/close-of-a-link-leaves-the-others": "the same for several links",
    },
)
fault(
    "is-in-a-hurry",
    "Drops a handshake that takes ten milliseconds or more.",
    on_time=lambda node, base, link: (
        node.refuse(link, None) if not link.live and node.now - link.opened_at >= 0.01 else base()
    ),
    caught_by="establishment-states/a-short-pause-is-endured",
)
fault(
    "lets-everybody-in",
    "Asks for a password and accepts any.",
    accepts_proof=lambda: True,
    caught_by="establishment-limits/a-wrong-password-is-closed",
)
fault(
    "asks-everybody-the-same",
    "Uses one challenge for all peers, so that a recorded response works again.",
    nonce=lambda: 1,
    caught_by="establishment-limits/a-wrong-password-is-closed",
)
fault(
    "lets-nobody-in",
    "Refuses every password.",
    accepts_proof=lambda: False,
    caught_by="establishment-limits/the-right-password-is-let-in",
)
fault(
    "never-lets-a-session-expire",
    "Ignores the time since the last message.",
    lease_of=lambda: 1e9,
    caught_by=(
        "establishment-limits/a-silent-session-expires",
        "initiator-open-ack/a-session-expires-when-we-are-silent",
    ),
    also={
        "session-leases/a-silent-session-of-any-lease-expires": "a lease of any length",
        "session-leases/a-source-that-dies-is-waited-for-no-more": "no session expires",
        "session-leases/what-a-dead-session-declared-is-taken-back": "no session expires",
    },
)
fault(
    "calls-expired-invalid",
    "Closes an expired session with another reason.",
    refuse=lambda base, reason: base(reason=INVALID if reason == EXPIRED else reason),
    caught_by="establishment-limits/an-expired-session-is-told-so",
)
fault(
    "counts-from-the-beginning",
    "Hangs after its own lease, counted from the start of the session.",
    on_time=lambda node, base, link: (
        base() if not link.live or node.now - link.last_heard < node.config.lease_ms / 1000 else None
    ),
    on_session=lambda node, base, link: (
        base() if node.config.lease_ms > 1000 or node.now - link.opened_at < node.config.lease_ms / 1000 else None
    ),
    caught_by="establishment-limits/the-smaller-lease-counts",
)
fault(
    "says-join-first",
    "Sends JOIN before and after its INIT.",
    of=_SaysJoin,
    around=(Init,),
    caught_by=("law/init-unicast-only", "law/multicast-has-no-handshake"),
    also={"*": "it sends JOIN where an answer is due, and again after the answer"},
)
fault(
    "says-join-before-open",
    "Sends JOIN before and after its OPEN.",
    of=_SaysJoin,
    around=(Open,),
    caught_by="law/open-unicast-only",
    also={"*": "it sends JOIN where an answer is due"},
)
fault(
    "follows-long-zids-only",
    "Refuses an InitAck whose ZenohID is shorter than eight bytes.",
    check_init_ack=lambda base, ack: refuse(INVALID) if len(ack.zid.raw) < 8 else base(),
    caught_by="initiator-fields/our-zid-of-every-length-is-taken",
)
fault(
    "follows-routers-only",
    "Refuses an InitAck from a peer or a client.",
    check_init_ack=lambda base, ack: refuse(INVALID) if ack.whatami != sane.ROUTER else base(),
    caught_by="initiator-fields/our-role-is-taken",
)
fault(
    "follows-its-own-resolution-only",
    "Refuses any resolution except the proposed one.",
    accepts_resolution=lambda syn, ack: ack.resolution in (None, syn.resolution),
    caught_by="initiator-fields/a-resolution-at-most-as-proposed-is-taken",
    also={
        "initiator-init-ack/a-lower-resolution-is-taken": "it refuses a lower one",
        "initiator-fields/no-raised-resolution-is-taken": "it refuses one that is lower in one field, too",
        "law/initial-sn-in-range": "it draws its sequence number before it refuses",
    },
)
fault(
    "follows-its-own-batch-size-only",
    "Refuses a batch size that is much smaller than its own.",
    check_init_ack=lambda base, ack: (
        refuse(INVALID) if ack.batch_size is not None and ack.batch_size < 8192 else base()
    ),
    caught_by="initiator-fields/our-batch-size-is-taken",
)
fault(
    "hangs-on-an-answer-without-size",
    "Does not answer an InitAck with S clear.",
    handshake=lambda base, message: (
        base() if not (isinstance(message, Init) and message.ack and message.resolution is None) else None
    ),
    caught_by="initiator-fields/an-answer-without-size-is-read-one-way-or-the-other",
)
fault(
    "states-no-lease-in-low-latency",
    "States a lease of zero in a low-latency session.",
    answer_open=lambda base, link: replace(base(), lease=0) if link.terms.lowlatency else base(),
    caught_by="establishment-limits/low-latency-states-its-lease",
)
fault(
    "believes-its-own-answer",
    "Accepts an InitAck with its own ZenohID.",
    check_init_ack=lambda node, base, ack: (
        base(ack=replace(ack, zid=ZenohID(b"\x99"))) if ack.zid.raw == node.config.zid else base()
    ),
    caught_by="initiator-fields/an-answer-from-itself-is-refused",
)


@faulty(
    "on_message",
    caught_by=(
        "establishment-states/session-traffic-is-no-step-of-a-handshake",
        "initiator-init-ack/session-traffic-is-no-answer",
    ),
    also={
        "law/*": "it answers what was never sent",
        "establishment-order/data-before-open-goes-nowhere": "a FRAME opens the session",
    },
)
def opens_on_session_traffic(node, base, link, seen):
    """Treats a FRAME or an OAM as the handshake message that is due."""
    if link.live or not isinstance(seen.message, Frame | Oam) or link.mine is None:
        base()
    elif link.state is State.INIT_ACKED:
        node.handshake(link, sane.open_syn(link.mine))
    elif link.state is State.INIT_SENT:
        node.handshake(link, sane.init_ack(link.mine, b"\x77\x01", b"\x5a"))


fault(
    "shakes-hands-in-a-session",
    "Answers InitSyn and OpenSyn on a live session.",
    on_late_handshake=lambda node, link, message: node.send(
        link, link.mine if InitSyn.matches(message) else sane.open_ack()
    ),
    caught_by="establishment-states/a-handshake-message-opens-nothing-in-a-session",
    also={
        "law/no-challenge-round": "it sends INIT and OPEN again",
        "law/handshake-messages-in-order": "the messages are out of order",
    },
)


@faulty(
    caught_by=(
        "establishment-states/many-half-open-handshakes-do-no-harm",
        "establishment-states/one-of-parallel-handshakes-comes-through",
    ),
    also={"*": "it answers nothing any more"},
)
class BreaksWithTwoHalfOpenHandshakes(Reference):
    """Answers nothing any more once two handshakes were half open at a time."""

    broken = False

    def on_message(self, link, seen):
        half_open = sum(other.state is State.INIT_ACKED for other in self.links.values())
        self.broken = self.broken or half_open > 1
        if not self.broken:
            super().on_message(link, seen)


@faulty(
    "check_open",
    caught_by="establishment-states/one-of-parallel-handshakes-comes-through",
    also={"close-scope/two-links-make-one-session": "it refuses the second link"},
)
def refuses_both_of_two(node, base, link):
    """Refuses every handshake of a node that has another one in progress."""
    base()
    same = [other for other in node.links.values() if other is not link and other.theirs and other.zid == link.zid]
    if same:
        for other in same:
            node.refuse(other, MAX_LINKS)
        raise Refused(MAX_LINKS)


@faulty(
    "on_time",
    caught_by="establishment-states/silence-is-not-answered",
    also={
        "law/*": "it answers messages that were never sent",
        "establishment-states/a-short-pause-is-endured": "the pause is too long for it",
    },
)
def loses_patience_and_opens(node, base, link):
    """Sends OpenAck without OpenSyn, and InitAck without InitSyn, after a quarter of a second."""
    if link.side is Side.INITIATOR or link.live or node.now - link.opened_at < 0.25:
        base()
    elif link.state is State.AWAIT_INIT:
        node.handshake(link, sane.init_syn(b"\x77\x02"))
    elif link.mine is not None:
        node.handshake(link, sane.open_syn(link.mine))


@faulty("check_open", caught_by="establishment-limits/a-session-too-many-is-closed")
def takes_a_session_too_many(base):
    """Accepts more sessions than its limit."""
    try:
        base()
    except Refused as refused:
        if refused.reason != MAX_SESSIONS:
            raise


@faulty("received", caught_by="establishment-limits/whatever-is-said-renews-the-lease")
def is_kept_alive_by_frames_only(node, base, name, data, now):
    """Does not renew the lease at KEEP_ALIVE."""
    link = node.links.get(name)
    heard = link.last_heard if link is not None else now
    actions = base()
    if link is not None and data[2:] == b"\x04":
        link.last_heard = heard
    return actions


fault(
    "works-before-its-open-ack",
    "Sends a FRAME instead of OpenAck.",
    send=lambda base, messages: (
        base(messages=(Frame(sn=0, messages=()),)) if any(map(OpenAck.matches, messages)) else base()
    ),
    caught_by="law/lease-proposed-by-both",
    also={"*": "it sends a FRAME, or nothing, where OpenAck is due"},
)


@faulty("send_batch", caught_by="law/frame-transport-by-default", also={"*": "a peer expects FRAME"})
def sends_without_frame(base, link, batch):
    """Sends network messages without FRAME, whatever was negotiated."""
    found = next(iter(decode_batch(batch)), None) if link.live else None
    if isinstance(found, Decoded) and isinstance(found.message, Frame):
        batch = b"".join(encode(inner) for inner in found.message.messages)
    base(batch=batch)


@faulty(
    "accepts_resolution",
    caught_by="initiator-fields/no-raised-resolution-is-taken",
    also={
        "initiator-init-ack/a-raised-resolution-is-refused": "one of the two fields is raised",
        "law/initial-sn-in-range": "its initial sequence number follows the higher resolution",
    },
)
def adds_the_resolutions_up(syn, ack):
    """Compares the resolution byte instead of its two fields."""
    proposed = sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
    return (sane.DEFAULT_RESOLUTION if ack.resolution is None else ack.resolution) <= proposed + 1


fault(
    "never-forgets-a-node",
    "Refuses a node that had a session before.",
    state={"known": set},
    check_init=after(lambda node, syn: refuse(MAX_SESSIONS) if syn.zid.raw in node.known else None),
    go_live=before(lambda node, link: node.known.add(link.zid or b"") if link.side is Side.RESPONDER else None),
    caught_by="establishment-states/a-node-comes-back-after-every-end",
    also={"close-scope/two-links-make-one-session": "the second link is of a node that has a session"},
)


@faulty("check_init", caught_by="establishment-states/many-half-open-handshakes-do-no-harm", state={"begun": int})
def counts_half_open_handshakes(node, base):
    """Counts unfinished handshakes forever, and refuses after five hundred."""
    base()
    node.begun += 1
    if node.begun > 500:
        raise Refused(MAX_SESSIONS)


fault(
    "believes-any-version-of-who-comes-again",
    "Looks at no version of a node that had a session before.",
    state={"known": set},
    check_init=lambda node, base, syn: base(
        syn=replace(syn, version=sane.VERSION) if syn.zid.raw in node.known else syn
    ),
    on_live=before(lambda node, link: node.known.add(link.zid)),
    caught_by="establishment-init/an-unknown-version-is-closed",
)


@faulty(caught_by="initiator-extensions/a-mode-that-was-not-offered-is-not-used")
class UsesWhatItDidNotOffer(Reference):
    """Hangs after an InitAck with a low-latency mode that it did not offer."""

    def accepts_exts(self, syn, ack):
        return True

    def go_live(self, link, theirs, answer):
        super().go_live(link, theirs, answer)
        if link.side is Side.INITIATOR and link.terms.lowlatency:
            link.terms.lowlatency = False
            self.deaf = link.name

    deaf = ""

    def on_session(self, link, message):
        if link.name != self.deaf:
            super().on_session(link, message)
