"""Initiators that believe, or say, what they must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.connection import Seen
from zenoh_conformance.conversation import Side
from zenoh_conformance.kinds import OpenAck, OpenSyn
from zenoh_conformance.messages import Close, Init, KeepAlive, Open
from zenoh_conformance.session import State
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import INVALID, Refused
from zenoh_harness.reference.link import Link

from . import faulty


@faulty(
    "initiator-begins-with-open",
    caught_by="law/init-syn-first",
    also={
        "initiator-*": "no InitSyn comes",
    },
)
class InitiatorBeginsWithOpen(Reference):
    """Says OPEN where INIT is due."""

    def propose(self, link: Link) -> Init:
        return sane.open_syn(super().propose(link))  # type: ignore[return-value]


@faulty(
    "initiator-never-opens",
    caught_by="initiator-init-ack/a-sane-answer-is-followed",
    also={
        "*": "INIT goes unanswered in both roles",
    },
)
class InitiatorNeverOpens(Reference):
    """Takes InitAck and stays silent."""

    def handshake(self, link: Link, message: Any) -> None:
        if isinstance(message, Init):
            return
        super().handshake(link, message)


@faulty("initiator-trims-the-cookie", caught_by=("initiator-init-ack/any-cookie-comes-back", "law/cookie-echo"))
class InitiatorTrimsTheCookie(Reference):
    """Keeps no more than 64 bytes of the cookie."""

    def confirm(self, link: Link, ack: Init) -> Open:
        return super().confirm(link, replace(ack, cookie=(ack.cookie or b"")[:64]))


@faulty(
    "initiator-stops-the-cookie-at-zero",
    caught_by="initiator-init-ack/any-cookie-comes-back",
    also={
        "law/cookie-echo": "the law sees it too",
    },
)
class InitiatorStopsTheCookieAtZero(Reference):
    """Takes the cookie for text that a zero byte ends."""

    def confirm(self, link: Link, ack: Init) -> Open:
        return super().confirm(link, replace(ack, cookie=(ack.cookie or b"").partition(b"\0")[0]))


@faulty(
    "initiator-keeps-its-resolution",
    caught_by="initiator-init-ack/a-lower-resolution-is-taken",
    also={
        "law/sn-within-resolution": "its numbers go past the one that was settled",
        "establishment-open/the-same-peer-meets-another-number": "its number never changes",
        "law/initial-sn-*": "its number never changes, and is too large",
        "establishment-open/initial-numbers-vary": "its number never changes",
        "initiator-fields/a-resolution-at-most-*": "a lower one is not kept to",
        "session-lanes/numbers-of-every-lane-wrap": "the same fault as responder",
    },
)
class InitiatorKeepsItsResolution(Reference):
    """Draws its number from the resolution that it proposed."""

    def make_initial_sn(self, link: Link) -> int:
        return 0x0FFF_FFFF


@faulty(
    "initiator-takes-a-raised-resolution",
    caught_by="initiator-init-ack/a-raised-resolution-is-refused",
    also={
        "law/initial-sn-in-range": "then its number is drawn from the higher one",
        "initiator-fields/no-raised-resolution-*": "the same, with all values",
    },
)
class InitiatorTakesARaisedResolution(Reference):
    """Follows an answer above its proposal."""

    def accepts_resolution(self, syn: Init, ack: Init) -> bool:
        return True


@faulty(
    "initiator-believes-a-wrong-answer",
    caught_by="initiator-init-ack/a-wrong-answer-is-refused",
    also={
        "initiator-init-ack/nothing-but-init-ack-is-followed": "garbage is a wrong answer too",
        "initiator-*": "whatever is wrong with InitAck, it does not mind",
    },
)
class InitiatorBelievesAWrongAnswer(Reference):
    """Takes an InitAck that it cannot read for a sane one."""

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        if link.state is not State.INIT_SENT or link.mine is None:
            super().on_undecodable(link, seen)
        else:
            self.handshake(link, sane.init_ack(link.mine, b"\x77\x01", b"\x5a"))


@faulty(
    "initiator-refuses-what-it-does-not-know",
    caught_by="initiator-init-ack/an-unknown-optional-extension-is-skipped",
    also={
        "initiator-extensions/an-unknown-optional-extension-of-init-ack-*": "the same, with many values",
    },
)
class InitiatorRefusesWhatItDoesNotKnow(Reference):
    """Refuses an unknown optional extension."""

    def check_init_ack(self, link: Link, ack: Init) -> None:
        super().check_init_ack(link, ack)
        if any(type(ext).__name__ == "Unknown" for ext in ack.exts):
            raise Refused(INVALID)


@faulty(
    "initiator-waits-for-the-right-answer",
    caught_by=(
        "initiator-init-ack/nothing-but-init-ack-is-followed",
        "initiator-open-ack/nothing-but-open-ack-activates",
    ),
    also={
        "establishment-order/*": "in both roles",
    },
)
class InitiatorWaitsForTheRightAnswer(Reference):
    """Passes over what is not due."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if link.live or self.is_due(link, seen.message) or isinstance(seen.message, Close):
            super().on_message(link, seen)


