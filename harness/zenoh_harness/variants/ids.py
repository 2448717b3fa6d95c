"""Nodes that give ids in another order than the reference: to entities, to requests, and to keys."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any
from zlib import crc32

from zenoh_conformance.messages import Declare, DFinal, UQueryable, USubscriber, UToken
from zenoh_harness.reference import Reference
from zenoh_harness.reference.link import Link

from . import variant

IDS = "declarations: who declares chooses the id; query#request: any id within RID"

ENTITY_IDS = 0xFFFF_FFFF
"""The largest id of an entity."""

EXPR_IDS = 0xFFFF
"""The largest number of a key."""


def request_ids(link: Link) -> int:
    """The largest request id of a session; on the wire it has 32 bits."""
    return min((1 << (8 << (link.terms.resolution >> 2 & 3))) - 1, 0xFFFF_FFFF)


@variant("ids-go-down", permitted=IDS)
class IdsGoDown(Reference):
    """Gives ids from the largest one down."""

    def on_live(self, link: Link) -> None:
        if link.name == link.session:
            link.entity_ids = count(ENTITY_IDS, -1)
            link.request_ids = down(request_ids(link))
            link.expr_ids = down(EXPR_IDS)
        super().on_live(link)


def down(most: int) -> Iterator[int]:
    """From the largest to 1, and again."""
    while True:
        yield from range(most, 0, -1)


@variant("ids-at-random", permitted=IDS)
class IdsAtRandom(Reference):
    """Gives ids in no order, out of all that there are."""

    def on_live(self, link: Link) -> None:
        if link.name == link.session:
            link.entity_ids = scattered(ENTITY_IDS, f"{link.session} entities")
            link.request_ids = scattered(request_ids(link), f"{link.session} requests")
            link.expr_ids = scattered(EXPR_IDS, f"{link.session} keys")
        super().on_live(link)


def scattered(mask: int, seed: str) -> Iterator[int]:
    """Each number but 0 once, in no order, and again: an odd step meets all of them."""
    for at in count(crc32(seed.encode())):
        number = at * 0x9E37_79B1 & mask
        if number:
            yield number


@variant("counts-each-kind-from-zero", permitted=IDS)
class CountsEachKindFromZero(Reference):
    """Counts the entities of each kind from 0, and requests, too: those of two kinds have the same ids."""

    def __init__(self, *text: Any) -> None:
        super().__init__(*text)
        self.kinds: dict[tuple[str, str], Iterator[int]] = {}

    def on_live(self, link: Link) -> None:
        if link.name == link.session:
            link.entity_ids, link.request_ids = count(1_000_000), count(0)  # what stands for several has another range
        super().on_live(link)

    def tell(self, to: Link, owner: Link, kind: str, *text: Any, **how: Any) -> None:
        before = to.entity_ids
        to.entity_ids = self.kinds.setdefault((to.session, kind), count(0))
        super().tell(to, owner, kind, *text, **how)
        to.entity_ids = before

    def drop(self, link: Link) -> None:
        super().drop(link)
        if self.link_of(link.session) is None:
            self.kinds = {at: ids for at, ids in self.kinds.items() if at[0] != link.session}


class Places:
    """Gives the lowest number that is free."""

    def __init__(self) -> None:
        self.taken: set[int] = set()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        number = next(number for number in count() if number not in self.taken)
        self.taken.add(number)
        return number


@variant("gives-ids-again-at-once", permitted=f"{IDS}; what was taken back, or has ended, has its id no more")
class GivesIdsAgainAtOnce(Reference):
    """Gives the lowest id that is free: one that was taken back comes next."""

    def on_live(self, link: Link) -> None:
        if link.name == link.session:
            link.entity_ids, link.request_ids = Places(), Places()
        super().on_live(link)

    def say(self, link: Link, message: Any, **how: Any) -> None:
        super().say(link, message, **how)
        if isinstance(message, Declare) and isinstance(link.entity_ids, Places):
            if isinstance(message.body, USubscriber | UQueryable | UToken):
                link.entity_ids.taken.discard(message.body.id)
            elif isinstance(message.body, DFinal):
                link.entity_ids.taken &= set(link.announced.values())  # what a snapshot told for the moment only

    def on_final(self, link: Link, request_id: int) -> None:
        super().on_final(link, request_id)
        if isinstance(link.request_ids, Places):
            link.request_ids.taken.discard(request_id)
