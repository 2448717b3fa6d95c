"""Initiators that take what was agreed on an earlier link for what is agreed on a later one."""

from __future__ import annotations

from dataclasses import replace

from zenoh_conformance.conversation import Side
from zenoh_conformance.messages import Init, Open
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Channel, Link

from . import faulty

AGAIN = "initiator-again"


@faulty(
    "keeps-its-first-cookie",
    caught_by=(f"{AGAIN}/each-cookie-comes-back-on-its-own-link", "law/cookie-echo"),
)
class KeepsItsFirstCookie(Reference):
    """Returns the cookie of its first handshake in every later one."""

    first: bytes | None = None

    def confirm(self, link: Link, ack: Init) -> Open:
        self.first = self.first or ack.cookie
        return super().confirm(link, replace(ack, cookie=self.first))


@faulty(
    "counts-on-after-a-session",
    caught_by=(f"{AGAIN}/each-session-begins-with-its-own-number", "law/initial-sn-own-start"),
)
class CountsOnAfterASession(Reference):
    """Its second session goes on where the first one stopped, whatever its OpenSyn says."""

    left: dict[Channel, int] | None = None

    def go_live(self, link: Link, theirs: Open, answer: Open | None) -> None:
        super().go_live(link, theirs, answer)
        if link.side is Side.INITIATOR:
            link.tx = self.left = link.tx if self.left is None else self.left