@faulty("initiator-opens-itself", caught_by="initiator-open-ack/nothing-but-open-ack-activates")
class InitiatorOpensItself(Reference):
    """Takes any message for OpenAck."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if link.state is State.OPEN_SENT and not OpenAck.matches(seen.message) and not isinstance(seen.message, Close):
            self.go_live(link, sane.open_ack(), None)
            return
        super().on_message(link, seen)


@faulty(
    "initiator-does-not-hear-close",
    caught_by=(
        "initiator-init-ack/a-refusal-is-taken",
        "initiator-open-ack/a-refusal-of-open-is-taken",
    ),
    also={
        "establishment-order/close-ends-a-live-session": "in neither role",
        "establishment-states/close-ends-the-link-in-every-state": "in neither role",
        "close-scope/*": "over two links neither",
        "session-extensions/a-close-*": "the same fault as responder",
    },
)
class InitiatorDoesNotHearClose(Reference):
    """Leaves the link up after CLOSE."""

    def on_close(self, link: Link, close: Close) -> None:
        return


@faulty(
    "initiator-does-no-work",
    caught_by="initiator-open-ack/a-sane-handshake-makes-a-session",
    also={
        "settled-terms/*": "what is settled is seen at work, and it does none",
        "interest-snapshots/a-snapshot-ends": "it answers nothing in a session",
        "query-ends/a-query-that-nobody-serves-is-final": "it answers nothing in a session",
        "establishment-*": "it works in neither role",
        "close-scope/*": "over two links neither",
        "initiator-open-ack/*": "nothing works after OPEN",
        "initiator-*": "nothing works after OPEN",
    },
)
class InitiatorDoesNoWork(Reference):
    """A zombie that connects."""

    def on_session(self, link: Link, message: Any) -> None:
        return


@faulty(
    "initiator-expects-zero",
    caught_by="initiator-open-ack/our-initial-number-is-taken",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "where a number other than zero begins, nothing is understood",
        "establishment-open/an-initial-number-at-the-edge-is-accepted": "in neither role",
        "establishment-fields/*": "in neither role",
        "session-lanes/every-channel-of-ours-begins-with-our-number": "the same fault as responder",
    },
)
class InitiatorExpectsZero(Reference):
    """Counts our numbers from zero, whatever OpenAck said."""

    def go_live(self, link: Link, theirs: Open, answer: Open | None) -> None:
        super().go_live(link, replace(theirs, initial_sn=0), answer)


@faulty("initiator-takes-short-leases-only", caught_by="initiator-open-ack/our-lease-is-taken-in-either-unit")
class InitiatorTakesShortLeasesOnly(Reference):
    """Refuses a lease of more than a minute."""

    def check_open_ack(self, link: Link, ack: Open) -> None:
        super().check_open_ack(link, ack)
        if self.seconds(ack) > 60:
            raise Refused(INVALID)

    def seconds(self, ack: Open) -> float:
        """The lease of OpenAck in seconds."""
        return ack.lease * (1 if ack.lease_in_seconds else 0.001)


@faulty("initiator-reads-milliseconds-as-seconds", caught_by="initiator-open-ack/a-session-expires-when-we-are-silent")
class InitiatorReadsMillisecondsAsSeconds(Reference):
    """Takes the lease of OpenAck for seconds, whatever T says."""

    def lease_of(self, link: Link) -> float:
        if link.side is Side.INITIATOR and link.their_open is not None:
            return min(float(link.their_open.lease), self.config.lease_ms / 1000)
        return super().lease_of(link)


@faulty(
    "initiator-answers-with-keep-alive",
    caught_by="law/open-syn-answers-init-ack",
)
class InitiatorAnswersWithKeepAlive(Reference):
    """Says KEEP_ALIVE before OpenSyn."""

    def send(self, link: Link, *messages: Any) -> None:
        if any(OpenSyn.matches(message) for message in messages):
            super().send(link, KeepAlive())
        super().send(link, *messages)
