"""Nodes that assign the ids of entities, requests and key expressions in another order than the reference node."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any
from zlib import crc32

from zenoh_conformance.messages import Declare, DFinal, UQueryable, USubscriber, UToken
from zenoh_harness.reference import Config, Link, Reference, before

from . import row, variant

IDS = "declarations: who declares chooses the id; query#request: any id within RID"

ENTITY_IDS = 0xFFFF_FFFF
"""The largest id of an entity."""

EXPR_IDS = 0xFFFF
"""The largest expression id."""


def request_ids(link: Link) -> int:
    """Return the largest request id of a session; on the wire it has 32 bits."""
    return min((1 << (8 << (link.terms.resolution >> 2 & 3))) - 1, 0xFFFF_FFFF)


def renumber(link: Link, entities: Iterator[int], requests: Iterator[int], keys: Iterator[int]) -> None:
    """Give a session other ids, if the link is its first one."""
    if link.name == link.session:
        link.entity_ids, link.request_ids, link.expr_ids = entities, requests, keys


row(
    "ids-go-down",
    "Assigns ids from the largest one down.",
    permitted=IDS,
    on_live=before(lambda link: renumber(link, count(ENTITY_IDS, -1), down(request_ids(link)), down(EXPR_IDS))),
)


def down(most: int) -> Iterator[int]:
    """Yield the ids from the largest to 1, repeatedly."""
    while True:
        yield from range(most, 0, -1)


row(
    "ids-at-random",
    "Assigns ids in a scattered order, from the whole range.",
    permitted=IDS,
    on_live=before(
        lambda link: renumber(
            link,
            *(
                scattered(most, f"{link.session} {kind}")
                for kind, most in {"entities": ENTITY_IDS, "requests": request_ids(link), "keys": EXPR_IDS}.items()
            ),
        )
    ),
)


def scattered(mask: int, seed: str) -> Iterator[int]:
    """Yield each id but 0 once, in a scattered order, repeatedly: steps of an odd width reach all of them."""
    for at in count(crc32(seed.encode())):
        number = at * 0x9E37_79B1 & mask
        if number:
            yield number


@variant(permitted=IDS)
class CountsEachKindFromZero(Reference):
    """Numbers the entities of each kind, and requests, from 0, so that entities of two kinds have the same id."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__(config)
        self.kinds: dict[tuple[str, str], Iterator[int]] = {}

    def on_live(self, link: Link) -> None:
        renumber(link, count(1_000_000), count(0), link.expr_ids)  # what stands for several has another range
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
    """Return the lowest free number."""

    def __init__(self) -> None:
        self.taken: set[int] = set()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        number = next(number for number in count() if number not in self.taken)
        self.taken.add(number)
        return number


@variant(permitted=f"{IDS}; what was taken back, or has ended, has its id no more")
class GivesIdsAgainAtOnce(Reference):
    """Assigns the lowest free id, so that the id of an undeclared entity is used next."""

    def on_live(self, link: Link) -> None:
        renumber(link, Places(), Places(), link.expr_ids)
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
