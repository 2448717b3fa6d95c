"""Routers that lose a kind of message, or send it to others too, in one circumstance only: a node for each value, by rule.

The dimensions are those of the varied cases (`cases/routing/circumstances.py`); `hops` tells which circumstance a message is in.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from zenoh_conformance.cases.routing.circumstances import (
    ANSWER,
    CARRIED,
    CHANNEL,
    DECLARED,
    ENTITY,
    EXPRESS,
    FOLLOWED,
    LANE,
    LIMITED,
    ODD,
    ODD_AS,
    PACKING,
    PAST,
    PUT_OR_DEL,
    RECEIVERS,
    ROUTING,
    SAID,
    SIZE,
    TARGETED,
    TERMS,
)
from zenoh_conformance.cases.routing.pasts import COMES_AND_GOES, NUMBER
from zenoh_conformance.judging.variation import Dimension, Dimensions, Value
from zenoh_conformance.messages import InterestMode, Push, Request, Response
from zenoh_harness.reference import INVALID, Refused
from zenoh_harness.reference.declaring import KIND
from zenoh_harness.reference.node import Reference

from . import _register
from .hops import SHOWS, Hop, Memory, named_by


class LosesSomewhere(Reference):
    """Loses messages of one kind, in one circumstance."""

    loses: tuple[str, Dimension, Value]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.memory: defaultdict[str, Memory] = defaultdict(Memory)
        self.gone: set[Value] = set()
        self.reliable, self.packed, self.place = True, False, 0
        self.source: Any = None
        self.came: Any = None

    def is_lost(self, kind: str, to: Any, **more: Any) -> bool:
        """Whether this message is one that the node loses."""
        wanted, dimension, value = self.loses
        hop = Hop(self, self.source, to, kind, self.came, **more)
        return kind == wanted and SHOWS[dimension.name](hop, value)

    # -- what came

    def on_session(self, link: Any, message: Any) -> None:
        self.packed = len(getattr(message, "messages", ())) > 1
        super().on_session(link, message)

    def route(self, link: Any, message: Any, *, reliable: bool = True) -> None:
        self.reliable, self.source, self.came, self.place = reliable, link, message, 0
        if isinstance(message, Push):
            self.memory[link.session].note(message, reliable)
        super().route(link, message, reliable=reliable)
        if isinstance(message, Push):
            self.memory[link.session].publications += 1
            if self.memory[link.session].publications >= 5:
                self.memory[link.session].past.add("five publications")

    def forward(self, other: Any, message: Any, *, reliable: bool = True) -> None:
        self.place += 1
        kind = {Push: "publication", Request: "query", Response: "answer"}[type(message)]
        if not self.is_lost(kind, other, place=self.place, said=named_by(self.came.key)):
            super().forward(other, message, reliable=reliable)

    def tell(self, to: Any, owner: Any, kind: str, entity: int, interest: Any = None, *, once: bool = False) -> None:
        self.place += 1
        said = self.memory[owner.session].declared.get((kind, entity), "name")
        self.source = owner
        if not self.is_lost("declaration", to, place=self.place, entity=kind, said=said):
            super().tell(to, owner, kind, entity, interest, once=once)

    # -- what was before

    def on_entity(self, link: Any, body: Any) -> None:
        self.memory[link.session].declared[KIND[type(body)], body.id] = named_by(body.key)
        super().on_entity(link, body)

    def on_entity_gone(self, link: Any, kind: str, entity: int) -> None:
        held, past = self.table(link, kind).get(entity), self.memory[link.session].past
        super().on_entity_gone(link, kind, entity)
        past.add("the same was taken back")
        past |= {"another of its key came and went"} if entity == COMES_AND_GOES else set()
        past |= {"its ids stood for others"} if held is not None and held.key.endswith("/past/key") else set()

    def on_interest(self, link: Any, interest: Any) -> None:
        super().on_interest(link, interest)
        if interest.key is not None:
            self.memory[link.session].declared["interest", interest.id] = named_by(interest.key)
        if interest.mode == InterestMode.FINAL:
            self.memory[link.session].past.add("another interest ended")

    def on_final(self, link: Any, request_id: int) -> None:
        super().on_final(link, request_id)
        self.memory[link.session].past.add("another query")

    def on_alias_gone(self, link: Any, body: Any) -> None:
        super().on_alias_gone(link, body)
        past = self.memory[link.session].past
        past |= {"its number was given to another key"} if body.expr_id == NUMBER else set()
        if body.expr_id == 4:
            self.memory[link.session].past.add("four numbers were released")

    def on_close(self, link: Any, close: Any) -> None:
        waited_for = any(other.subscribers or other.queryables for other in self.others(link))
        super().on_close(link, close)
        self.gone |= {"another session left"} | ({"another session came and left"} if waited_for else set())

    def disconnected(self, name: str, now: float) -> Any:
        if name in self.links and self.links[name].live:
            self.gone.add("another session was cut")
        return super().disconnected(name, now)


class DiesSomewhere(LosesSomewhere):
    """Ends the session in which a message of one kind is said, in one circumstance."""

    def is_lost(self, kind: str, to: Any, **more: Any) -> bool:
        if super().is_lost(kind, to, **more):
            raise Refused(INVALID)
        return False


def root_of(key: str) -> str:
    """The first chunk of a key: sessions of one case have it in common."""
    return key.partition("/")[0]


class LeaksSomewhere(LosesSomewhere):
    """Sends messages of one kind also to sessions that declared another key below the same root, in one circumstance."""

    def is_lost(self, kind: str, to: Any, **more: Any) -> bool:
        return False

    def is_leaked(self, kind: str, to: Any, keys: Iterable[str], key: str, **more: Any) -> bool:
        """Whether this message goes to a session that declared these keys, and did not ask for it."""
        near = any(root_of(each) == root_of(key) for each in keys)
        return near and super().is_lost(kind, to, **more)

    def subscribes(self, link: Any, key: str) -> bool:
        keys = [held.key for held in link.subscribers.values()]
        return super().subscribes(link, key) or self.is_leaked("publication", link, keys, key)

    def targets(self, link: Any, request: Any, key: str) -> list[Any]:
        found = super().targets(link, request, key)
        return found + [
            other
            for other in self.others(link)
            if other not in found
            and self.is_leaked("query", other, [held.key for held in other.queryables.values()], key)
        ]

    def told_of(self, link: Any, kind: str, key: str) -> list[Any]:
        found = super().told_of(link, kind, key)
        self.source = link
        return found + [
            other
            for other in self.others(link)
            if other not in found
            and self.is_leaked(
                "declaration", other, [one.key.suffix for one in other.interests.values()], key, entity=kind
            )
        ]


PUSHED = "routing-varied/a-publication-comes-in-any-circumstances"
ASKED = "routing-varied/a-query-is-answered-in-any-circumstances"
TOLD = "routing-varied/a-declaration-is-told-in-any-circumstances"

STEPS: Final[Mapping[str, tuple[str, Dimensions]]] = {
    "publication": (PUSHED, (PUT_OR_DEL, *ROUTING, FOLLOWED)),
    "query": (ASKED, (*ROUTING, TARGETED, LIMITED)),
    "answer": (ASKED, (ANSWER, LANE, CHANNEL, EXPRESS, SIZE, PAST, TERMS, CARRIED, ODD, ODD_AS)),
    "declaration": (TOLD, (ENTITY, SAID, DECLARED, RECEIVERS, PAST, TERMS, ODD, ODD_AS)),
}
"""A kind of message to the case that says it, and the dimensions that it has there."""


BESIDE: Final = (LANE, CHANNEL, EXPRESS, DECLARED, PAST, TERMS, PACKING)
LEAKS: Final[Mapping[str, Dimensions]] = {
    "publication": BESIDE,
    "query": BESIDE,
    "declaration": (ENTITY, DECLARED, PAST, TERMS),
}
"""The same for what goes to nobody: a small message, whose key is named in full."""


VERBS: Final = {LosesSomewhere: "loses", LeaksSomewhere: "leaks", DiesSomewhere: "ends the session of"}


def circumstances() -> Iterator[tuple[type[LosesSomewhere], str, Dimension, Value]]:
    """Each kind of message, with each value of each of its dimensions that is not the default."""
    steps: list[tuple[type[LosesSomewhere], str, Dimensions]] = [
        (LosesSomewhere, kind, dimensions) for kind, (_, dimensions) in STEPS.items()
    ]
    steps += [(LeaksSomewhere, kind, dimensions) for kind, dimensions in LEAKS.items()]
    steps += [(DiesSomewhere, kind, (ODD,)) for kind in STEPS]
    for base, kind, dimensions in steps:
        yield from ((base, kind, each, value) for each in dimensions for value in each.values if value != each.default)


def register() -> None:
    """Register a faulty node for each."""
    for base, kind, dimension, value in circumstances():
        about = f"{VERBS[base]} a {kind} {dimension.says.format(value)}"
        name = re.sub(r"[^a-z0-9]+", "-", about.lower().replace(" a ", " ", 1)).strip("-")
        attributes = {"loses": (kind, dimension, value), "__module__": __name__}
        node = type(name.title().replace("-", ""), (base,), attributes)
        check = STEPS[kind][0]
        _register(name, node, f"{about[0].upper()}{about[1:]}.", check, None, shown_in=(check,))


register()
