"""Nodes that step wrongly from state to state, lose their patience or their count, or use what was not settled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.batch import decode_batch
from zenoh_conformance.codec import Decoded, encode
from zenoh_conformance.connection import Seen
from zenoh_conformance.conversation import Side
from zenoh_conformance.kinds import InitSyn, OpenAck
from zenoh_conformance.messages import Close, Frame, Init, Join, Oam, Open
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.session import State
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import EXPIRED, INVALID, MAX_LINKS, MAX_SESSIONS, Refused
from zenoh_harness.reference.link import Link

from . import faulty


@faulty(
    "opens-on-session-traffic",
    caught_by=(
        "establishment-states/session-traffic-is-no-step-of-a-handshake",
        "initiator-init-ack/session-traffic-is-no-answer",
    ),
    also={
        "law/*": "it answers what was never sent",
        "establishment-order/data-before-open-goes-nowhere": "a FRAME opens the session",
    },
)
class OpensOnSessionTraffic(Reference):
    """Takes a FRAME or an OAM for the message that is due."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if link.live or not isinstance(seen.message, Frame | Oam) or link.mine is None:
            super().on_message(link, seen)
        elif link.state is State.INIT_ACKED:
            self.handshake(link, sane.open_syn(link.mine))
        elif link.state is State.INIT_SENT:
            self.handshake(link, sane.init_ack(link.mine, b"\x77\x01", b"\x5a"))


@faulty(
    "shakes-hands-in-a-session",
    caught_by="establishment-states/a-handshake-message-opens-nothing-in-a-session",
    also={
        "law/no-challenge-round": "it says INIT and OPEN again",
        "law/handshake-messages-in-order": "out of turn",
    },
)
class ShakesHandsInASession(Reference):
    """Answers InitSyn and OpenSyn on a live session."""

    def on_late_handshake(self, link: Link, message: Init | Open) -> None:
        if InitSyn.matches(message):
            assert isinstance(link.mine, Init)
            self.send(link, link.mine)
        else:
            self.send(link, sane.open_ack())


@faulty(
    "ignores-close-of-the-link",
    caught_by="establishment-states/close-ends-the-link-in-every-state",
    also={
        "*a-refusal*": "in both roles",
        "establishment-order/close-ends-a-live-session": "in every state",
        "close-scope/close-of-a-link-leaves-the-others": "of several links too",
    },
)
class IgnoresCloseOfTheLink(Reference):
    """Leaves the link up where CLOSE has S clear."""

    def on_close(self, link: Link, close: Close) -> None:
        if close.session:
            super().on_close(link, close)


