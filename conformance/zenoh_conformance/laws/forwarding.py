"""Pairs what a router forwards with what it received, over all connections of a conversation.

Pages: push#routing, query#flow, reply#overview. A node is known by its ZenohID: what came to it on one connection is the origin of what
it sends on others. Each pair is compared row by row with the table `tables/forwarding.py`; a law for each sentence of the table has the
findings.

A message without an origin is the node's own, and nothing is judged. One that resembles an origin and differs from it is judged only
where it must come from there: its timestamp is that of the origin, or its key is below the root of a scene, which nobody else uses.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from zenoh_conformance.judging.law import Law, Per, law
from zenoh_conformance.messages import Declare, Init, Push, Request, Response
from zenoh_conformance.messages.init import MultiLink
from zenoh_conformance.messages.network import QoS
from zenoh_conformance.reading.connection import Seen
from zenoh_conformance.reading.conversation import SIDES, Side
from zenoh_conformance.reading.names import Names, is_of_a_scene
from zenoh_conformance.tables.forwarding import KEY, KIND, Row, Sentence, columns_of, extension_of, only, sentences

from .origins import MOST_PLACES, Hop, Node, Origin, Place, differing, origin_of
from .receivers import RECEIVES, SENTENCES, is_told_only_its_own

MOST_BYTES: Final = 1 << 20
"""Bytes of the largest message that is compared."""
MOST_HELD: Final = 1 << 26
"""Bytes of the origins that are remembered, of all nodes: a node has its share."""


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
        """It may have declared, and published, anything."""
        pair = self.inits.get(seen.connection, {})
        if seen.sender in pair and len(pair) == len(SIDES):
            self.nodes[pair[seen.sender.other].zid.raw].is_unsure = True
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
        is_only_way = origins is not None and not origins.forgot and not node.is_unsure and self._is_ours(hop)
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
        if place[0] != "push" or place in node.places or node.is_unsure or not self._is_ours(hop):
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
