"""The reference node in its groups: it answers SCOUT, says JOIN, and hears those who said JOIN.

Pages: message-reference#join, companions join and scouting.
"""

from __future__ import annotations

from typing import Any

from zenoh_conformance.messages import Close, Hello, Join, Open, Scout, sane
from zenoh_conformance.messages.join import NextSn, QoS
from zenoh_conformance.primitives import WhatAmI, ZenohID
from zenoh_conformance.reading.codec import Layer, decode_whole
from zenoh_conformance.reading.connection import ConnectionDecoder
from zenoh_conformance.reading.conversation import Connection, Event, Framing, Happened, Side
from zenoh_conformance.tables.session import State
from zenoh_conformance.wire import DecodeError, Exts

from .config import Action, Refused
from .link import Link, LinkTerms
from .terms import Negotiating

MULTICAST, SCOUTING = "multicast", "scouting"
"""The names of the groups; the first is also that of the link by which the node speaks to all in the group."""

PERIOD = 0.25
"""Seconds between two JOINs."""

PRIORITIES = 8


class Grouped(Negotiating):
    """The part of a node that is in groups. Those who said JOIN are not among its links: it hears them, and speaks to all at once."""

    def __init__(self) -> None:
        super().__init__()
        self.members: dict[str, Link] = {}
        """Who said JOIN and is not offline, by address."""

    # -- scouting

    def on_scouting(self, origin: str, datagram: bytes) -> list[Action]:
        """Return the answer to a datagram on the group of scouting: HELLO to its sender, or nothing."""
        try:
            scout = decode_whole(datagram, Layer.SCOUTING).message
        except DecodeError:
            return []
        if isinstance(scout, Scout) and self.answers_scout(scout):
            return [Action(origin, self.encoded(self.hello()))]
        return []

    def answers_scout(self, scout: Scout) -> bool:
        """Return whether a SCOUT asks for our role, in a version that we know."""
        return scout.version == sane.VERSION and bool(scout.what & 1 << self.config.whatami)

    def hello(self) -> Hello:
        """Return our HELLO."""
        return Hello(whatami=WhatAmI(self.config.whatami), zid=ZenohID(self.config.zid), locators=self.config.locators)

    # -- the multicast group

    def join_group(self, now: float) -> list[Action]:
        """Join the multicast group: say JOIN from now on."""
        decoder = ConnectionDecoder(Connection(MULTICAST, framing=Framing.DATAGRAM))
        terms = LinkTerms(batch_size=self.config.group_batch, qos=self.config.group_qos)
        group = Link(MULTICAST, Side.RESPONDER, decoder, now, State.LIVE, terms, last_said=now, last_joined=now)
        self.links[MULTICAST] = group
        self.say_join(group)
        return self.drain()

    def say_join(self, link: Link) -> None:
        """Say JOIN."""
        self.send(link, self.join(link))

    def join(self, link: Link) -> Join:
        """Return our JOIN: the next number of each lane, and our lease."""
        numbers = [
            NextSn(reliable=self.next_of(link, True, lane), best_effort=self.next_of(link, False, lane))
            for lane in range(PRIORITIES)
        ]
        plain = numbers[sane.DEFAULT_PRIORITY]
        return Join(
            whatami=WhatAmI(self.config.whatami),
            zid=ZenohID(self.config.zid),
            **self.lease_fields(),
            next_sn_reliable=plain.reliable,
            next_sn_best_effort=plain.best_effort,
            exts=Exts((QoS(sns=tuple(numbers)),) if link.terms.qos else ()),
        )

    def next_of(self, link: Link, reliable: bool, priority: int) -> int:
        """Return the next number of a lane."""
        return link.tx.get((reliable, priority), link.initial_sn)

    def on_datagram(self, origin: str, datagram: bytes, now: float) -> list[Action]:
        """Handle a datagram on the multicast group: what comes before a JOIN of its sender is ignored."""
        self.now = now
        member = self.members.get(origin) or self.stranger(origin)
        for seen in self.read(member, Event(now, origin, Side.INITIATOR, Happened.BYTES, datagram)):
            if seen.kind in ("batch", "undecodable") or seen.around:
                continue
            if isinstance(seen.message, Join):
                self.on_join(member, seen.message)
            elif origin in self.members:
                self.on_member(member, seen.message)
        return self.drain()

    def stranger(self, origin: str) -> Link:
        """Return the state of a sender without a JOIN."""
        decoder = ConnectionDecoder(Connection(origin, framing=Framing.DATAGRAM))
        link = Link(origin, Side.RESPONDER, decoder, self.now, State.LIVE)
        link.session = MULTICAST
        return link

    def on_join(self, member: Link, join: Join) -> None:
        """Handle JOIN: a new member's numbers begin as it says."""
        if join.version != sane.VERSION:
            return
        if member.name not in self.members:
            self.members[member.name] = member
            member.terms.qos = any(isinstance(ext, QoS) for ext in join.exts)
            member.terms.resolution = sane.DEFAULT_RESOLUTION if join.resolution is None else join.resolution
            member.their_open = Open(
                ack=False, lease_in_seconds=join.lease_in_seconds, lease=join.lease, initial_sn=join.next_sn_reliable
            )
            self.begin_numbers(member, join)
        member.last_heard = self.now

    def begin_numbers(self, member: Link, join: Join) -> None:
        """Note the number before the first one of each lane: those of QoS, or those in the body."""
        mask = self.sn_mask(member)
        lanes = next((ext.sns for ext in join.exts if isinstance(ext, QoS)), None)
        if lanes is None:
            lanes = (NextSn(reliable=join.next_sn_reliable, best_effort=join.next_sn_best_effort),) * PRIORITIES
        for priority, lane in enumerate(lanes):
            member.rx[True, priority] = (lane.reliable - 1) & mask
            member.rx[False, priority] = (lane.best_effort - 1) & mask

    def on_member(self, member: Link, message: Any) -> None:
        """Handle what a member says; CLOSE ends its membership, and what cannot be accepted is ignored."""
        member.last_heard = self.now
        if isinstance(message, Close):
            self.members.pop(member.name, None)
            return
        try:
            self.on_session(member, message)
        except Refused:
            return

    def on_time(self, link: Link) -> None:
        """Say JOIN when it is due, and forget who was silent for the lease of its JOIN."""
        if link.name != MULTICAST:
            super().on_time(link)
            return
        self.members = {name: member for name, member in self.members.items() if not self.is_offline(member)}
        if self.now - link.last_joined >= PERIOD:
            link.last_joined = self.now
            self.say_join(link)

    def is_offline(self, member: Link) -> bool:
        """Return whether a member was silent for its lease."""
        return self.now - member.last_heard >= sane.lease_of(member.their_open)

    def subscribes(self, link: Link, key: str) -> bool:
        """Return whether a session wants what is published; the group does as long as a member is in it."""
        return bool(self.members) if link.name == MULTICAST else super().subscribes(link, key)