@faulty(
    "never-forgets-a-node",
    caught_by="establishment-states/a-node-comes-back-after-every-end",
)
class NeverForgetsANode(Reference):
    """Refuses a node that it has had before."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.known: set[bytes] = set()

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn)
        if syn.zid.raw in self.known:
            raise Refused(MAX_SESSIONS)

    def go_live(self, link: Link, theirs: Open, answer: Open | None) -> None:
        if link.side is Side.RESPONDER:
            self.known.add(link.zid or b"")
        super().go_live(link, theirs, answer)


@faulty(
    "refuses-both-of-two",
    caught_by="establishment-states/one-of-parallel-handshakes-comes-through",
)
class RefusesBothOfTwo(Reference):
    """Lets no handshake through while another one of the same node is under way."""

    def check_open(self, link: Link, open_: Open) -> None:
        super().check_open(link, open_)
        same = [other for other in self.links.values() if other is not link and other.theirs and other.zid == link.zid]
        if same:
            for other in same:
                self.refuse(other, MAX_LINKS)
            raise Refused(MAX_LINKS)


@faulty(
    "counts-half-open-handshakes",
    caught_by="establishment-states/many-half-open-handshakes-do-no-harm",
)
class CountsHalfOpenHandshakes(Reference):
    """Never forgets a handshake that was begun, and begins no more than five hundred."""

    begun = 0

    def check_init(self, link: Link, syn: Init) -> None:
        super().check_init(link, syn)
        self.begun += 1
        if self.begun > 500:
            raise Refused(MAX_SESSIONS)


@faulty(
    "loses-patience-and-opens",
    caught_by="establishment-states/silence-is-not-answered",
    also={
        "law/*": "it opens what nobody asked for",
        "establishment-states/a-short-pause-is-endured": "the pause is too long for it",
    },
)
class LosesPatienceAndOpens(Reference):
    """Says OpenAck when OpenSyn does not come, and InitAck when InitSyn does not."""

    def on_time(self, link: Link) -> None:
        if link.side is Side.INITIATOR or link.live or self.now - link.opened_at < 0.25:
            super().on_time(link)
        elif link.state is State.AWAIT_INIT:
            self.handshake(link, sane.init_syn(b"\x77\x02"))
        elif link.mine is not None:
            self.handshake(link, sane.open_syn(link.mine))


@faulty("is-in-a-hurry", caught_by="establishment-states/a-short-pause-is-endured")
class IsInAHurry(Reference):
    """Gives a handshake up that is not over at once."""

    def on_time(self, link: Link) -> None:
        if not link.live and self.now - link.opened_at >= 0.01:
            self.refuse(link, None)
        else:
            super().on_time(link)


@faulty(
    "takes-a-session-too-many",
    caught_by="establishment-limits/a-session-too-many-is-closed",
)
class TakesASessionTooMany(Reference):
    """Has a limit and does not keep it."""

    def check_open(self, link: Link, open_: Open) -> None:
        try:
            super().check_open(link, open_)
        except Refused as refused:
            if refused.reason != MAX_SESSIONS:
                raise


@faulty(
    "lets-everybody-in",
    caught_by="establishment-limits/a-wrong-password-is-closed",
)
class LetsEverybodyIn(Reference):
    """Asks for a password and does not look at it."""

    def accepts_proof(self, link: Link, open_: Open) -> bool:
        return True


@faulty("asks-everybody-the-same", caught_by="establishment-limits/a-wrong-password-is-closed")
class AsksEverybodyTheSame(Reference):
    """Has one challenge for all, so that an answer is good for ever."""

    def nonce(self, link: Link) -> int:
        return 1


@faulty("lets-nobody-in", caught_by="establishment-limits/the-right-password-is-let-in")
class LetsNobodyIn(Reference):
    """Finds every password wrong."""

    def accepts_proof(self, link: Link, open_: Open) -> bool:
        return False


@faulty(
    "never-lets-a-session-expire",
    caught_by=(
        "establishment-limits/a-silent-session-expires",
        "initiator-open-ack/a-session-expires-when-we-are-silent",
    ),
    also={
        "session-leases/a-silent-session-of-any-lease-expires": "whatever its lease",
        "session-leases/a-source-that-dies-is-waited-for-no-more": "nobody dies",
        "session-leases/what-a-dead-session-declared-is-taken-back": "nobody dies",
    },
)
class NeverLetsASessionExpire(Reference):
    """Does not count the time since it heard something."""

    def lease_of(self, link: Link) -> float:
        return 1e9


@faulty("calls-expired-invalid", caught_by="establishment-limits/an-expired-session-is-told-so")
class CallsExpiredInvalid(Reference):
    """Ends an expired session for another reason."""

    def refuse(self, link: Link, reason: int | None) -> None:
        super().refuse(link, INVALID if reason == EXPIRED else reason)


@faulty("is-kept-alive-by-frames-only", caught_by="establishment-limits/whatever-is-said-renews-the-lease")
class IsKeptAliveByFramesOnly(Reference):
    """Does not count KEEP_ALIVE as a sign of life."""

    def received(self, name: str, data: bytes, now: float) -> list[Any]:
        link = self.links.get(name)
        heard = link.last_heard if link is not None else now
        actions = super().received(name, data, now)
        if link is not None and data[2:] == b"\x04":
            link.last_heard = heard
        return actions


@faulty("counts-from-the-beginning", caught_by="establishment-limits/the-smaller-lease-counts")
class CountsFromTheBeginning(Reference):
    """Is dead after its own lease: it hangs, and says nothing more."""

    def on_time(self, link: Link) -> None:
        if not link.live or self.now - link.last_heard < self.config.lease_ms / 1000:
            super().on_time(link)

    def on_session(self, link: Link, message: Any) -> None:
        if self.config.lease_ms > 1000 or self.now - link.opened_at < self.config.lease_ms / 1000:
            super().on_session(link, message)


@faulty(
    "states-no-lease-in-low-latency",
    caught_by="establishment-limits/low-latency-states-its-lease",
)
class StatesNoLeaseInLowLatency(Reference):
    """Leaves the lease at zero where the session is low-latency."""

    def answer_open(self, link: Link) -> Open:
        open_ = super().answer_open(link)
        return replace(open_, lease=0) if link.terms.lowlatency else open_


@faulty(
    "says-join-first",
    caught_by=("law/init-unicast-only", "law/multicast-has-no-handshake"),
    also={"*": "JOIN comes where an answer is due, and again after it"},
)
class SaysJoinFirst(Reference):
    """Says JOIN around its INIT."""

    around: tuple[type[Any], ...] = (Init,)

    def send(self, link: Link, *messages: Any) -> None:
        join = Join(
            version=sane.VERSION, whatami=WhatAmI(sane.ROUTER), zid=ZenohID(self.config.zid), lease_in_seconds=True, lease=10,
            next_sn_reliable=0, next_sn_best_effort=0,
        )  # fmt: skip
        around = any(isinstance(message, self.around) for message in messages)
        super().send(link, *((join, *messages, join) if around else messages))


@faulty(
    "says-join-before-open",
    caught_by="law/open-unicast-only",
    also={"*": "JOIN comes where an answer is due"},
)
class SaysJoinBeforeOpen(SaysJoinFirst):
    """Says JOIN around its OPEN."""

    around = (Open,)


@faulty(
    "works-before-its-open-ack",
    caught_by="law/lease-proposed-by-both",
    also={"*": "a FRAME comes where OpenAck is due, or nothing does"},
)
class WorksBeforeItsOpenAck(Reference):
    """Says a FRAME where its OpenAck is due."""

    def send(self, link: Link, *messages: Any) -> None:
        opens = any(OpenAck.matches(message) for message in messages)
        super().send(link, *((Frame(sn=0, messages=()),) if opens else messages))


@faulty(
    "sends-without-frame",
    caught_by="law/frame-transport-by-default",
    also={
        "*": "nobody expects it",
    },
)
class SendsWithoutFrame(Reference):
    """Puts network messages into batches by themselves, whatever was settled."""

    def send_batch(self, link: Link, batch: bytes) -> None:
        found = next(iter(decode_batch(batch)), None) if link.live else None
        if isinstance(found, Decoded) and isinstance(found.message, Frame):
            batch = b"".join(encode(inner) for inner in found.message.messages)
        super().send_batch(link, batch)


@faulty(
    "believes-its-own-answer",
    caught_by="initiator-fields/an-answer-from-itself-is-refused",
)
class BelievesItsOwnAnswer(Reference):
    """Follows an InitAck that shows its own ZenohID."""

    def check_init_ack(self, link: Link, ack: Init) -> None:
        mine = ack.zid.raw == self.config.zid
        super().check_init_ack(link, replace(ack, zid=ZenohID(b"\x99")) if mine else ack)


@faulty("follows-long-zids-only", caught_by="initiator-fields/our-zid-of-every-length-is-taken")
class FollowsLongZidsOnly(Reference):
    """Refuses an answer whose ZenohID is shorter than eight bytes."""

    def check_init_ack(self, link: Link, ack: Init) -> None:
        super().check_init_ack(link, ack)
        if len(ack.zid.raw) < 8:
            raise Refused(INVALID)


@faulty("follows-routers-only", caught_by="initiator-fields/our-role-is-taken")
class FollowsRoutersOnly(Reference):
    """Refuses an answer of a peer."""

    def check_init_ack(self, link: Link, ack: Init) -> None:
        super().check_init_ack(link, ack)
        if ack.whatami != sane.ROUTER:
            raise Refused(INVALID)


@faulty(
    "follows-its-own-resolution-only",
    caught_by="initiator-fields/a-resolution-at-most-as-proposed-is-taken",
    also={
        "initiator-init-ack/a-lower-resolution-is-taken": "it does not take a lower one",
        "initiator-fields/no-raised-resolution-is-taken": "nor one that is lower in one field",
        "law/initial-sn-in-range": "a number drawn before it refuses",
    },
)
class FollowsItsOwnResolutionOnly(Reference):
    """Refuses any resolution but the one that it proposed."""

    def accepts_resolution(self, syn: Init, ack: Init) -> bool:
        return ack.resolution in (None, syn.resolution)


@faulty(
    "adds-the-resolutions-up",
    caught_by="initiator-fields/no-raised-resolution-is-taken",
    also={
        "initiator-init-ack/a-raised-resolution-is-refused": "one of the two fields is raised",
        "law/initial-sn-in-range": "then its number is drawn from the higher one",
    },
)
class AddsTheResolutionsUp(Reference):
    """Compares the byte and not its two fields."""

    def accepts_resolution(self, syn: Init, ack: Init) -> bool:
        proposed = sane.DEFAULT_RESOLUTION if syn.resolution is None else syn.resolution
        return (sane.DEFAULT_RESOLUTION if ack.resolution is None else ack.resolution) <= proposed + 1


@faulty("follows-its-own-batch-size-only", caught_by="initiator-fields/our-batch-size-is-taken")
class FollowsItsOwnBatchSizeOnly(Reference):
    """Refuses a batch size that is smaller than its own."""

    def check_init_ack(self, link: Link, ack: Init) -> None:
        super().check_init_ack(link, ack)
        if ack.batch_size is not None and ack.batch_size < 8192:
            raise Refused(INVALID)


@faulty(
    "uses-what-it-did-not-offer",
    caught_by="initiator-extensions/a-mode-that-was-not-offered-is-not-used",
)
class UsesWhatItDidNotOffer(Reference):
    """Goes low-latency because the answer says so."""

    def accepts_exts(self, syn: Init, ack: Init) -> bool:
        return True

    def go_live(self, link: Link, theirs: Open, answer: Open | None) -> None:
        super().go_live(link, theirs, answer)
        if link.side is Side.INITIATOR and link.terms.lowlatency:
            link.terms.lowlatency = False
            self.deaf = link.name

    deaf = ""

    def on_session(self, link: Link, message: Any) -> None:
        if link.name != self.deaf:
            super().on_session(link, message)


@faulty(
    "hangs-on-an-answer-without-size",
    caught_by="initiator-fields/an-answer-without-size-is-read-one-way-or-the-other",
)
class HangsOnAnAnswerWithoutSize(Reference):
    """Says nothing to an InitAck with S clear."""

    def handshake(self, link: Link, message: Any) -> None:
        if not (isinstance(message, Init) and message.ack and message.resolution is None):
            super().handshake(link, message)
