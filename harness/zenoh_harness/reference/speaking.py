"""How the reference says network messages in a session: in a FRAME of the right lane, in FRAGMENTs, or bare in low latency.

Pages: push#layering, message-reference#frame, companions batching and fragmentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from zenoh_conformance.messages import Fragment, Frame, sane
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import priority_of
from zenoh_conformance.wire.extensions import Exts

from .link import Link

if TYPE_CHECKING:
    from .config import Action, Config

FRAGMENT_HEAD = 14
"""Most that stands before the payload of a FRAGMENT: header, number, QoS, First."""


class Speaking:
    """What stands between the router and the batches of its links; the node gives it `send_batch` and the links."""

    config: Config
    actions: list[Action]
    now: float

    def __init__(self) -> None:
        self.links: dict[str, Link] = {}

    # -- sessions

    def others(self, link: Link) -> Iterator[Link]:
        """Every live session but this one: one link of each."""
        sessions = {other.session: other for other in reversed(self.links.values()) if other.live}
        return (other for name, other in reversed(sessions.items()) if name != link.session)

    def link_of(self, session: str) -> Link | None:
        """A live link of a session, the first one while it is there; None when the session is over."""
        return next((link for link in self.links.values() if link.live and link.session == session), None)

    def earlier_link(self, link: Link) -> Link | None:
        """A live link of the same node."""
        return next((other for other in self.links.values() if other.live and other.zid == link.zid), None)

    # -- out

    def say(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        """One network message to a session, on the channel that its priority names."""
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
        """The lane of a message: its own priority, where the session has lanes."""
        return priority_of(message) if link.terms.qos else sane.DEFAULT_PRIORITY

    def room(self, link: Link) -> int:
        """The largest batch: the negotiated size less the length prefix and the compression header (erratum batch-size-off-by-two)."""
        return link.terms.batch_size - 2 - int(link.terms.compression)

    def say_fragments(self, link: Link, data: bytes, sn: int, reliable: bool, priority: int) -> None:
        """Consecutive numbers, first one marked when the far side knows markers; nothing, where batches hold no fragment at all."""
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
        """Whether the first fragment is marked: where the far side knows markers."""
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
