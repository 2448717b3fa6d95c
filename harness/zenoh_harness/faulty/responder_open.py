"""Responders that believe, or answer, a wrong OpenSyn, or a message at the wrong time."""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Any

from zenoh_conformance import sane
from zenoh_conformance.connection import Seen
from zenoh_conformance.kinds import InitSyn, OpenAck
from zenoh_conformance.messages import Close, Frame, Init, KeepAlive, Open
from zenoh_conformance.session import State
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import INVALID, Refused
from zenoh_harness.reference.link import Link

from . import faulty


@faulty(
    "believes-any-cookie",
    caught_by=(
        "establishment-cookie/a-changed-cookie-is-refused",
        "establishment-cookie/an-invented-cookie-is-refused",
    ),
    also={
        "establishment-cookie/*": "every cookie will do",
        "establishment-batches/an-open-sent-too-soon-*": "its cookie is invented",
    },
)
class BelievesAnyCookie(Reference):
    """Does not look at the cookie."""

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        return True


@faulty(
    "compares-half-a-cookie",
    caught_by="establishment-cookie/a-changed-cookie-is-refused",
    also={
        "establishment-cookie/a-shortened-cookie-is-refused": "all but the last byte is there",
        "establishment-cookie/a-longer-cookie-*": "it begins as it must",
    },
)
class ComparesHalfACookie(Reference):
    """Looks at the first bytes only."""

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        assert link.mine is not None and link.mine.cookie is not None
        return (open_.cookie or b"")[:4] == link.mine.cookie[:4]


@faulty(
    "compares-a-prefix-of-the-cookie",
    caught_by="establishment-cookie/a-shortened-cookie-is-refused",
    also={
        "establishment-cookie/a-cookie-length-that-lies-*": "what is behind the length is a prefix",
    },
)
class ComparesAPrefixOfTheCookie(Reference):
    """Accepts any beginning of the cookie."""

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        assert link.mine is not None and link.mine.cookie is not None
        return link.mine.cookie.startswith(open_.cookie or b"")


@faulty(
    "compares-the-length-of-the-cookie",
    caught_by="establishment-cookie/an-invented-cookie-is-refused",
    also={
        "establishment-cookie/*": "all cookies are of one length",
    },
)
class ComparesTheLengthOfTheCookie(Reference):
    """Accepts as many bytes as were issued."""

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        assert link.mine is not None
        return len(open_.cookie or b"") == len(link.mine.cookie or b"")


@faulty(
    "takes-cookies-of-other-links",
    caught_by="establishment-cookie/a-cookie-of-another-link-is-refused",
    also={
        "establishment-cookie/a-used-cookie-opens-no-second-session": "it was issued, once",
    },
)
class TakesCookiesOfOtherLinks(Reference):
    """Accepts a cookie that it issued, on whatever link."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.issued: set[bytes] = set()

    def make_cookie(self, link: Link, syn: Init) -> bytes:
        cookie = super().make_cookie(link, syn)
        self.issued.add(cookie)
        return cookie

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        return open_.cookie in self.issued


@faulty(
    "bakes-the-same-cookie-again",
    caught_by=("establishment-cookie/a-used-cookie-opens-no-second-session", "law/cookies-differ"),
)
class BakesTheSameCookieAgain(Reference):
    """Binds the cookie to the ZenohID only, so that it opens again and again."""

    def make_cookie(self, link: Link, syn: Init) -> bytes:
        return hmac.digest(self.config.secret, syn.zid.raw, sha256)


@faulty("believes-any-initial-sn", caught_by="establishment-open/an-initial-number-past-the-edge-is-refused")
class BelievesAnyInitialSn(Reference):
    """Takes any initial number, whatever the resolution."""

    def accepts_initial_sn(self, link: Link, sn: int) -> bool:
        return True


@faulty(
    "refuses-the-largest-initial-sn",
    caught_by="establishment-open/an-initial-number-at-the-edge-is-accepted",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "one pair begins at the edge",
        "initiator-open-ack/our-initial-number-is-taken": "in both roles",
        "establishment-fields/*": "the last number of a resolution is one of their values",
    },
)
class RefusesTheLargestInitialSn(Reference):
    """An off-by-one at the resolution's edge."""

    def accepts_initial_sn(self, link: Link, sn: int) -> bool:
        return sn < self.sn_mask(link)


@faulty(
    "refuses-an-initial-sn-of-zero",
    caught_by="establishment-open/an-initial-number-at-the-edge-is-accepted",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "one pair begins at zero",
        "settled-terms/its-numbers-wrap-where-it-was-settled": "what wraps comes to zero",
        "establishment-*": "our usual number is zero",
        "initiator-open-ack/*": "in both roles",
        "initiator-*": "in both roles",
    },
)
class RefusesAnInitialSnOfZero(Reference):
    """Takes zero for absent."""

    def accepts_initial_sn(self, link: Link, sn: int) -> bool:
        return sn != 0 and super().accepts_initial_sn(link, sn)


