"""The live sessions of the reference node: sequence numbers, fragments, leases, CLOSE, and the sending of batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from zenoh_conformance.messages import Close, Fragment, Frame, Init, KeepAlive, Open, sane
from zenoh_conformance.reading.batch import frame_batch
from zenoh_conformance.reading.codec import encode
from zenoh_conformance.reading.connection import Seen, priority_of
from zenoh_conformance.reading.conversation import Event, Happened
from zenoh_conformance.reading.pieces import SN_MASK
from zenoh_conformance.tables.session import State

from .config import EXPIRED, INVALID, Action, Refused, need
from .link import Link
from .router import Router

MOST_PARTIAL: Final = 1 << 26
"""Bytes of incomplete messages that the node holds for one link; a peer that never sends a last fragment gets no more."""


class Traffic(Router):
    """The part of a node between its links and its router."""

    def read(self, link: Link, event: Event) -> Iterator[Seen]:
        """Yield what the event completes; of a batch of a live session that cannot be read whole, only that (batching#frame)."""
        batch: list[Seen] = []
        for seen in link.decoder.feed(event):
            if seen.kind == "batch":
                yield from batch
                batch = []
            elif seen.kind == "undecodable" and link.live:
                batch = batch[:1]
            batch.append(seen)
        yield from batch

    def on_close(self, link: Link, close: Close) -> None:
        """Handle a CLOSE: end this link, or all links of the session if S is set."""
        for other in list(self.links.values()):
            if other is link or (close.session and other.live and other.session == link.session):
                self.end(other)

    def on_session(self, link: Link, message: Any) -> None:
        """Handle a transport message of a live session. Raises Refused."""
        if isinstance(message, Frame):
            if self.accepts_sn(link, message):
                link.partial.pop((message.reliable, priority_of(message)), None)
                for inner in message.messages:
                    self.route(link, inner, reliable=message.reliable)
        elif isinstance(message, Fragment):
            if self.accepts_sn(link, message):
                self.on_fragment(link, message)
        elif isinstance(message, Init | Open):
            self.on_late_handshake(link, message)

    def on_late_handshake(self, link: Link, message: Init | Open) -> None:
        """Refuse a handshake message on a live session. Raises Refused."""
        raise Refused(INVALID)

    def accepts_sn(self, link: Link, message: Frame | Fragment) -> bool:
        """Return whether a sequence number is new on its lane: less than half the range ahead of the last one.

        After a gap the incomplete fragments of the lane are dropped. Raises Refused for a number outside the resolution,
        and for a priority on a session without QoS.
        """
        mask = self.sn_mask(link)
        need(message.sn <= mask, INVALID, "sequence number outside the negotiated resolution")
        need(
            link.terms.qos or priority_of(message) == sane.DEFAULT_PRIORITY,
            INVALID,
            "priority on a session without QoS",
        )
        channel = (message.reliable, priority_of(message))
        assert link.their_open is not None
        last = link.rx.get(channel, (link.their_open.initial_sn - 1) & mask)
        if not 1 <= (message.sn - last) & mask <= mask >> 1:
            return False
        if (message.sn - last) & mask != 1:
            link.partial.pop(channel, None)
        link.rx[channel] = message.sn
        return True

    def on_fragment(self, link: Link, fragment: Fragment) -> None:
        """Handle one fragment; the last one completes a message, which is routed."""
        channel = (fragment.reliable, priority_of(fragment))
        marks = {type(ext).__name__ for ext in fragment.exts}
        if "Drop" in marks:
            link.partial.pop(channel, None)
            return
        if "First" in marks or (channel not in link.partial and not link.terms.patch):
            link.partial[channel] = bytearray()
        if channel not in link.partial:
            return
        link.partial[channel] += fragment.payload
        if sum(map(len, link.partial.values())) > MOST_PARTIAL:
            link.partial.clear()
            raise Refused(INVALID, f"more than {MOST_PARTIAL >> 20} MiB of messages that are not complete")
        if not fragment.more:
            self.route_bytes(link, bytes(link.partial.pop(channel)), reliable=fragment.reliable)

    def sn_mask(self, link: Link) -> int:
        return SN_MASK[link.terms.resolution & 3]

    def on_time(self, link: Link) -> None:
        """Do what is due on a link by time: end an overdue handshake or an expired session, or send KEEP_ALIVE."""
        if not link.live:
            if self.now - link.opened_at >= self.config.handshake_s:
                self.refuse(link, None)
        elif self.now - link.last_heard >= self.lease_of(link):
            self.refuse(link, EXPIRED)
        elif self.now - link.last_said >= self.config.lease_ms / 4000:
            self.send(link, KeepAlive())

    def lease_of(self, link: Link) -> float:
        """Return the effective lease in seconds: the smaller of both (erratum effective-lease)."""
        assert link.their_open is not None
        theirs = link.their_open.lease * (1 if link.their_open.lease_in_seconds else 0.001)
        return min(theirs, self.config.lease_ms / 1000)

    # -- sending

    def send(self, link: Link, *messages: Any) -> None:
        """Send transport messages in one batch."""
        self.send_batch(link, b"".join(self.encoded(message) for message in messages))

    def encoded(self, message: Any) -> bytes:
        """Return the bytes of a transport message."""
        return encode(message)

    def send_batch(self, link: Link, batch: bytes) -> None:
        """Send a batch, with the length prefix and the compression that the link has now."""
        ours = link.decoder.directions[link.side]
        data = frame_batch(batch, link.decoder.connection.framing.value, prefix=ours.prefix, compressed=ours.compressed)
        for _ in link.decoder.feed(Event(self.now, link.name, link.side, Happened.BYTES, data)):
            pass
        link.last_said = self.now
        self.actions.append(Action(link.name, data))

    def refuse(self, link: Link, reason: int | None) -> None:
        """Send CLOSE with the reason (none for None), and end the link; on a live session CLOSE ends the session."""
        if reason is not None:
            self.send(link, sane.close(reason, session=link.live))
        self.end(link)

    def end(self, link: Link) -> None:
        """End a link; with the last link of a session, withdraw its declarations."""
        self.actions.append(Action(link.name, end=True))
        self.drop(link)

    def drop(self, link: Link) -> None:
        """Remove a link; after the last one of a session, withdraw the session's declarations."""
        was_live, link.state = link.live, State.CLOSED
        self.links.pop(link.name, None)
        if was_live and self.link_of(link.session) is None:
            self.on_gone(link)
