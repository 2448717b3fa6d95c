"""Which sessions may receive what a router forwards: those that declared a key expression that intersects its key.

Pages: push#routing, query#overview. Judged between a router and a client, which receives nothing for others: a peer or router may
receive more, and what a router sends of its own is not judged. A key that a client has ever declared counts: no page says how
soon the end of a declaration has an effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zenoh_conformance.messages import DQueryable, DSubscriber, Init, Push, Request, sane
from zenoh_conformance.primitives import keyexpr
from zenoh_conformance.reading.conversation import Side
from zenoh_conformance.tables.forwarding import Sentence

TO_SUBSCRIBERS: Final = Sentence(
    "to-subscribers",
    "push/push-only-intersecting",
    "push#routing: to every session that has declared a subscriber whose key expression intersects the PUSH's",
)
TO_QUERYABLES: Final = Sentence(
    "to-queryables",
    "query/query-only-intersecting",
    "query#overview: from all queryables whose declared key expression intersects the query's",
)
SENTENCES: Final[Mapping[type[Any], Sentence]] = {Push: TO_SUBSCRIBERS, Request: TO_QUERYABLES}
"""What is forwarded, and the sentence that says which sessions receive it."""
RECEIVES: Final[Mapping[type[Any], type[Any]]] = {DSubscriber: Push, DQueryable: Request}
"""A declaration, and what its session receives by it."""

MOST_KEYS: Final = 1024
"""Keys of one node that are remembered; one that declares more is not judged."""


@dataclass(slots=True)
class Declared:
    """The keys under which a node has ever declared what receives one kind of message."""

    keys: set[str] = field(default_factory=set)
    anything: bool = False
    """Whether it may have declared a key that we do not know."""

    def add(self, key: str | None) -> None:
        """Note one; None for a key that cannot be told."""
        self.anything |= key is None or not keyexpr.is_canonical(key) or len(self.keys) >= MOST_KEYS
        if key is not None and not self.anything:
            self.keys.add(key)

    def may_receive(self, key: str) -> bool:
        """Whether a message with this key may come to the node."""
        if self.anything or key in self.keys or not keyexpr.is_canonical(key):
            return True
        return any(keyexpr.intersects(key, each) for each in self.keys)


def is_told_only_its_own(inits: Mapping[Side, Init], sender: Side) -> bool:
    """Whether a router sends to a client."""
    return inits[sender].whatami == sane.ROUTER and inits[sender.other].whatami == sane.CLIENT