@faulty(
    "begins-past-the-resolution",
    caught_by="law/initial-sn-in-range",
    also={
        "establishment-open/the-same-peer-meets-another-number": "it is always the same number",
        "*initial-number*": "its one number is past every edge",
        "law/initial-sn-random": "it is always the same number",
        "law/sn-within-resolution": "with its frames it goes on from there",
        "session-lanes/numbers-of-every-lane-wrap": "so it does in every lane",
        "initiator-init-ack/a-lower-resolution-is-taken": "the same fault as initiator",
        "initiator-fields/a-resolution-at-most-*": "the same fault as initiator",
    },
)
class BeginsPastTheResolution(Reference):
    """Announces an initial number that does not fit."""

    def make_initial_sn(self, link: Link) -> int:
        return self.sn_mask(link) + 1


@faulty(
    "begins-always-at-zero",
    caught_by=("law/initial-sn-random", "establishment-open/initial-numbers-vary"),
    also={"establishment-open/the-same-peer-meets-another-number": "it is the same number for everybody"},
)
class BeginsAlwaysAtZero(Reference):
    """Every session begins with the same number."""

    def make_initial_sn(self, link: Link) -> int:
        return 0


@faulty("begins-with-a-number-of-the-zenohids", caught_by="establishment-open/the-same-peer-meets-another-number")
class BeginsWithANumberOfTheZenohids(Reference):
    """Draws its number from the two ZenohIDs and nothing else: each peer always meets the same."""

    def make_initial_sn(self, link: Link) -> int:
        seed = self.config.zid + (link.zid or b"")
        return int.from_bytes(sha256(seed).digest()[:8], "little") & self.sn_mask(link)


@faulty("begins-one-late", caught_by="law/initial-sn-own-start")
class BeginsOneLate(Reference):
    """The first FRAME carries the number after the one announced."""

    def on_live(self, link: Link) -> None:
        link.initial_sn = (link.initial_sn + 1) & self.sn_mask(link)


@faulty("begins-where-the-peer-does", caught_by="law/initial-sn-own-start")
class BeginsWhereThePeerDoes(Reference):
    """Uses the peer's initial number for its own."""

    def on_live(self, link: Link) -> None:
        assert link.their_open is not None
        link.initial_sn = link.their_open.initial_sn


@faulty(
    "reads-leases-as-milliseconds",
    caught_by="establishment-sane/a-lease-in-either-unit-is-accepted",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "a pair has a lease in seconds, which it finds too short",
        "establishment-*": "our usual lease is ten seconds",
    },
)
class ReadsLeasesAsMilliseconds(Reference):
    """Takes a lease in seconds for milliseconds, and finds it too short."""

    def check_open(self, link: Link, open_: Open) -> None:
        super().check_open(link, open_)
        if open_.lease < 1000:
            raise Refused(INVALID)


@faulty(
    "opens-and-does-nothing",
    caught_by="establishment-sane/a-session-does-work",
    also={
        "settled-terms/*": "what is settled is seen at work, and it does none",
        "interest-snapshots/a-snapshot-ends": "it answers nothing in a session",
        "query-ends/a-query-that-nobody-serves-is-final": "it answers nothing in a session",
        "establishment-*": "no session does work",
        "close-scope/*": "over two links neither",
        "initiator-open-ack/*": "in both roles",
        "initiator-*": "in both roles",
    },
)
class OpensAndDoesNothing(Reference):
    """A zombie: the handshake works, and nothing after it."""

    def on_session(self, link: Link, message: Any) -> None:
        return


@faulty(
    "never-acks-open",
    caught_by="establishment-sane/a-sane-handshake-is-accepted",
    also={
        "settled-terms/every-pair-of-terms-is-at-work": "no session is opened",
        "establishment-*": "no session comes to life",
    },
)
class NeverAcksOpen(Reference):
    """Takes OpenSyn and stays silent."""

    def check_open(self, link: Link, open_: Open) -> None:
        super().check_open(link, open_)
        raise Silence

    def handshake(self, link: Link, message: Any) -> None:
        try:
            super().handshake(link, message)
        except Silence:
            return


class Silence(Exception):  # noqa: N818 - a fault on purpose
    """Ends a step without a word."""


