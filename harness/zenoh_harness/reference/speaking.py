"""How the reference node sends network messages: in a FRAME of their lane, in FRAGMENTs, or bare in low-latency sessions.

Pages: push#layering, message-reference#frame, batching, fragmentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from zenoh_conformance.messages import Fragment, Frame, sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.wire import Exts

from .link import Link

if TYPE_CHECKING:
    from .config import Action, Config

FRAGMENT_HEAD = 14
"""The most bytes before the payload of a FRAGMENT: header, sequence number, QoS, First."""


class Speaking:
    """The layer between the router and the batches of its links; the node implements `send_batch`."""

    config: Config
    actions: list[Action]
    now: float

    def __init__(self) -> None:
        self.links: dict[str, Link] = {}

    def drain(self) -> list[Action]:
        """Return the actions that are to be done now, in order, and forget them."""
        actions, self.actions = self.actions, []
        return actions

    # -- sessions

    def others(self, link: Link) -> Iterator[Link]:
        """Return one link of every other live session."""
        sessions = {other.session: other for other in reversed(self.links.values()) if other.live}
        return (other for name, other in reversed(sessions.items()) if name != link.session)

    def link_of(self, session: str) -> Link | None:
        """Return the first live link of a session; None if the session has ended."""
        return next((link for link in self.links.values() if link.live and link.session == session), None)

    def earlier_link(self, link: Link) -> Link | None:
        """Return another live link with the same ZenohID; None if there is none."""
        return next((other for other in self.links.values() if other.live and other.zid == link.zid), None)

    # -- sending

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        """Send one network message to a session, on the lane of its priority and reliability."""
        if link.inside is not None:
            link.inside(message)
            return
        if link.terms.lowlatency:
            self.send_batch(link, encode(message))
            return
        priority = self.lane_of(link, message)
        exts = Exts(() if priority == sane.DEFAULT_PRIORITY else (sane.lane(priority),))
        frame = Frame(reliable=reliable, sn=self.next_sn(link, reliable, priority), exts=exts, messages=(message,))
        batch = encode(frame)
        if len(batch) <= self.room(link):
            self.send_batch(link, batch)
        else:
            self.say_fragments(link, encode(message), frame.sn, reliable, priority)

    def lane_of(self, link: Link, message: Any) -> int:
        """Return the priority whose lane carries a message: its own if the session has QoS, else the default."""
        return priority_of(message) if link.terms.qos else sane.DEFAULT_PRIORITY

    def room(self, link: Link) -> int:
        """Return the most bytes of a batch: the negotiated size without length prefix and compression header.

        See the erratum batch-size-off-by-two.
        """
        return link.terms.batch_size - 2 - int(link.terms.compression)

    def say_fragments(self, link: Link, data: bytes, sn: int, reliable: bool, priority: int) -> None:
        """Send a message in FRAGMENTs with consecutive numbers; the first has the extension First if the patch permits.

        If batches are too small for any fragment, nothing is sent.
        """
        size = max(1, self.room(link) - FRAGMENT_HEAD)
        lane: tuple[Any, ...] = () if priority == sane.DEFAULT_PRIORITY else (sane.lane(priority),)
        for at in range(0, len(data), size):
            exts: Exts[Any] = Exts(lane + ((sane.first(),) if not at and self.marks_first(link) else ()))
            piece = Fragment(
                reliable=reliable, more=at + size < len(data), sn=sn, exts=exts, payload=data[at : at + size]
            )
            batch = encode(piece)
            if len(batch) > self.room(link):
                return
            self.send_batch(link, batch)
            if piece.more:
                sn = self.next_sn(link, reliable, priority)

    def marks_first(self, link: Link) -> bool:
        """Return whether the first fragment has the extension First: from patch 1 on."""
        return bool(link.terms.patch)

    def next_sn(self, link: Link, reliable: bool, priority: int) -> int:
        channel = (reliable, priority)
        sn = link.tx.get(channel, link.initial_sn)
        link.tx[channel] = (sn + 1) & self.sn_mask(link)
        return sn

    def send_batch(self, link: Link, batch: bytes) -> None:
        raise NotImplementedError

    def sn_mask(self, link: Link) -> int:
        raise NotImplementedError
