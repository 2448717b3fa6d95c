"""The reference node, which leaves its multicast group once it has read a datagram that cannot be decoded, as zenoh-rust does."""

import sys

from zenoh_harness.commands import peer
from zenoh_harness.reference import Reference
from zenoh_harness.reference.groups import MULTICAST


class Leaving(Reference):
    has_left = False

    def read(self, link, event):
        for seen in super().read(link, event):
            self.has_left |= seen.kind == "undecodable" and link.session == MULTICAST
            yield seen

    def on_datagram(self, origin, datagram, now):
        return [] if self.has_left else super().on_datagram(origin, datagram, now)

    def on_time(self, link):
        if link.name != MULTICAST or not self.has_left:
            super().on_time(link)


peer.Reference = Leaving
sys.exit(peer.command())
