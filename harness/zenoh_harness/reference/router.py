"""The router of the reference node: distributes network messages to their handlers, and forwards publications.

Declarations and interests are in `declaring`, queries in `querying`, the sending of messages in `speaking`.
Pages: push#routing; companions declarations, interests, fragmentation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from zenoh_conformance.messages import Declare, Interest, Push, Request, Response, ResponseFinal
from zenoh_conformance.messages.data import Shm
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading.codec import Layer, decode
from zenoh_conformance.wire import DecodeError, Exts

from .config import GENERIC, Refused
from .declaring import DECLARE, whole
from .link import Link
from .querying import QueryHandling

MOST_ENTRIES: Final = 1 << 16
"""Declarations, interests and queries that the node stores for one session; no check needs a thousand."""

MOST_KEY_BYTES: Final = 1 << 24
"""Characters of the key expressions that it stores for one session."""

SOME_ENTRIES: Final = 64
"""Entries after which their key expressions are added up: 4 MB more at most."""


class Router(QueryHandling):
    """The part of a node that connects its sessions."""

    def route_bytes(self, link: Link, data: bytes, *, reliable: bool = True) -> None:
        """Handle a message that was reassembled from fragments; drop bytes that are no message (page fragmentation)."""
        try:
            message = decode(data, Layer.NETWORK).message
        except DecodeError:
            return
        self.route(link, message, reliable=reliable)

    def route(self, link: Link, message: Any, *, reliable: bool = True) -> None:
        """Handle one network message of a session; drop one in shared memory, which this node does not have (push#shm)."""
        if in_shared_memory(message):
            return
        if isinstance(message, Push):
            self.on_push(link, message, reliable=reliable)
        elif isinstance(message, Declare):
            self.on_declare(link, message)
        elif isinstance(message, Interest):
            self.on_interest(link, message)
        elif isinstance(message, Request):
            self.on_request(link, message)
        elif isinstance(message, Response):
            self.on_response(link, message)
        elif isinstance(message, ResponseFinal):
            self.on_final(link, message.id)
        if isinstance(message, Declare | Interest | Request) and link.inside is None:
            self.limit_entries(link)

    def limit_entries(self, link: Link) -> None:
        """Limit what one session makes the node remember. Raises Refused beyond the limits."""
        entries = link.entries
        if entries > MOST_ENTRIES:
            raise Refused(GENERIC, f"more than {MOST_ENTRIES} declarations, interests and queries")
        # The sizes are added up once in a while, so that a declaration costs the same however many there are.
        if entries % SOME_ENTRIES == 0 and link.key_bytes > MOST_KEY_BYTES:
            raise Refused(GENERIC, f"more than {MOST_KEY_BYTES >> 20} MiB of key expressions")

    def on_live(self, link: Link) -> None:
        """Forward all declarations to a new session if it is a router's."""
        if self.hears_unasked(link):
            for other in self.others(link):
                for kind in DECLARE:
                    for entity in list(self.table(other, kind)):
                        self.tell(link, other, kind, entity)

    # -- publications

    def on_push(self, link: Link, push: Push, *, reliable: bool = True) -> None:
        """Forward a publication once to every other session with a subscriber whose key intersects its key."""
        key = self.key_of(link, push.key)
        if key is None:
            return
        for other in self.receivers(link, key):
            self.forward(other, replace(push, key=whole(key), exts=self.forwarded(push)), reliable=reliable)

    def receivers(self, link: Link, key: str) -> list[Link]:
        """Return the sessions with a matching subscriber; for the node's own application also all routers."""
        routers = link.inside is not None
        return [
            other
            for other in self.others(link)
            if self.subscribes(other, key) or (routers and self.hears_unasked(other))
        ]

    def subscribes(self, link: Link, key: str) -> bool:
        """Return whether a session has a subscriber whose key intersects `key`."""
        return any(keyexpr.intersects(key, held.key) for held in link.subscribers.values())

    def forwarded(self, message: Any) -> Exts[Any]:
        """Return the extensions that are forwarded: all but NodeId, which concerns one hop."""
        return Exts(ext for ext in message.exts if type(ext).__name__ != "NodeId")


def in_shared_memory(message: Any) -> bool:
    """Return whether a message, or a body inside it, has the extension Shm."""
    while message is not None and hasattr(message, "exts"):
        if any(isinstance(ext, Shm) for ext in message.exts):
            return True
        message = getattr(message, "body", None)
    return False
