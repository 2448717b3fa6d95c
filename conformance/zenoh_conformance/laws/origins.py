"""What a node received, as origins of what it sends: how a router's messages are compared with them, and found among them.

Pages: push#routing, query#flow, reply#overview. `laws/forwarding.py` judges the pairs by the table `tables/forwarding.py`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from typing import Any, Final

from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.tables.forwarding import KEY, KIND, Row, columns_of, only

from .receivers import SENTENCES, Declared

MOST: Final = 256
"""Origins that are remembered for one key, or for one query."""
MOST_PLACES: Final = 4096
"""Keys and queries of one node whose origins are remembered."""
OBJECTS: Final = 2048
"""Bytes that an origin takes beside those of its message."""

NAMES: Final = {"Put": "put", "Del": "del", "Query": "query", "Reply": "reply", "Err": "err"}


def chain_of(kind: str, message: Any) -> str:
    """The kind of a network message and of its bodies: `response.reply.put`."""
    chain, body = kind, getattr(message, "body", None)
    while body is not None:
        chain += f".{NAMES[type(body).__name__]}"
        body = getattr(body, "body", None)
    return chain


@dataclass(slots=True)
class Hop:
    """Where a message was seen: on its way from one node to another."""

    seen: Seen
    sender: bytes
    receiver: bytes
    key: str


@dataclass(slots=True, eq=False)
class Origin:
    """A message that a node received."""

    sender: bytes
    """The ZenohID of its sender."""
    chain: str
    key: str
    message: Any
    stamp: Any
    """The timestamp of its data; None without one."""
    mark: tuple[str, Any, int | None]
    """Its kind, its payload or parameters, and the time of its timestamp: what a copy has in common with it, or adds to it."""
    size: int
    """Bytes that it takes."""
    taken: set[bytes] = field(default_factory=set)
    """The ZenohIDs to which the node has forwarded it."""
    number: int = 0
    """Its place among all origins."""
    read: tuple[Any, ...] | None = None
    """Its values, once they were read."""

    @property
    def values(self) -> tuple[Any, ...]:
        """Of each of its columns."""
        if self.read is None:
            self.read = columns_of(self.chain).read(self.message)
        return self.read

    def open_to(self, receiver: bytes) -> bool:
        """Whether it may still be forwarded to a node."""
        return self.sender != receiver and receiver not in self.taken


def origin_of(hop: Hop, kind: str, message: Any) -> Origin:
    """A message as it was seen on its way."""
    chain, data = kind, message
    while (body := getattr(data, "body", None)) is not None:
        chain, data = f"{chain}.{NAMES[type(body).__name__]}", body
    value = getattr(data, "payload", None) if kind != "request" else data.parameters or ""
    stamp = getattr(data, "timestamp", None)
    mark = (chain, value, None if stamp is None else stamp.time)
    return Origin(hop.sender, chain, hop.key, message, stamp, mark, len(hop.seen.raw) + OBJECTS)


@dataclass(slots=True)
class Origins:
    """What a node received for one key, or in answer to one query."""

    of: deque[Origin] = field(default_factory=deque)
    alike: dict[tuple[Any, ...], deque[Origin]] | None = None
    """The same ones by mark, once the node has sent something: most nodes forward nothing."""
    times: dict[int | None, int] = field(default_factory=dict)
    """How many of these have a timestamp with this time."""
    forgot: bool = False
    """Some are no longer remembered."""

    def add(self, origin: Origin) -> int:
        """Remember one, and forget the oldest past the bound. Returns by how many bytes they grew."""
        self.of.append(origin)
        if self.alike is not None:
            self._index(self.alike, origin)
        return origin.size - (self.forget() if len(self.of) > MOST else 0)

    def _index(self, alike: dict[tuple[Any, ...], deque[Origin]], origin: Origin) -> None:
        mark = origin.mark
        own = alike.get(mark)
        if own is None:
            alike[mark] = deque((origin,))
        else:
            own.append(origin)
        self.times[mark[2]] = self.times.get(mark[2], 0) + 1

    def forget(self) -> int:
        """Forget the oldest. Returns its bytes."""
        self.forgot = True
        oldest = self.of.popleft()
        if self.alike is not None:
            mark = oldest.mark
            self.alike[mark].popleft()
            if not self.alike[mark]:
                del self.alike[mark]
            self.times[mark[2]] -= 1
            if not self.times[mark[2]]:
                del self.times[mark[2]]
        return oldest.size

    def _of(self, mark: tuple[Any, ...]) -> Iterable[Origin]:
        if self.alike is None:
            self.alike = {}
            for origin in self.of:
                self._index(self.alike, origin)
        return self.alike.get(mark, ())

    def may_hold(self, copy: Origin) -> bool:
        """Whether one of them may agree with the copy in all that is judged, or has its timestamp; a router may add one."""
        kind, value, time = copy.mark
        return bool(self._of((kind, value, None))) or (time is not None and time in self.times)

    def open_to(self, receiver: bytes) -> list[Origin]:
        """Those that may still be forwarded to a node."""
        return [origin for origin in self.of if origin.open_to(receiver)]

    def whole(self, copy: Origin, receiver: bytes) -> Iterator[Origin]:
        """Those of which the copy has everything that it must have: the ones that it equals, or else all of them."""
        alike = self._of(copy.mark)
        equal = False
        for each in alike:
            if each.open_to(receiver) and is_equal(each, copy):
                equal = True
                yield each
        if equal:
            return
        kind, value, time = copy.mark
        without = self._of((kind, value, None)) if time is not None else ()
        for each in merge(alike, without, key=_number) if without else alike:
            if each.open_to(receiver) and not differing(each, copy):
                yield each


def _number(origin: Origin) -> int:
    return origin.number


Place = tuple[Any, ...]
"""("push", key), ("request", key) or ("response", querier, id)."""


@dataclass(slots=True)
class Node:
    """A node, and what it received."""

    neighbours: set[bytes] = field(default_factory=set)
    places: OrderedDict[Place, Origins] = field(default_factory=OrderedDict)
    held: int = 0
    """Bytes of the origins in all places."""
    is_unsure: bool = False
    """Whether it received what cannot be read: what it forwards may come from there."""
    asked: OrderedDict[tuple[bytes, int], tuple[tuple[bytes, int], ...]] = field(default_factory=OrderedDict)
    """(Queryable, its request id) to (querier, its request id): one, or several whose queries are alike."""
    declared: dict[type[Any], Declared] = field(default_factory=lambda: {kind: Declared() for kind in SENTENCES})
    """What it receives, to the keys under which it declared so."""

    def remember(self, place: Place, origin: Origin, most: int) -> None:
        """Remember what came to a place; the oldest places are forgotten past the bounds, `most` bytes among them."""
        found = self.places.get(place)
        if found is None:
            found = self.places[place] = Origins()
        self.held += found.add(origin)
        while len(self.places) > MOST_PLACES or (self.held > most and len(self.places) > 1):
            self.forget(next(iter(self.places)))
        while self.held > most and len(found.of) > 1:
            self.held -= found.forget()

    def forget(self, place: Place) -> None:
        """Forget what came to a place."""
        origins = self.places.pop(place, None)
        self.held -= sum(each.size for each in origins.of) if origins is not None else 0


def is_equal(origin: Origin, copy: Origin) -> bool:
    """Whether a message was sent as it was received; ids and the spelling of the key are those of the hop."""
    came, went = origin.message, copy.message
    return origin.key == copy.key and came.exts == went.exts and bool(came.body == went.body)


def differing(origin: Origin, copy: Origin) -> list[Row]:
    """The rows of the table that do not hold between what was received and what was sent."""
    found = [] if origin.key == copy.key else [only(origin.chain, KEY)]
    if origin.chain != copy.chain:
        return [*found, only(origin.chain, KIND)]
    if origin.values == copy.values:
        return found
    pairs = zip(columns_of(copy.chain).rows, origin.values, copy.values, strict=True)
    return found + [row for row, came, went in pairs if came != went and not row.holds(came, went, origin.sender)]
