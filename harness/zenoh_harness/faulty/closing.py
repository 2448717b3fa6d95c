"""Nodes that end too much or too little at a CLOSE, keep sessions of several links wrongly, or need markers nobody knows."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.codec import encode
from zenoh_conformance.messages import Close, Fragment, Open
from zenoh_conformance.messages.fragment import Drop
from zenoh_conformance.wire.extensions import Exts
from zenoh_harness.reference import Reference
from zenoh_harness.reference.config import MAX_LINKS, Refused
from zenoh_harness.reference.link import Link

from . import faulty


@faulty(
    "takes-no-second-link",
    caught_by="close-scope/two-links-make-one-session",
)
class TakesNoSecondLink(Reference):
    """Agrees to several links, and refuses the second one."""

    def check_open(self, link: Link, open_: Open) -> None:
        super().check_open(link, open_)
        if self.earlier_link(link) is not None:
            raise Refused(MAX_LINKS)


@faulty("closes-one-link-of-a-session", caught_by="close-scope/close-of-a-session-ends-all-its-links")
class ClosesOneLinkOfASession(Reference):
    """Takes CLOSE with S for CLOSE without: the session lives on over its other link."""

    def on_close(self, link: Link, close: Close) -> None:
        super().on_close(link, replace(close, session=False))


@faulty("closes-every-link-for-one", caught_by="close-scope/close-of-a-link-leaves-the-others")
class ClosesEveryLinkForOne(Reference):
    """Takes CLOSE without S for CLOSE with: all links of the session end."""

    def on_close(self, link: Link, close: Close) -> None:
        super().on_close(link, replace(close, session=True))


@faulty("forgets-a-session-with-its-first-link", caught_by="close-scope/close-of-a-link-leaves-the-others")
class ForgetsASessionWithItsFirstLink(Reference):
    """Takes a session's declarations back as soon as one of its links is closed."""

    def on_close(self, link: Link, close: Close) -> None:
        self.on_gone(link)
        super().on_close(link, close)


@faulty("remembers-what-a-closed-session-declared", caught_by="close-scope/what-a-session-declared-ends-with-it")
class RemembersWhatAClosedSessionDeclared(Reference):
    """Forgets the links of a session that was closed, and not what was declared on them."""

    def on_close(self, link: Link, close: Close) -> None:
        link.tokens.clear()
        super().on_close(link, close)


@faulty(
    "begins-with-what-it-gives-up",
    caught_by="establishment-patch/toward-patch-zero-no-marker-is-needed",
    also={
        "session-batches/what-does-not-fit-is-fragmented": "it takes the piece given up for the end of the message",
        "law/initial-sn-own-start": "a channel may begin with what is given up",
        "establishment-patch/the-first-fragment-is-marked": "what it gives up begins without a mark",
    },
)
class BeginsWithWhatItGivesUp(Reference):
    """Sends a piece of each message that is large, gives it up with Drop, and begins anew: toward everybody."""

    def say_fragments(self, link: Link, data: bytes, sn: int, reliable: bool, priority: int) -> None:
        self.send_batch(link, encode(Fragment(reliable=reliable, more=True, sn=sn, payload=data[:8])))
        given_up = self.next_sn(link, reliable, priority)
        self.send_batch(
            link, encode(Fragment(reliable=reliable, more=False, sn=given_up, exts=Exts((Drop(),)), payload=b""))
        )
        super().say_fragments(link, data, self.next_sn(link, reliable, priority), reliable, priority)