@faulty(
    "opens-without-init",
    caught_by="establishment-order/nothing-but-init-syn-begins",
    also={
        "law/handshake-messages-in-order": "the law sees it too",
    },
)
class OpensWithoutInit(Reference):
    """Takes an OpenSyn as the first message."""

    def is_due(self, link: Link, message: object) -> bool:
        return (isinstance(message, Open) and not message.ack) or super().is_due(link, message)

    def cookie_matches(self, link: Link, open_: Open) -> bool:
        return link.mine is None or super().cookie_matches(link, open_)


@faulty(
    "ignores-what-is-not-due",
    caught_by="establishment-order/nothing-but-open-syn-follows",
    also={
        "establishment-order/*": "it waits in every state",
        "initiator-*/nothing-but-*": "and in both roles",
    },
)
class IgnoresWhatIsNotDue(Reference):
    """Waits on for the message that is due, whatever comes."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if not link.live and not self.is_due(link, seen.message) and not isinstance(seen.message, Close):
            return
        super().on_message(link, seen)


@faulty(
    "answers-a-second-init",
    caught_by=(
        "establishment-order/nothing-but-open-syn-follows",
        "law/no-challenge-round",
        "law/handshake-messages-in-order",
    ),
    also={
        "law/*": "it answers out of turn, and twice",
    },
)
class AnswersASecondInit(Reference):
    """Begins anew when InitSyn comes again."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if link.state is State.INIT_ACKED and InitSyn.matches(seen.message):
            link.state = State.AWAIT_INIT
        super().on_message(link, seen)


@faulty("routes-before-open", caught_by="establishment-order/data-before-open-goes-nowhere")
class RoutesBeforeOpen(Reference):
    """Routes what comes in a FRAME before the session is open, then refuses."""

    def on_message(self, link: Link, seen: Seen) -> None:
        if not link.live and isinstance(seen.message, Frame):
            for inner in seen.message.messages:
                self.route(link, inner)
        super().on_message(link, seen)


@faulty(
    "stays-open-after-close",
    caught_by="establishment-order/close-ends-a-live-session",
    also={
        "initiator-*/a-refusal*": "in both roles",
        "establishment-states/close-ends-the-link-in-every-state": "in every state",
        "close-scope/*": "of several links too",
        "session-extensions/a-close-*": "whatever the CLOSE",
    },
)
class StaysOpenAfterClose(Reference):
    """Takes CLOSE and leaves the link up."""

    def on_close(self, link: Link, close: Close) -> None:
        return


@faulty(
    "refuses-without-close",
    caught_by="law/refusal-is-close",
    also={
        "establishment-init/*": "these ask for CLOSE",
        "establishment-*": "these ask for CLOSE",
    },
)
class RefusesWithoutClose(Reference):
    """Shuts the link where CLOSE is due."""

    def refuse(self, link: Link, reason: int | None) -> None:
        super().refuse(link, None)


@faulty("speaks-after-close", caught_by="law/nothing-after-close")
class SpeaksAfterClose(Reference):
    """Says CLOSE, and something else."""

    def refuse(self, link: Link, reason: int | None) -> None:
        if reason is not None:
            self.send(link, sane.close(reason))
            self.send(link, KeepAlive())
        self.end(link)


@faulty(
    "believes-a-cut-open",
    caught_by="establishment-open/a-cut-open-is-refused",
    also={
        "establishment-order/nothing-but-open-syn-follows": "garbage is cut too",
        "establishment-*": "whatever OpenSyn it cannot read, it takes for a sane one",
    },
)
class BelievesACutOpen(Reference):
    """Fills in what a short OpenSyn lacks."""

    def on_undecodable(self, link: Link, seen: Seen) -> None:
        if link.state is not State.INIT_ACKED or link.mine is None:
            super().on_undecodable(link, seen)
        else:
            self.handshake(link, sane.open_syn(link.mine))


@faulty(
    "answers-open-with-keep-alive",
    caught_by="law/open-ack-answers-open-syn",
)
class AnswersOpenWithKeepAlive(Reference):
    """Says KEEP_ALIVE before OpenAck."""

    def send(self, link: Link, *messages: Any) -> None:
        if any(OpenAck.matches(message) for message in messages):
            super().send(link, KeepAlive())
        super().send(link, *messages)


@faulty(
    "fills-batches-past-their-size",
    caught_by=(
        "law/batch-size-is-receive-limit",
        "session-batches/what-does-not-fit-is-fragmented",
    ),
    also={
        "establishment-init/the-smaller-batch-size-counts": "what is larger than the batch is not cut",
        "application-terms/an-application-keeps-to-the-smaller-batch": "in either role",
        "session-sizes/what-does-not-shrink-fits-with-its-compression-header": "nor is it where it is compressed",
    },
)
class FillsBatchesPastTheirSize(Reference):
    """Never fragments."""

    def room(self, link: Link) -> int:
        return 0xFFFF
