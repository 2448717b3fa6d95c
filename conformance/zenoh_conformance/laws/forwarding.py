"""Pairs what a router forwards with what it received, over all connections of a conversation.

Pages: push#routing, query#flow, reply#overview. A node is known by its ZenohID: what came to it on one connection is the origin of what
it sends on others. Each pair is compared row by row with the table `tables/forwarding.py`; a law for each sentence of the table has the
findings.

A message without an origin is the node's own, and nothing is judged. One that resembles an origin and differs from it is judged only
where it must come from there: its timestamp is that of the origin, or its key is below the root of a scene, which nobody else uses.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import merge
from typing import Any, Final

from zenoh_conformance.judging.law import Law, Per, law
from zenoh_conformance.messages import Declare, Init, Push, Request, Response
from zenoh_conformance.messages.init import MultiLink
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import SIDES, Side
from zenoh_conformance.reading.names import Names, is_of_a_scene
from zenoh_conformance.tables.forwarding import KEY, KIND, Row, Sentence, columns_of, extension_of, only, sentences

from .receivers import RECEIVES, SENTENCES, Declared, is_told_only_its_own

MOST: Final = 256
"""Origins that are remembered for one key, or for one query."""
MOST_PLACES: Final = 4096
"""Keys and queries of one node whose origins are remembered."""
MOST_BYTES: Final = 1 << 20
"""Bytes of the largest message that is compared."""
MOST_HELD: Final = 1 << 26
"""Bytes of the origins that are remembered, of all nodes: a node has its share."""
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


@dataclass(slots=True)
class Hop:
    """Where a message was seen: on its way from one node to another."""

    seen: Seen
    sender: bytes
    receiver: bytes
    key: str


class Forwarding(Law):
    """The pairing, once for a conversation; it has a part for each sentence of the table."""

    per = Per.CONVERSATION

    def __init__(self) -> None:
        super().__init__()
        self.by_sentence: dict[Sentence, Law] = {}
        self.inits: OrderedDict[str, dict[Side, Init]] = OrderedDict()
        self.names: dict[str, Names] = {}
        self.zids: dict[str, dict[Side, bytes]] = {}
        """The ZenohIDs of a connection, both of whose INITs were seen; empty where a session may have several."""
        self.nodes: dict[bytes, Node] = {}
        self.count = 0
        """Origins so far."""

    @property
    def parts(self) -> tuple[Law, ...]:
        return tuple(self.by_sentence.values())

    def part(self, sentence: Sentence) -> Law:
        """The law of a sentence; it is made when it has its first subject."""
        found = self.by_sentence.get(sentence)
        if found is None:
            found = self.by_sentence[sentence] = LAWS[sentence]()
        return found

    # -- who speaks to whom

    def on_init(self, seen: Seen, init: Init) -> None:
        """Both INITs of a connection tell its nodes; links of one session share the expression ids."""
        if seen.connection not in self.inits and len(self.inits) >= MOST_PLACES:
            old, _ = self.inits.popitem(last=False)
            self.names.pop(old, None)
            self.zids.pop(old, None)
        pair = self.inits.setdefault(seen.connection, {})
        pair[seen.sender] = init
        if len(pair) == len(SIDES):
            zids = [each.zid.raw for each in pair.values()]
            for one, other in (zids, reversed(zids)):
                self.nodes.setdefault(one, Node()).neighbours.add(other)
            self.names[seen.connection] = Names()
            several = any(each.exts.get(MultiLink) is not None for each in pair.values())
            self.zids[seen.connection] = {} if several else {side: each.zid.raw for side, each in pair.items()}

    def on_declare(self, seen: Seen, declare: Declare) -> None:
        names = self.names.get(seen.connection)
        if names is not None:
            names.note(seen.sender, declare.body)
            body: Any = declare.body
            if kind := RECEIVES.get(type(body)):
                key = names.whole(seen.sender, body.key)
                self.nodes[self.inits[seen.connection][seen.sender].zid.raw].declared[kind].add(key)

    def on_undecodable(self, seen: Seen, refusal: Any) -> None:
        """It may have declared anything."""
        pair = self.inits.get(seen.connection, {})
        if seen.sender in pair and len(pair) == len(SIDES):
            for declared in self.nodes[pair[seen.sender].zid.raw].declared.values():
                declared.anything = True

    on_unread = on_undecodable

    def hop(self, seen: Seen, message: Any) -> Hop | None:
        """Between which nodes a message was seen; None where that, or its key, is not known, or where no node of both forwards."""
        zids = self.zids.get(seen.connection)  # the ids of its keys may have been declared on another link
        if not zids or len(seen.raw) > MOST_BYTES:
            return None
        side, nodes = seen.event.sender, self.nodes
        sender, receiver = zids[side], zids[side.other]
        if len(nodes[sender].neighbours) < 2 and len(nodes[receiver].neighbours) < 2:
            return None
        key = self.names[seen.connection].whole(side, message.key)
        return None if key is None else Hop(seen, sender, receiver, key)

    # -- messages

    def on_push(self, seen: Seen, push: Push) -> None:
        hop = self.hop(seen, push)
        if hop is not None:
            place, origin = ("push", hop.key), origin_of(hop, "push", push)
            self.judge_receiver(hop, place)
            self.pair(hop, place, origin)
            self.remember(hop.receiver, place, origin)

    def on_request(self, seen: Seen, request: Request) -> None:
        hop = self.hop(seen, request)
        if hop is None:
            return
        place, origin = ("request", hop.key), origin_of(hop, "request", request)
        self.judge_receiver(hop, place)
        alike = self.pair(hop, place, origin)
        node = self.nodes[hop.sender]
        node.asked[hop.receiver, request.id] = tuple((each.sender, each.message.id) for each in alike)
        if len(node.asked) > MOST_PLACES:
            node.asked.popitem(last=False)
        self.nodes[hop.receiver].forget(("response", hop.sender, request.id))
        self.remember(hop.receiver, place, origin)

    def on_response(self, seen: Seen, response: Response) -> None:
        hop = self.hop(seen, response)
        if hop is None:
            return
        origin = origin_of(hop, "response", response)
        self.pair(hop, ("response", hop.receiver, response.id), origin)
        asked = self.nodes[hop.receiver].asked
        for querier, number in asked.get((hop.sender, response.id), ()):
            self.remember(hop.receiver, ("response", querier, number), origin)

    def remember(self, receiver: bytes, place: Place, origin: Origin) -> None:
        """Remember what a node received; all nodes together hold no more than `MOST_HELD` bytes."""
        self.count += 1
        origin.number = origin.number or self.count
        self.nodes[receiver].remember(place, origin, MOST_HELD // len(self.nodes))

    def judge_receiver(self, hop: Hop, place: Place) -> None:
        """Whether what a router forwards to a client has a key that the client has declared."""
        seen, node = hop.seen, self.nodes[hop.sender]
        whole = self.watched and not self.lossy and self._is_ours(hop)
        if whole and place in node.places and is_told_only_its_own(self.inits[seen.connection], seen.sender):
            kind = type(seen.message)
            part = self.part(SENTENCES[kind])
            part.subject(seen)
            right = self.nodes[hop.receiver].declared[kind].may_receive(hop.key)
            part.require(right, at=seen, path=f"{place[0]}.key", expected="a key that was declared", got="another")

    # -- pairs

    def pair(self, hop: Hop, place: Place, copy: Origin) -> Sequence[Origin]:
        """Pair a message with its origin and judge the pair. Returns the origins from which it may come."""
        node = self.nodes[hop.sender]
        if len(node.neighbours) < 2:
            return ()
        origins = node.places.get(place)
        whole = origins.whole(copy, hop.receiver) if origins is not None else iter(())
        if (first := next(whole, None)) is not None:
            others = (
                list(whole) if place[0] == "request" else []
            )  # of a query all may be its origin, of others the first is
            first.taken.add(hop.receiver)
            self.judge(hop.seen, first, copy, ())
            return [first, *others]
        is_only_way = origins is not None and not origins.forgot and self._is_ours(hop)
        if origins is not None and not is_only_way and not origins.may_hold(copy):
            return ()  # what agrees least would not be taken for its origin, whichever it is
        candidates = origins.open_to(hop.receiver) if origins is not None else []
        if not candidates:
            self._judge_astray(hop, place, copy)
            return ()
        scored = [(differing(each, copy), each) for each in candidates]
        least = min(score(rows) for rows, _ in scored)
        alike = [(rows, each) for rows, each in scored if score(rows) == least]
        rows, origin = alike[0]
        if least[0] and not (self._comes_from(origin, copy) or (is_only_way and len(alike) == 1)):
            return ()
        origin.taken.add(hop.receiver)
        self.judge(hop.seen, origin, copy, rows)
        return [each for _, each in alike]

    def _judge_astray(self, hop: Hop, place: Place, copy: Origin) -> None:
        """Judge a publication under a key of a scene that nobody published to: one under another key may be its origin."""
        node = self.nodes[hop.sender]
        if place[0] != "push" or place in node.places or not self._is_ours(hop):
            return
        alike = [
            origin
            for other, origins in node.places.items()
            if other[0] == "push"
            for origin in origins.open_to(hop.receiver)
            if origin.message.body == copy.message.body
        ]
        if len(alike) == 1:
            alike[0].taken.add(hop.receiver)
            self.judge(hop.seen, alike[0], copy, differing(alike[0], copy))

    def _is_ours(self, hop: Hop) -> bool:
        """Whether all that is said under the key reaches the node on links of this conversation: no other node is a way to it."""
        return is_of_a_scene(hop.key) and self.nodes.keys() <= {hop.sender, *self.nodes[hop.sender].neighbours}

    def _comes_from(self, origin: Origin, copy: Origin) -> bool:
        """Whether two messages have one timestamp: a clock gives each once."""
        return origin.stamp is not None and bool(origin.stamp == copy.stamp)

    def judge(self, seen: Seen, origin: Origin, copy: Origin, rows: Iterable[Row]) -> None:
        """Note what is a subject, and a finding for each row that does not hold."""
        for sentence in subjects_of(origin.chain, presence(origin.message)):
            self.part(sentence).subject(seen)
        for row in rows:
            if row.is_judged:
                law_, (expected, got) = self.part(row.sentence), expectation(row, origin, copy)
                law_.subjects.setdefault(seen.sender, 1)
                path = row.path if "." in row.path else f"{row.chain}.{row.path}"
                law_.require(False, at=seen, path=path, expected=expected, got=got)


def _data_of(message: Any) -> Any:
    """The innermost body of a network message."""
    while getattr(message, "body", None) is not None:
        message = message.body
    return message


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
    return found + [row for row, came, went in pairs if came != went and not row.holds(came, went)]


def expectation(row: Row, origin: Origin, copy: Origin) -> tuple[str, str]:
    """What is expected of a field, and what came, for a cause."""
    rows = columns_of(origin.chain).rows
    if row not in rows:
        return "what was received", "another"
    at = rows.index(row)
    if origin.values[at]:
        return "what was received", "another" if copy.values[at] else "none"
    return "none", "one that was not received"


def score(rows: Sequence[Row]) -> tuple[int, int]:
    """How much two messages differ: rows that are judged, and others; another kind of body is more than any field."""
    judged = sum(100 if row.path == KIND else 1 for row in rows if row.is_judged)
    return judged, len(rows)


def presence(message: Any) -> tuple[Any, ...]:
    """What there is in a message: the classes of all extensions, and the fields of a query."""
    found, body = [type(ext) for ext in message.exts], message.body
    while body is not None:
        found += [type(ext) for ext in body.exts]
        data, body = body, getattr(body, "body", None)
    return (*found, bool(getattr(data, "parameters", None)), bool(getattr(data, "consolidation", None)))


@lru_cache(maxsize=MOST_PLACES)
def subjects_of(chain: str, there: tuple[Any, ...]) -> tuple[Sentence, ...]:
    """The sentences that have something to judge where this is there: kind, key and QoS always are, a default is."""
    *classes, parameters, mode = there
    found = {only(chain, KEY).sentence: None}
    for row in (row for row in columns_of(chain).rows if row.is_judged):
        cls, name = extension_of(row.path), row.path.rpartition(".")[2]
        needed = {"parameters": parameters, "consolidation": mode}.get(name, True)
        if (cls is QoS or cls in classes) if cls is not None else needed:
            found[row.sentence] = None
    return tuple(sentence for sentence in found if sentence.requirement)


class Forwarded(Law):
    """A law about rows of the table; `Forwarding` feeds it."""

    fold = Forwarding
    sentence: Sentence


FORWARDED: tuple[type[Forwarded], ...] = tuple(
    law(sentence.requirement, per="conversation")(
        type(
            "Forwarded" + "".join(word.capitalize() for word in sentence.name.split("-")),
            (Forwarded,),
            {
                "sentence": sentence,
                "__module__": __name__,
                "__doc__": f"What a router forwards {'goes' if sentence in SENTENCES.values() else 'keeps it'}: {sentence.says}.",
            },
        )
    )
    for sentence in (*sentences(), *SENTENCES.values())
)
LAWS = {each.sentence: each for each in FORWARDED}
globals().update({each.__name__: each for each in FORWARDED})  # pickle finds a class by its name
